"""Correlated centers, unequal norms, unbalanced classes and clusters, noise, signal, several features in one sample.

A reviewer asked for centers that are not orthogonal or of equal length, and another for data whose robust features are
global. For centers of norm √d, k of them in classes of s = k/2, at a noise-free point, with averages over each class:

    averages              of                                   the best possible (half the way to the nearest rival)
    √(d(1 − ρ)/k)         centers of cosine ρ                  √(d(1 − ρ)/2)
    α √(d/k)              signal α, any noise, any split       α √(d/2)
    √d ν_j²/√(Σν²)        norms √d ν, early (sums of points)   √d √(ν_j² + min ν²)/2
    √(d/Σν⁻²)             norms √d ν, late (equal margins)     the same
    √d n_j/√(Σn²)         cluster sizes n, early               √(d/2)
    m √(d/k)              m features in each sample            √(m d/2)

So cosines between features take from both alike, and averages lose √(k/2) at every cosine; where a sample carries all
features of its class (m = k/2), averages are the best there is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from featavg.analysis import averaging_index
from featavg.arrays import Array
from featavg.data import Dataset, Names
from featavg.experiments import Expect, Quantity
from featavg.experiments.map.optimum import optimal_radius
from featavg.experiments.paper.setting import NETWORK_SEED, Setting
from featavg.model import BinaryNetwork, MulticlassNetwork, Network
from featavg.record import Drawing, Table
from featavg.robustness import robust_radius
from featavg.training import GradientDescent, train

COST = ("long", 130)
NEEDS: tuple[str, ...] = ()
CASES = {"world": lambda config: config.worlds}
COORDS = {"step": lambda config: config.moments}
STEP = ("step",)
COLUMNS = {
    "coarse": Quantity("median exact ℓ2 radius of the binary network over that of the nearest-center rule", STEP),
    "fine": Quantity("the same of the k-class network, maximum read-out", STEP),
    "closed": Quantity("median exact ℓ2 radius of the binary network over the closed form of averages", STEP),
    "linear": Quantity("median exact ℓ2 radius of the binary network over |f|/‖w̄₊ − w̄₋‖ of its mean neurons", STEP),
    "index": Quantity("median averaging index over neurons, against the features of all classes", STEP),
    "accuracy": Quantity(
        "accuracy of the binary network at fresh points", STEP, points=lambda config: config.coarse_points
    ),
    "predicted": "closed form of averages over that of the best possible, median over centers",
    "optimum": "median exact ℓ2 radius of the nearest-center rule over the closed form, median over centers",
    "one": "1, the nearest-center rule itself",
    "exact": Quantity("share of the radii of both networks that are exact, and not brackets", STEP),
}


def _share_of_best(features: int) -> Callable[[Any, Table], float]:
    """√(2m/k): averages over the best possible, with m features in each sample."""
    return lambda config, _: float((2 * features / config.clusters) ** 0.5)


SOURCE = "reviewer 3: centers that are not orthogonal, norms that are not equal"
GLOBAL = "reviewer 1: what if robust features are global?"
CLAIMS = [
    *(
        Expect("coarse", f"At cosine {cosine:g} between all centers averages have √(2/k) of the best radius, as at 0.",
               SOURCE, at={"world": f"cosine {cosine:g}", "step": 100},
               expected=_share_of_best(1), tolerance=0.05,
               because="noise takes 2 to 6 % from the best rule, and at 0.9 up to 7 % from averages")
        for cosine in (0.3, 0.6, 0.9)
    ),
    Expect("closed", "Little noise leaves √(d/k).", SOURCE, at={"world": "σ = 0.25", "step": 100},
           expected=1.0, tolerance=0.02, because="unequal cluster sizes cost up to 1 %"),
    Expect("closed", "Much noise costs 1/√(1 + σ²k/n), what it adds to the weights.", SOURCE,
           at={"world": "σ = 4", "step": 100}, tolerance=0.03,
           expected=lambda config, _: (1 + 16 * config.clusters / config.samples) ** -0.5,
           because="the median of a thousand points is known to σ/25 = 0.16 of 17.5; unequal clusters cost 1 %"),
    *(
        Expect("closed", f"{count} of ten clusters in one class: still √(d/k).", "Theorem 1(3), any split",
               at={"world": f"{count} of 10 positive", "step": 100}, expected=1.0, tolerance=0.03,
               because="as at the even split, where it is 1 % below")
        for count in (1, 3)
    ),
    *(
        Expect("coarse", f"With {count} features in a sample averages have √(2m/k) of the best radius.", GLOBAL,
               at={"world": f"{count} features", "step": 100}, tolerance=0.03,
               expected=_share_of_best(count),
               because="noise takes up to 1 % from the best rule")
        for count in (2, 3, 5)
    ),
    Expect("fine", "Labels that name one of the five features of a sample make it worse in the end, not better.",
           GLOBAL, at={"world": "5 features", "step": 1000}, expected=0.8, tolerance=0.0, relation="at most",
           because="such labels are chance, and are remembered: two pilot seeds gave 0.57"),
    *(
        Expect("linear", f"{name}: the network is one linear classifier, the difference of two averages.", SOURCE,
               at={"world": name, "step": 100}, expected=1.0, tolerance=0.03,
               because="neurons of a class differ by their start alone, 1e-5 of what they learn")
        for name in ("norms 1 to 4", "sizes 1 to 16", "cosine 0.9")
    ),
    Expect("fine", "Fine labels are robust at cosine 0.3.", SOURCE, at={"world": "cosine 0.3", "step": 1000},
           expected=0.95, tolerance=0.0, relation="at least",
           because="two pilot seeds gave 0.96, and 0.99 after 1000 steps"),
]  # fmt: skip
DRAWINGS = [
    Drawing("dots", {"measured": column, "labels": "world", "expected": expected}, band=0.95, at={"step": step},
            caption=f"Median exact radius of the network on {labels} labels over that of the nearest-center rule, "
            f"after {step} steps, one thing of the paper's setting changed at a time. Ticks: {ticks}.",
            options={"x_label": "median exact radius / that of the nearest-center rule", "limits": [0, 1.25]})
    for column, labels, expected, ticks, step in (
        ("coarse", "coarse", "predicted", "the closed form of averages, early in training", 100),
        ("fine", "fine", "one", "that rule itself, which is not the best where norms differ", 1000),
    )
]  # fmt: skip


@dataclass(frozen=True)
class Config(Setting):
    """The paper's setting with half as many points, one thing changed at a time."""

    samples: int = 500
    cosines: tuple[float, ...] = (0.3, 0.6, 0.9)
    norm_ratios: tuple[float, ...] = (2.0, 4.0)  # longest over shortest center, in equal factors
    positives: tuple[int, ...] = (1, 3)
    size_ratios: tuple[float, ...] = (4.0, 16.0)  # largest over smallest cluster of a class
    noises: tuple[float, ...] = (0.25, 4.0)
    signals: tuple[float, ...] = (0.5, 2.0)
    features: tuple[int, ...] = (2, 3, 5)  # of one sample
    fine_width: int = 5  # neurons per fine label: from one, half of the labels are dead where centers are alike
    moments: tuple[int, ...] = (100, 1000)
    test_points: int = 100  # of the k-class network
    coarse_points: int = 1000  # of the binary network, whose radii take no time
    seeds: int = 10

    @property
    def worlds(self) -> dict[str, tuple[str, float]]:
        """What is changed, and to what, by name."""
        named = {
            "cosine {}": ("correlation", self.cosines),
            "norms 1 to {}": ("norms", self.norm_ratios),
            "{} of 10 positive": ("positive", self.positives),
            "sizes 1 to {}": ("sizes", self.size_ratios),
            "σ = {}": ("noise", self.noises),
            "α = {}": ("signal", self.signals),
            "{} features": ("features_per_sample", self.features),
        }
        found = {text.format(f"{v:g}"): (what, v) for text, (what, values) in named.items() for v in values}
        return {"as in the paper": ("signal", 1.0)} | found

    def spread(self, ratio: float) -> Array:
        """Factors from 1 to `ratio` inside each class, of mean square 1: (cluster,)."""
        inside = np.geomspace(1, ratio, self.clusters // 2)
        return np.tile(inside / np.sqrt((inside**2).mean()), 2)


def measure(config: Config, seed: int, case: tuple[str, float]) -> dict[str, Any]:
    """Train both networks in this world; exact radii against the nearest-center rule and the closed forms."""
    data = world(config, seed, *case)
    test, many = (config.test(data, seed, points) for points in (config.test_points, config.coarse_points))
    averages, best = closed_forms(config, *case)
    optimum = [optimal_radius(data, points, *prototypes(data)) for points in (test, many)]
    rule = GradientDescent(steps=config.moments[-1])
    starts = (
        BinaryNetwork.random(data, config.neurons_per_class, seed=NETWORK_SEED + seed),
        MulticlassNetwork.random(data, config.fine_width, seed=NETWORK_SEED + seed),
    )
    runs = [train(start, data, rule, save_at=list(config.moments)) for start in starts]
    moments = range(1, len(config.moments) + 1)
    coarse, fine = ([run.at(number) for number in moments] for run in runs)
    radii = [robust_radius(network, many.x, many.y, proofs=False) for network in coarse]
    finer = [robust_radius(network, test.x, test.y, readout="maximum", proofs=False) for network in fine]
    middle = np.array([np.median(found.upper) for found in radii])
    return {
        "coarse": middle / optimum[1],
        "fine": np.array([np.median(found.upper) for found in finer]) / optimum[0],
        "closed": middle / np.median(averages),
        "linear": [middle[i] / _linear_radius(network, many) for i, network in enumerate(coarse)],
        "index": [np.nanmedian(averaging_index(network, data)) for network in coarse],
        "accuracy": [np.mean(network.predict(many.x) == many.y) for network in coarse],
        "predicted": np.median(averages) / np.median(best),
        "optimum": optimum[1] / np.median(best),
        "one": 1.0,
        "exact": [_exact(one, other) for one, other in zip(radii, finer, strict=True)],
    }


def world(config: Config, seed: int, what: str, value: float) -> Dataset:
    """The sample in which `what` is changed."""
    if what == "sizes":
        data = config.data(seed)
        share = config.spread(value)[data.cluster] / config.spread(value).max()
        return data.take(np.random.default_rng(seed).random(len(data)) < share)
    if what == "norms":
        return config.data(seed, norms=np.sqrt(config.dim) * config.spread(value))
    return config.data(seed, **{what: int(value) if what in ("positive", "features_per_sample") else value})


def closed_forms(config: Config, what: str, value: float) -> tuple[Array, Array]:
    """The radii of early averages and the best possible, at each center: (cluster,), as the head of this file has them.

    >>> averages, best = closed_forms(Config(clusters=4, dim=100), "correlation", 0.5)
    >>> print(f"{averages[0] ** 2:.6g} {best[0] ** 2:.6g}")
    12.5 25
    """
    root, every = np.sqrt(config.dim), np.ones(config.clusters)
    average, best = root / np.sqrt(config.clusters), root / np.sqrt(2)
    if what == "correlation":
        return every * average * np.sqrt(1 - value), every * best * np.sqrt(1 - value)
    if what == "norms":
        lengths = config.spread(value)
        return root * lengths**2 / np.sqrt((lengths**2).sum()), root / 2 * np.sqrt(lengths**2 + lengths.min() ** 2)
    if what == "sizes":
        sizes = config.spread(value)
        return root * sizes / np.sqrt((sizes**2).sum()), every * best
    if what == "features_per_sample":
        return every * average * value, every * best * np.sqrt(value)
    return every * average * (value if what == "signal" else 1), every * best * (value if what == "signal" else 1)


def prototypes(data: Dataset) -> tuple[Array, Names]:
    """Where noise-free samples lie: the sums of as many centers of one class as a sample has features."""
    count = round(data.membership[0].sum())
    sums: list[Array] = []
    labels: list[Any] = []
    for label in data.labels.names:
        own = data.centers[data.center_labels == label]
        found = [own[list(chosen)].sum(axis=0) for chosen in combinations(range(len(own)), count)]
        sums += found
        labels += [label] * len(found)
    return data.signal * np.array(sums), np.array(labels)


def _linear_radius(network: Network, test: Dataset) -> float:
    """Median of y f/‖v‖ for v = Σ_r a_r w_r, the classifier in which every neuron is on."""
    direction, shift = network.second[0] @ network.weights, network.second[0] @ network.biases
    return float(np.median(test.y * (test.x @ direction + shift)) / np.linalg.norm(direction))


def _exact(*brackets: Any) -> float:
    return float(np.mean([status == "exact" for bracket in brackets for status in bracket.status]))


def notes(config: Config, table: Table) -> list[str]:
    """The answer, in numbers."""
    first, last = config.moments[0], config.moments[-1]

    def part(name: str, column: str = "coarse", step: int = first) -> str:
        return f"{table.sel(column, world=name, step=step).mean():.2f}"

    seeds = table.sel("coarse", world="cosine 0.9", step=first)
    return [
        f"Answer: orthogonal centers of equal norm are not needed. At a cosine of 0.6 between all centers averages "
        f"still have {part('cosine 0.6')} of the best radius ({part('as in the paper')} in the paper's setting), "
        f"although every neuron now also holds the features of the other class with a minus; at 0.9, where that lowers "
        f"its index to {part('cosine 0.9', 'index')}, they have {part('cosine 0.9')} on average, by seed from "
        f"{seeds.min():.2f} to {seeds.max():.2f}. Norms that differ by 4 cost less ({part('norms 1 to 4')}), cluster "
        f"sizes that differ by 16 more ({part('sizes 1 to 16')}). What matters is how many features a sample "
        f"carries: {part('2 features')}, {part('3 features')} and {part('5 features')} of the best with 2, 3 and all 5 "
        f"of its class. Where features are global, averages are the best there is, and "
        f"labels that name one of them hurt ({part('5 features', 'fine', last)} after {last} steps).",
    ]
