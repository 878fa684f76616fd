"""Averaging or superposition: which of the two explains how much of the lost radius?

A rival explanation of fragility: features share directions because there are more of them than dimensions, or than
neurons. Both are measured on the same k random centers of norm √d in d dimensions, as few as k/4. At orthogonal centers
the best radius is √(d/2). From there

    log √(d/2)/R_coarse  =  log √(d/2)/R_best  +  log R_best/R_fine  +  log R_fine/R_coarse
                            superposition          training             averaging

with R_best that of the nearest-center rule on these very centers, R_fine of a network on fine labels, R_coarse of one
on coarse labels. Random centers have squared distances 2d(1 − cos), and cosines of variance 1/d, so that

    R_best = √(d/2) √(1 − e/√d),   e the expected largest of k/2 normal numbers, about √(2 ln(k/2)):

superposition costs little until d is of the order of ln k, while averages lose √(k/2) in any dimension. Where dual
coefficients do not exist, the index is taken of cosines instead of λ. Neurons, not dimensions, are scarce in the second
row of cases: the network on fine labels has no more of them than there are features, and a second layer that is trained
too; there the part of `training` is what too few neurons cost.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from featavg.analysis import alignment, cosines
from featavg.arrays import Array, Ints
from featavg.data import Dataset, sample_clusters
from featavg.experiments import Expect, Quantity
from featavg.experiments.map.optimum import optimal_radius
from featavg.experiments.paper.setting import NETWORK_SEED, TEST_SEED
from featavg.model import BinaryNetwork, MulticlassNetwork, Network
from featavg.record import Column, Drawing, Table
from featavg.robustness import Budget, robust_radius
from featavg.training import GradientDescent, train

COST = ("long", 95)
NEEDS: tuple[str, ...] = ()
CASES = {"world": lambda config: config.worlds}
COLUMNS = {
    "superposition": "log of √(d/2) over the median exact ℓ2 radius of the nearest-center rule",
    "training": "log of the latter over the median ℓ2 radius of the network on fine labels, maximum read-out",
    "averaging": "log of the latter over the median exact ℓ2 radius of the network on coarse labels",
    "best": "median exact ℓ2 radius of the nearest-center rule over √(d/2)",
    "fine": "median ℓ2 radius of the network on fine labels, maximum read-out, over √(d/2); exact, or the upper end of "
    "its bracket",
    "coarse": "median exact ℓ2 radius of the network on coarse labels over √(d/2)",
    "proved": "share of the points whose radii on fine labels are exact",
    "index": "median over neurons of the averaging index of cosines, network on coarse labels",
    "overlap": "root mean square cosine of different centers",
    "coarse_accuracy": Quantity("accuracy on coarse labels at 1000 fresh points", points=1000),
    "fine_accuracy": Quantity("accuracy of the class found on fine labels at 1000 fresh points", points=1000),
}


def _in_dimension(dim: int) -> Callable[[Any, Table], float]:
    return lambda config, _: crowded_radius(config.clusters, dim)


LEAST = 1e-3  # of √(d/2); a median radius of 0, where most points are misclassified, counts as this
SOURCE = "a rival explanation"
CLAIMS = [
    *(
        Expect("best", f"In {dim} dimensions the best radius for twenty random centers is that of the formula.",
               "derived, head of the chapter", at={"world": f"d = {dim}"}, tolerance=0.06,
               expected=_in_dimension(dim),
               because="cosines of few dimensions are not normal, and the median center is not the mean one; pilot "
               "seeds were within 0.04")
        for dim in (10, 20, 160)
    ),
    Expect("averaging", "With eight dimensions per feature averages lose nearly √(k/2), in addition to overlaps.",
           SOURCE, at={"world": "d = 160"}, expected=lambda config, _: float(np.log(config.clusters / 2) / 2),
           tolerance=0.2, because="fine labels lose a tenth to overlaps of which averages know nothing; one pilot seed "
           "gave 1.02"),
    Expect("share", "With as many features as dimensions averaging is most of what is lost.", SOURCE,
           at={"world": "d = 20"}, expected=0.6, tolerance=0.0, relation="at least",
           because="one pilot seed gave 0.74"),
    Expect("share", "With twice as many features as dimensions too.", SOURCE, at={"world": "d = 10"}, expected=0.5,
           tolerance=0.0, relation="at least", because="one pilot seed gave 0.74"),
    Expect("share", "With four times as many it is about half.", SOURCE, at={"world": "d = 5"}, expected=0.5,
           tolerance=0.2, because="one pilot seed gave 0.55"),
    Expect("averaging", "Neurons are another matter: with a quarter as many as features fine labels gain nothing.",
           SOURCE, at={"world": "d = 160, 5 neurons"}, expected=0.0, tolerance=0.1, relation="at most",
           because="one pilot seed gave −0.26"),
    Expect("averaging", "With as many neurons as features they do.", SOURCE, at={"world": "d = 160, 20 neurons"},
           expected=0.3, tolerance=0.0, relation="at least", because="one pilot seed gave 0.64"),
]  # fmt: skip
DRAWINGS = [
    Drawing("curves", {"x": "dim", "y": "parts_by_dim"}, band=0.95,
            caption="What takes how much of the radius of twenty random features: logarithms of the factors by which "
            "the radius falls, over the number of dimensions, with 95 % intervals over seeds.",
            options={"labels": ["superposition", "training on fine labels", "averaging"], "log_x": True,
                     "x_label": "dimension d", "y_label": "log of the factor lost"}),
    Drawing("dots", {"measured": "share", "labels": "world"}, band=0.95,
            caption="Share of averaging in the logarithm of all that is lost against √(d/2), by dimension, and with "
            "few neurons for the fine labels.", options={"x_label": "share of averaging"}),
]  # fmt: skip


class World(NamedTuple):
    """How many dimensions there are, and neurons for fine labels."""

    dim: int
    width: int | None = None  # None: five neurons for each feature


@dataclass(frozen=True)
class Config:
    """Twenty features, ten in a class; little noise, so that clusters stay apart in five dimensions."""

    clusters: int = 20
    dims: tuple[int, ...] = (5, 10, 20, 40, 160, 640)
    widths: tuple[int, ...] = (5, 10, 20)
    wide_dim: int = 160  # of the cases with few neurons
    noise: float = 0.1
    samples: int = 400
    neurons_per_class: int = 5
    steps: int = 1000
    test_points: int = 40
    point_seconds: float = 0.3
    seeds: int = 16
    first_seed: int = 0

    @property
    def worlds(self) -> dict[str, World]:
        """Dimension and width by name."""
        few = {f"d = {self.wide_dim}, {width} neurons": World(self.wide_dim, width) for width in self.widths}
        return {f"d = {dim}": World(dim) for dim in self.dims} | few


def measure(config: Config, seed: int, case: World) -> dict[str, Any]:
    """Train on coarse and on fine labels around random centers; the three parts of the lost radius."""
    data = crowded(config, seed, case.dim)
    few, many = (data.resample(points, seed=TEST_SEED + seed) for points in (config.test_points, 1000))
    rule, chance = GradientDescent(steps=config.steps), NETWORK_SEED + seed
    coarse = train(BinaryNetwork.random(data, config.neurons_per_class, seed=chance), data, rule, save_at=[]).final
    fine = _on_fine_labels(data, case.width, rule, chance)
    limit = Budget(seconds=config.point_seconds)
    found = robust_radius(fine, few.x, few.y, readout="maximum", budget=limit, proofs=False)
    radii = {
        "best": optimal_radius(data, few),
        "fine": float(np.median(found.upper)),
        "coarse": float(np.median(robust_radius(coarse, few.x, few.y, proofs=False).upper)),
    }
    free = np.sqrt(case.dim / 2)
    others = ~np.eye(config.clusters, dtype=bool)
    return {
        **parts(free, **radii),
        **{name: radius / free for name, radius in radii.items()},
        "proved": float(np.mean([status == "exact" for status in found.status])),
        "index": cosine_index(alignment(coarse, data.centers), coarse.neuron_class, data.center_labels),
        "overlap": float(np.sqrt((cosines(data.centers, data.centers)[others] ** 2).mean())),
        "coarse_accuracy": float(np.mean(coarse.predict(many.x) == many.y)),
        "fine_accuracy": float(np.mean(fine.predict_binary(many.x, "maximum") == many.y)),
    }


def crowded(config: Config, seed: int, dim: int) -> Dataset:
    """Points around random centers of norm √d, in ambient coordinates: there may be more centers than dimensions."""
    drawn = np.random.default_rng(seed).standard_normal((config.clusters, dim))
    centers = np.sqrt(dim) * drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    return sample_clusters(
        config.clusters, dim, config.samples, centers=centers, noise=config.noise, coordinates="ambient", seed=seed
    )


def _on_fine_labels(data: Dataset, width: int | None, rule: GradientDescent, seed: int) -> Network:
    """Five neurons for each label and a fixed second layer, or `width` neurons and a trained one from N(0, 1/width)."""
    if width is None:
        return train(MulticlassNetwork.random(data, 5, seed=seed), data, rule, save_at=[]).final
    rng = np.random.default_rng(seed)
    start = MulticlassNetwork(
        weights=0.1 * data.dim**-0.5 * rng.standard_normal((width, data.dim)),
        biases=np.zeros(width),
        second=rng.standard_normal((data.clusters, width)) * width**-0.5,
        output_bias=np.zeros(data.clusters),
        class_labels=data.center_labels,
    )
    blocks = ("weights", "biases", "second", "output_bias")
    return train(start, data, rule, trained=blocks, save_at=[]).final


def crowded_radius(clusters: int, dim: int) -> float:
    """√(1 − e/√d), e the expected largest of k/2 normal numbers (Blom 1958), by which the best radius falls.

    >>> round(crowded_radius(20, 10**6), 3)
    0.999
    """
    rivals = clusters // 2
    return float(np.sqrt(1 - ndtri((rivals - 0.375) / (rivals + 0.25)) / np.sqrt(dim)))


def parts(free: float, best: float, fine: float, coarse: float) -> dict[str, float]:
    """What takes how much of the radius, in logarithms that add up to log free/coarse.

    >>> {name: round(float(np.exp(part)), 9) for name, part in parts(8.0, 4.0, 4.0, 1.0).items()}
    {'superposition': 2.0, 'training': 1.0, 'averaging': 4.0}
    """
    logs = np.log(np.maximum([free, best, fine, coarse], LEAST * free))
    return dict(zip(("superposition", "training", "averaging"), (-np.diff(logs)).tolist(), strict=True))


def cosine_index(table: Array, row_class: Ints, class_of: Ints) -> float:
    """((Σ_own max(c, 0))²/Σ c² − 1)/(|J| − 1) of cosines c (neuron, center), median over neurons.

    >>> cosine_index(np.array([[0.5, 0.5, 0.0], [0.7, 0.0, 0.0]]), np.array([1, 1]), np.array([1, 1, -1]))
    0.5
    """
    found = []
    for row, label in zip(table, row_class, strict=True):
        own = row[class_of == label]
        found.append((np.maximum(own, 0).sum() ** 2 / (row**2).sum() - 1) / (len(own) - 1))
    return float(np.median(found))


def derive(config: Config, table: Table) -> Table:
    """The share of averaging, and the three parts over the dimension."""
    names = ("superposition", "training", "averaging")
    values = np.stack([table[name] for name in names])  # (part, world, seed)
    columns = {
        "share": Column(values[2] / values.sum(axis=0), ("world", "seed"), "averaging over the sum of all three parts"),
        "parts_by_dim": Column(values[:, : len(config.dims)], ("part", "dim", "seed"), "logarithms of factors lost"),
    }
    return table.plus(columns, {"part": names, "dim": np.array(config.dims, dtype=np.float64)})


def notes(config: Config, table: Table) -> list[str]:
    """The answer, in numbers."""

    def factor(part: str, world: str) -> str:
        return f"{np.exp(table.sel(part, world=world).mean()):.2f}"

    few = f"d = {config.wide_dim}, {config.widths[0]} neurons"
    return [
        f"Answer: both are real, and they multiply. Twenty random features in 160, 20, 10 and 5 dimensions lose a "
        f"factor of {factor('superposition', 'd = 160')}, {factor('superposition', 'd = 20')}, "
        f"{factor('superposition', 'd = 10')} and {factor('superposition', 'd = 5')} of the radius because they share "
        f"directions, which no labels give back, and coarse labels {factor('averaging', 'd = 160')}, "
        f"{factor('averaging', 'd = 20')}, {factor('averaging', 'd = 10')} and {factor('averaging', 'd = 5')} more, "
        f"which fine ones do. Averaging is the larger part down to two features per dimension. Neurons are scarcer "
        f"than dimensions: with {config.widths[0]} of them for {config.clusters} features fine labels lose "
        f"{factor('training', few)}, more than averages do.",
    ]
