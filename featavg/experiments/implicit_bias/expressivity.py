"""A linear rule can be perfect and break at a touch, while a robust rule has to remember every point (Li et al. 2022).

N points u_i on the sphere of radius √d in d − 1 dimensions carry labels y_i by the toss of a coin; the last coordinate
moves each by a hair, ε, to its side: x_i = (u_i, ε y_i). The rule sgn(x_d) is right everywhere, also at points it has
never seen, and has radius ε. A robust rule must bend around every single point:

    f(x) = Σ_i y_i ReLU(⟨u_i, x⟩/d − θ)

is right at every point of the sample up to a radius that does not depend on ε, and needs a neuron for each of them; of
points it has never seen it knows nothing. The theorem's lower bound, exponentially many parameters, is about all
points of the sphere at once. A sample of polynomial size cannot show it, and nothing here claims to.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from featavg.arrays import Array, Ints
from featavg.experiments import Expect, Quantity
from featavg.model import BinaryNetwork, Network
from featavg.record import Column, Drawing, Table
from featavg.robustness import robust_radius

COST = ("quick", 15)
NEEDS: tuple[str, ...] = ()
SOURCE = "Li et al. 2022"
CASES = {"points": lambda config: config.points}
COLUMNS = {
    "linear_accuracy": Quantity(
        "accuracy of sgn(x_d) on {config.fresh} fresh points", points=lambda config: config.fresh
    ),
    "linear_radius": "largest exact ℓ2 radius of sgn(x_d) over ε, at the points of the sample",
    "robust_radius": "smallest exact ℓ2 radius of the network with a neuron for every point, at the points of the "
    "sample, over the half of the smallest distance between points of different labels, which no rule can exceed",
    "robust_accuracy": Quantity(
        "accuracy of that network on fresh points; a tie counts as an error", points=lambda config: config.fresh
    ),
    "half_radius": "smallest exact ℓ2 radius of the network with a neuron for every second "
    "point, 0 for errors, in the same unit",
}
CLAIMS = [
    Expect("linear_accuracy", "The linear rule is right everywhere.", SOURCE, expected=1.0, tolerance=0.001, check=True,
           relation="at least", because="by construction; so many points show a thousandth", at={"points": 40}),
    Expect("linear_radius", "It breaks at a hair: its radius is ε.", SOURCE, expected=1.0, tolerance=1e-5, check=True,
           because="|w·x|/‖w‖, and the accuracy of the exact search", at={"points": 40}),
    *(
        Expect("robust_radius",
               f"With {count} points a network with a neuron for each has a fair share of the best radius.",
               SOURCE, expected=0.4, tolerance=0.0, relation="at least", at={"points": count},
               because="a constant that does not fall with ε or N; the exact value depends on the threshold")
        for count in (10, 20, 40)
    ),
    Expect("half_radius", "With half of its neurons this network has some point wrong.", SOURCE,
           expected=0.0, tolerance=0.05, relation="at most", at={"points": 40}, check=True,
           because="its neurons are off at points that it does not remember, and a tie is an error"),
    Expect("robust_accuracy", "Of fresh points the network that remembers knows nothing: its neurons are all off.",
           SOURCE, expected=0.0, tolerance=0.05, relation="at most", at={"points": 40},
           because="a fresh point has a cosine of 1/√d with a remembered one, far below the threshold; a tie is an "
           "error"),
]  # fmt: skip
DRAWINGS = [
    Drawing("curves", {"x": "points", "y": "both"}, band=0.95,
        caption="Smallest exact ℓ2 radius over the points of the sample, in units of half the smallest distance "
        "between points of different labels: the linear rule, which is always right, and the network with a neuron "
        "for every point.",
        options={"labels": ["linear rule", "a neuron for every point"], "x_label": "points to remember",
                 "y_label": "radius / best possible"}),
]  # fmt: skip
NOTES = [
    "Bearing on averaging: both are accurate rules that a small step breaks while a robust one exists. Here the "
    "robust rule cannot be learned from a sample, there it is learned from a thousand points as soon as the labels "
    "are fine enough.",
]


@dataclass(frozen=True)
class Config:
    """N random points in 200 dimensions, a hair of 1e-3; thresholds half way between the own point and the others."""

    dim: int = 200
    points: tuple[int, ...] = (10, 20, 40)
    hair: float = 1e-3
    threshold: float = 0.4
    fresh: int = 2000
    seeds: int = 10
    first_seed: int = 0


def draw(config: Config, count: int, rng: np.random.Generator) -> tuple[Array, Ints]:
    """Points (point, axis) and their labels."""
    labels = np.where(rng.random(count) < 0.5, -1, 1)
    labels[:2] = 1, -1  # both are there
    sphere = rng.standard_normal((count, config.dim - 1))
    sphere *= np.sqrt(config.dim) / np.linalg.norm(sphere, axis=1, keepdims=True)
    return np.column_stack([sphere, config.hair * labels]), labels


def remembering(config: Config, x: Array, labels: Ints) -> Network:
    """f(x) = Σ_i y_i ReLU(⟨u_i, x⟩/d − θ): a neuron for every given point, blind to the last coordinate."""
    weights = x.copy() / config.dim
    weights[:, -1] = 0.0
    return BinaryNetwork(weights, np.full(len(x), -config.threshold), labels[None].astype(np.float64), [0.0])


def measure(config: Config, seed: int, case: int) -> dict[str, Any]:
    """Exact radii of the linear rule and of networks that remember all or half of the points."""
    rng = np.random.default_rng([seed, case])
    x, labels = draw(config, case, rng)
    fresh, truth = draw(config, config.fresh, rng)
    last = np.eye(config.dim)[-1:]
    linear = BinaryNetwork(np.concatenate([last, -last]), np.zeros(2), [[1.0, -1.0]], [0.0])
    whole, half = remembering(config, x, labels), remembering(config, x[::2], labels[::2])
    apart = np.linalg.norm(x[labels > 0][:, None] - x[labels < 0][None], axis=2).min() / 2
    return {
        "linear_accuracy": np.mean(linear.predict(fresh) == truth),
        "linear_radius": robust_radius(linear, x, labels).upper.max() / config.hair,
        "robust_radius": robust_radius(whole, x, labels).lower.min() / apart,
        "robust_accuracy": np.mean(whole.predict(fresh) == truth),
        "half_radius": robust_radius(half, x, labels).upper.min() / apart,
    }


def derive(config: Config, table: Table) -> Table:
    """Both rules in one unit."""
    robust = table["robust_radius"]
    linear = np.broadcast_to(config.hair / np.sqrt(config.dim / 2), robust.shape)
    both = np.stack([linear, robust])
    return table.plus(
        {"both": Column(both, ("rule", "points", "seed"), "smallest radius over the best possible; the linear rule's "
                        "is ε/√(d/2), the expected distance put in")},
        {"rule": ["linear", "remembering"]},
    )  # fmt: skip
