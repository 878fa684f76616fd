"""Why robustness is trained away: late training rests on few hard points, whose noise no longer averages out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from featavg.analysis import Decomposition, decompose, reconstruct
from featavg.arrays import Array
from featavg.data import Dataset, sample_clusters
from featavg.experiments import Expect, Quantity
from featavg.experiments.paper.setting import NETWORK_SEED, TEST_SEED
from featavg.model import BinaryNetwork, MulticlassNetwork, Network
from featavg.record import Column, Drawing, Table
from featavg.robustness import Budget, Readout, robust_radius
from featavg.training import GradientDescent, Trajectory, train

COST = ("long", 130)
NEEDS: tuple[str, ...] = ()
BUDGET = Budget(nodes=2000, seconds=1.0)
SWAPS = ("early", "late features, early noise", "early features, late noise", "late")
CASES = {"network": ("fine", "coarse")}
COORDS = {"step": lambda config: config.marks, "parts": SWAPS}
COLUMNS = {
    "radius": Quantity("mean exact ℓ2 radius of the test points, 0 for errors", ("step",)),
    "noise_share": Quantity("size of the noise part of the weights over that of their features", ("step",)),
    "points_used": Quantity("effective share of its label's points that a neuron is made of", ("step",)),
    "swaps": Quantity("mean exact ℓ2 radius with early and late parts put together", ("parts",)),
    "lost": "mean exact ℓ2 radius over {config.test_points} test points, maximum read-out: first moment against last",
    "late_noise": "mean exact radius with early features and late noise over that of the late network; parts scaled to "
    "equal features",
    "used_ratio": "participation ratio of a neuron's coefficients over points of its label, last over first moment",
}
CLAIMS = [
    Expect("lost", "Trained long on the true fine labels, the network loses a tenth of its mean radius.",
           "trial runs of the project", expected=0.1, tolerance=0.0, relation="at least", at={"network": "fine"},
           because="a tenth is seen in a figure; three pilot seeds lost 11 to 13 %"),
    Expect("late_noise",
           "The noise part of the late weights does it: on early features it leaves no more than late weights do.",
           "derived", expected=1.0, tolerance=0.05, relation="at most", at={"network": "fine"},
           because="if features did it, this would be early over late, above 1.1"),
    Expect("used_ratio", "Late weights are made of less than half as many points.", "derived",
           expected=0.5, tolerance=0.0, relation="at most", at={"network": "fine"},
           because="half is enough to double the variance of an average"),
]  # fmt: skip
DRAWINGS = [
    Drawing("curves", {"x": "step", "y": "radius"},
            caption="Mean exact ℓ2 radius on test points during training, means over seeds: fine labels are far ahead "
            "early and lose a good part of the lead, while coarse labels slowly gain.",
            options={"labels": ["fine labels, maximum read-out", "coarse labels"], "x_label": "steps",
                     "y_label": "mean ℓ2 radius", "log_x": True}),
    Drawing("curves", {"x": "step", "y": ("noise_share", "points_used")}, at={"network": "fine"},
        caption="What the weights of the fine network are made of: the size of their noise part grows against that of "
        "their features, and the points they rest on become few.",
        options={"labels": ["noise part over feature part", "effective share of points used"], "x_label": "steps",
                 "y_label": "share", "log_x": True}),
    Drawing("dots", {"measured": "swaps", "labels": "parts", "lower": "least_swaps", "upper": "largest_swaps"},
        caption="Early and late parts of the fine network's weights put together (mean radius; lines reach from the "
        "lowest to the highest seed): late noise costs more than late features.",
        options={"x_label": "mean ℓ2 radius"}, at={"network": "fine"}),
]  # fmt: skip
NOTES = [
    "λ and σ are read off the coefficients C of training, w(t) = w(0) + Σ C x, which is exact; with more points than "
    "axes other λ and σ would give the same weights, but these are the ones that training made.",
]


@dataclass(frozen=True)
class Config:
    """Clusters that overlap, in few dimensions: noise of twice the centers' length, 20 points per axis."""

    clusters: int = 10
    dim: int = 50
    samples: int = 1000
    noise: float = 2.0
    rate: float = 8.0  # step size times dim
    marks: tuple[int, ...] = (10, 30, 100, 300, 1000, 5000)
    test_points: int = 200
    first_seed: int = 0
    seeds: int = 12


def measure(config: Config, seed: int, case: str) -> dict[str, Any]:
    """Train a network far too long, take its weights apart, and put early and late parts together again."""
    data = sample_clusters(config.clusters, config.dim, config.samples, noise=config.noise, seed=seed)
    test = data.resample(config.test_points, seed=TEST_SEED + seed)
    start: Network
    readout: Readout
    if case == "fine":
        start, readout = MulticlassNetwork.random(data, 1, seed=NETWORK_SEED + seed), "maximum"
    else:
        start, readout = BinaryNetwork.random(data, config.clusters // 2, seed=NETWORK_SEED + seed), "sign"
    rule = GradientDescent(steps=config.marks[-1], step_size=config.rate / config.dim)
    trajectory = train(start, data, rule, save_at=config.marks, engine="gram")
    row = _follow(trajectory, data, test, readout)
    early, _, new_noise, late = row["swaps"]
    used = row["points_used"]
    return row | {"lost": 1.0 - late / early, "late_noise": new_noise / late, "used_ratio": used[-1] / used[0]}


def _follow(trajectory: Trajectory, data: Dataset, test: Dataset, readout: Readout) -> dict[str, Array]:
    parts = decompose(trajectory, data)
    none = Decomposition(np.zeros_like(parts.feature), np.zeros_like(parts.noise))
    # The first saved moment is the start, which has no parts yet.
    features = reconstruct(replace(none, feature=parts.feature), data)[1:]  # (time, neuron, axis)
    noises = reconstruct(replace(none, noise=parts.noise), data)[1:]
    radius = np.array([_mean_radius(trajectory.at(t), test, readout) for t in range(1, len(trajectory))])
    sizes = np.linalg.norm(features, axis=(1, 2))
    pairs = ((0, 0), (-1, 0), (0, -1), (-1, -1))
    start = trajectory.initial
    # Radii do not change if all weights are scaled, so the parts of two moments meet at equal sizes of the features.
    swapped = [start.changed(weights=features[f] / sizes[f] + noises[n] / sizes[n]) for f, n in pairs]
    return {
        "radius": radius,
        "noise_share": np.linalg.norm(noises, axis=(1, 2)) / sizes,
        "points_used": _points_used(trajectory, data),
        "swaps": np.array([_mean_radius(network, test, readout) for network in swapped]),
    }


def _mean_radius(network: Network, test: Dataset, readout: Readout) -> float:
    """Mean exact ℓ2 radius of the test points, 0 for errors."""
    found = robust_radius(network, test.x, test.y, readout=readout, budget=BUDGET, proofs=False)
    return float(found.lower.mean())


def _points_used(trajectory: Trajectory, data: Dataset) -> Array:
    """Effective share of its label's points that a neuron is made of, (Σ|C|)²/(n Σ C²) over these points: (time,)."""
    assert trajectory.coefficients is not None
    labels = trajectory.initial.targets(data)
    own = labels[:, None] == trajectory.initial.neuron_class
    sizes = np.abs(trajectory.coefficients[1:]) * own
    shares = sizes.sum(axis=1) ** 2 / np.maximum((sizes**2).sum(axis=1) * own.sum(axis=0), 1e-300)
    return np.asarray(shares.mean(axis=1))


def derive(table: Table) -> Table:
    """The range of the swapped networks over seeds."""
    swaps = table["swaps"]  # (network, seed, parts)
    ends = {"least_swaps": ("lowest seed", swaps.min(axis=1)), "largest_swaps": ("highest seed", swaps.max(axis=1))}
    return table.plus({name: Column(values, ("network", "parts"), text) for name, (text, values) in ends.items()})
