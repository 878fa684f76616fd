"""From the larger start of the talks averaging is far from complete, and neither time nor dimension completes it.

The talks start at σ_w² = 1/d, σ_b² = 1/d²: weights of length 1, outputs of order 1. The paper's start is a thousand
times smaller. What is learned is λ Σ_j μ_j/‖μ_j‖² over the |J| features of a class, of squared length |J| λ²/d, beside
the start w(0) of length 1 and sampled noise of k²λ²/(2nd), so the cosine with a feature is

    (λ/√d) / √(‖w(0)‖² + (|J| + k²/(2n)) λ²/d).

It is near 1/√|J| only once λ is well above √(d/|J|), while λ grows like the logarithm of time and does not depend on
the dimension.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from featavg.analysis import alignment, decompose
from featavg.arrays import Array
from featavg.data import sample_clusters
from featavg.experiments import Expect, Quantity
from featavg.experiments.paper.setting import NETWORK_SEED, TEST_SEED
from featavg.model import BinaryNetwork
from featavg.record import Column, Drawing, Table
from featavg.robustness import robust_radius
from featavg.training import GradientDescent, train

COST = ("long", 220)
NEEDS: tuple[str, ...] = ()
SOURCE = "the talks' start"
CASES = {"start": lambda config: config.cases}
COORDS = {"step": lambda config: config.moments}
STEPS = ("step",)
TALKS = "talks, d = 3072"


def last_step(config: Config) -> int:
    """The last moment."""
    return config.moments[-1]


COLUMNS = {
    "ratio": Quantity("largest over smallest λ of a neuron over the features of its class, each averaged over neurons",
                      STEPS),
    "size": Quantity("mean λ of the features of a neuron's own class", STEPS),
    "cosine": Quantity("mean cosine of neurons and centers of one class, over 1/√|J|", STEPS),
    "formula": Quantity("cosine over what the formula gives for the measured λ, mean over own pairs", STEPS),
    "radius": Quantity("median exact ℓ2 radius of {config.test_points} fresh points, over √(d/k)", STEPS),
    "accuracy": Quantity("accuracy on 1000 fresh points", STEPS, points=1000),
}  # fmt: skip
CLAIMS = [
    Expect("cosine", "The tiny start averages, and goes on averaging.", "Theorem 1(1)",
           at={"start": "tiny, d = 3072", "step": last_step}, expected=1.0, tolerance=0.05,
           because="it has 0.99 after 100 steps; cross-class terms cost some hundredths"),
    Expect("cosine", "From the talks' start neurons are not half as close to the average after 30,000 steps.",
           SOURCE, at={"start": TALKS, "step": last_step}, expected=0.5, tolerance=0.0, relation="at most",
           because="a prototype gave 0.16/0.447 = 0.36"),
    Expect("ratio", "At first features are learned unequally, by which points a neuron happens to be on at.",
           SOURCE, at={"start": TALKS, "step": lambda config: config.moments[0]}, expected=2.0, tolerance=0.0,
           relation="at least", because="a prototype gave 5.1 after 100 steps"),
    Expect("equalised", "Time makes them more equal.", SOURCE, at={"start": TALKS},
           expected=0.75, tolerance=0.0, relation="at most", because="a prototype gave 1.4/5.1 after 30,000 steps"),
    Expect("slope", "Time does not complete it: λ grows like the logarithm of time.", SOURCE,
           at={"start": TALKS}, expected=1.0, tolerance=0.15,
           because="for a loss with an exponential tail the slope is 1 up to terms that vanish with ln t"),
    Expect("formula", "How far it has come is told by λ/√d.", SOURCE, at={"start": TALKS, "step": last_step},
           expected=1.0, tolerance=0.1, because="the start's own cosines with the features, ±1/√(50 d), are a fiftieth "
           "of the value; cross-class terms cost as much"),
    Expect("cosine_trend", "Dimension does not complete it: from d = 768 to 12288 neurons come less close to the "
           "average.", SOURCE, expected=0.5, tolerance=0.0, relation="at most",
           because="λ does not depend on d, so the formula gives a ratio of 0.28 for λ = 7.5"),
    Expect("radius_trend", "Nor does the radius come closer to √(d/k).", SOURCE, expected=0.8, tolerance=0.0,
           relation="at most", because="the start's share of the slope of f grows with d/λ²"),
]  # fmt: skip
NOTES = [
    "Bearing on averaging: all of what is learned is an average, from either start. From the larger one it is learned "
    "beside a random network that never goes away, and that hides it from every cosine.",
]


@dataclass(frozen=True)
class Config:
    """The paper's setting at three dimensions, the step size times the dimension held fixed."""

    clusters: int = 10
    samples: int = 1000
    neurons_per_class: int = 5
    dims: tuple[int, ...] = (768, 3072, 12288)
    moments: tuple[int, ...] = (100, 300, 1000, 3000, 10_000, 30_000)
    test_points: int = 20
    seeds: int = 6
    first_seed: int = 0

    @property
    def cases(self) -> tuple[str, ...]:
        """The talks' start at each dimension, the paper's at the middle one."""
        return (*(f"talks, d = {dim}" for dim in self.dims), f"tiny, d = {self.dims[1]}")


def measure(config: Config, seed: int, case: str) -> dict[str, Any]:
    """Train for long; λ, cosines and exact radii at the saved moments."""
    name, dim = case.split(", d = ")
    data = sample_clusters(config.clusters, int(dim), config.samples, seed=seed)
    test, few = (data.resample(count, seed=TEST_SEED + seed) for count in (1000, config.test_points))
    scales = {} if name == "tiny" else {"scale": data.dim**-0.5, "bias_scale": 1 / data.dim}
    start = BinaryNetwork.random(data, config.neurons_per_class, seed=NETWORK_SEED + seed, **scales)
    run = train(start, data, GradientDescent(steps=config.moments[-1]), save_at=list(config.moments))
    same = start.neuron_class[:, None] == data.center_labels
    own = decompose(run, data).feature[1:, same].reshape(len(config.moments), start.neurons, -1)
    networks = [run.at(t) for t in range(1, len(run))]
    cosines = np.array([alignment(network, data.centers)[same].mean() for network in networks])
    lengths = np.linalg.norm(start.weights, axis=1)
    radii = [np.median(robust_radius(network, few.x, few.y).upper) for network in networks]
    return {
        "ratio": own.max(axis=2).mean(axis=1) / own.min(axis=2).mean(axis=1),
        "size": own.mean(axis=(1, 2)),
        "cosine": cosines * np.sqrt(config.clusters / 2),
        "formula": cosines / expected_cosine(config, data.dim, own, lengths),
        "radius": np.array(radii) / np.sqrt(data.dim / config.clusters),
        "accuracy": [np.mean(network.predict(test.x) == test.y) for network in networks],
    }


def expected_cosine(config: Config, dim: int, own: Array, lengths: Array) -> Array:
    """(λ/√d)/√(‖w(0)‖² + (Σ_j λ_j² + k²/(2n) λ²)/d), mean over neurons, of λ (step, neuron, feature): (step,)."""
    mean, square = own.mean(axis=2), (own**2).sum(axis=2)
    noise = config.clusters**2 / (2 * config.samples) * mean**2
    cosines: Array = mean / np.sqrt(dim) / np.sqrt(lengths**2 + (square + noise) / dim)
    return cosines.mean(axis=1)


def derive(config: Config, table: Table) -> Table:
    """First and last moments, growth over the logarithm of time, and trends over the dimension."""
    first, last = config.moments[0], config.moments[-1]
    late = np.array(config.moments) >= max(config.moments[len(config.moments) // 3], 2)
    sizes = np.moveaxis(table["size"], table.columns["size"].axes.index("step"), 0)[late]
    slopes = np.polyfit(np.log(np.array(config.moments)[late]), sizes.reshape(len(sizes), -1), 1)[0]
    ends = config.cases[0], config.cases[len(config.dims) - 1]
    axes = ("start", "seed")

    def trend(name: str) -> Array:
        small, large = (table.sel(name, start=case, step=last) for case in ends)
        return np.asarray(large / small)

    return table.plus({
        "equalised": Column(table.sel("ratio", step=last) / table.sel("ratio", step=first), axes,
                            f"largest over smallest λ at step {last} over the same at step {first}"),
        "slope": Column(slopes.reshape(sizes.shape[1:]), axes, "slope of λ over ln t from a third of the moments on"),
        "cosine_trend": (trend("cosine"), "late cosine over 1/√|J|, largest over smallest dimension"),
        "radius_trend": (trend("radius"), "late radius over √(d/k), largest over smallest dimension"),
    })  # fmt: skip


def drawings(config: Config) -> list[Drawing]:
    """Cosines and radii over time."""
    options = {"labels": list(config.cases), "log_x": True, "x_label": "step"}
    return [
        Drawing("curves", {"x": "step", "y": "cosine"}, band=0.95,
            caption="Mean cosine of neurons with the features of their class, in units of that of their average, over "
            "training from the talks' start at three dimensions and from the tiny one.",
            options={**options, "y_label": "cosine · √|J|"}),
        Drawing("curves", {"x": "step", "y": "radius"}, band=0.95,
            caption="Median exact radius in units of √(d/k), that of the averaging network, over the same runs.",
            options={**options, "y_label": "radius / √(d/k)"}),
    ]  # fmt: skip


def notes(config: Config, table: Table) -> list[str]:
    """How long it would take."""
    case, dim = config.cases[1], config.dims[1]
    size = float(table.sel("size", start=case, step=config.moments[-1]).mean())
    slope = float(table.sel("slope", start=case).mean())
    needed = np.sqrt(0.9025 / (1 - 0.9025) * dim / (config.clusters / 2))
    return [
        f"A cosine of 0.95/√|J| at d = {dim} needs λ = {needed:.0f} by the formula. After {config.moments[-1]} steps λ "
        f"is {size:.1f} and grows by {slope:.2f} with every factor e of time, which leaves a factor of "
        f"10^{(needed - size) / slope / np.log(10):.0f}.",
    ]
