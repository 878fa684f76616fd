"""Networks built by hand: averaging is fragile whatever its biases, and a robust network of the same size exists."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from featavg.analysis import theory
from featavg.arrays import Array
from featavg.data import sample_clusters
from featavg.experiments import Expect, Quantity
from featavg.experiments.paper.setting import TEST_SEED
from featavg.model import averaging_network, decoupled_network, filtered_network
from featavg.record import Column, Drawing, Table
from featavg.robustness import robust_radius

COST = ("quick", 20)
NEEDS: tuple[str, ...] = ()
COORDS = {
    "positive_bias": lambda config: config.bias_grid,
    "negative_bias": lambda config: config.bias_grid,
    "label": (1, -1),
    "threshold": lambda config: config.threshold_grid,
}
COLUMNS = {
    "radii": Quantity("exact ℓ2 radius at a center of either class", ("positive_bias", "negative_bias", "label")),
    "worse": Quantity("the worse exact ℓ2 radius of the two classes", ("positive_bias", "negative_bias")),
    "filtered": Quantity("exact ℓ2 radius of the bias-filtered network at a center", ("threshold",)),
    "switch": "inverse norm of Σμ_j/‖μ_j‖² at a center, where its neuron has value 1",
    "averaging": "exact ℓ2 radius at a center",
    "accuracy": Quantity(
        "accuracy of the averaging network on {config.points} fresh points per seed; a tie counts as an error",
        points=lambda config: config.points,
    ),
    "curve_error": "largest difference, over all radii, of the share of {config.points} fresh points with a larger "
    "exact ℓ2 radius and Φ((√(d/k) − δ)/σ)",
    "largest": "largest exact ℓ2 radius of either class over a grid of both biases; a bias can protect one class",
    "best_worse": "best over a grid of both biases of the worse exact ℓ2 radius of the two classes",
    "filtered_error": "largest difference of exact ℓ2 radius and closed form over a grid of θ",
    "filtered_good": "smallest exact ℓ2 radius over the θ of that range",
    "maximum": "exact ℓ2 radius at a center",
    "logits": "exact ℓ2 radius at a center: the read-out matters as much as the features",
}
FRAGILE = "talks: not robust for any bias"
ROBUST = "robust construction of the talks"
EXACT = "a closed form, and the accuracy of the exact search"


def _fragile(config: Config, _: Table) -> float:
    return theory.averaging_radius(config.theory)


def _best(config: Config, _: Table) -> float:
    return theory.optimal_radius(config.theory)


CLAIMS = [
    Expect("switch", "The averaged weight has norm √(|J|/d): it takes √(d/|J|) to switch its neuron off.",
           "closed form", check=True,
           expected=lambda config, _: np.sqrt(config.dim / config.theory.class_sizes[0]),
           tolerance=lambda config, table: 2e-6 * _fragile(config, table), because=EXACT),
    Expect("accuracy", "The averaging network classifies fresh points perfectly.", "Theorem 2",
           expected=1.0, tolerance=0.001, relation="at least", because="one point in a thousand"),
    Expect("curve_error", "Over noisy points its robust accuracy is Φ((√(d/k) − δ)/σ) at every δ.", "closed form",
           expected=0.0, tolerance=lambda config, _: 1.95 / np.sqrt(config.points), relation="at most",
           because="Kolmogorov and Smirnov's distance of {config.points} points exceeds 1.95/√n once in a thousand"),
    Expect("averaging", "The averaging network without biases has radius √(d/k) at a center.", "closed form",
           expected=_fragile, tolerance=2e-6, relative=True, because=EXACT, check=True),
    Expect("largest", "For no biases on the grid is a center farther than √(d/k) from the boundary.",
           f"{FRAGILE}, as stated",
           expected=_fragile, tolerance=2e-6, relative=True, relation="at most", because=EXACT),
    Expect("best_worse", "For no biases on the grid are both classes farther than √(d/k) from the boundary.",
           f"{FRAGILE}, in the form that is true",
           expected=_fragile, tolerance=2e-6, relative=True, relation="at most", because=EXACT),
    Expect(
        "filtered_error", "The bias-filtered network has the radius √d·min(1−θ, min_p (1+(p−1)θ)/√(p+1)) for every θ.",
        ROBUST, expected=0.0, tolerance=lambda config, table: 2e-6 * _best(config, table), because=EXACT, check=True,
    ),
    Expect("filtered_good", "With θ between √1.5 − 1 and 1 − 1/√2 the filtered network is as robust as can be, √(d/2).",
           ROBUST, expected=_best, tolerance=2e-6, relative=True, because=EXACT),
    Expect("maximum", "The decoupled network under the maximum read-out has radius √(d/2).", "closed form",
           expected=_best, tolerance=2e-6, relative=True, because=EXACT, check=True),
    Expect("logits", "The decoupled network under summed logits has radius √(d/(k_other + 1)) only.", "closed form",
           expected=lambda config, _: theory.summed_logits_radius(config.theory),
           tolerance=lambda config, table: 2e-6 * _best(config, table), because=EXACT, check=True),
]  # fmt: skip
DRAWINGS = [
    Drawing("heatmap", {"values": "worse", "row_labels": "positive_bias", "column_labels": "negative_bias"},
        caption="Averaging network: the worse ℓ2 radius of the two classes over the biases of both neurons. Its best "
        "value is √(d/k), along the diagonal near zero: biases cannot cure averaging.",
        options={"rows": "bias of the positive neuron", "columns": "bias of the negative neuron",
                 "scale_label": "radius"}),
]  # fmt: skip


@dataclass(frozen=True)
class Config:
    """k = 10 clusters in d = 3072, ambient; the seed draws a rotation, which must not matter."""

    clusters: int = 10
    dim: int = 3072
    bias_grid: tuple[float, ...] = tuple(np.linspace(-0.9, 0.9, 19).round(2).tolist())
    threshold_grid: tuple[float, ...] = tuple(np.linspace(0.0, 0.6, 25).round(3).tolist())
    points: int = 2000
    seeds: int = 5
    first_seed: int = 0

    @property
    def theory(self) -> theory.Setting:
        """What predictions are made from."""
        return theory.Setting(self.clusters, self.dim)


def measure(config: Config, seed: int) -> dict[str, Any]:
    """Compute exact radii at the centers of the ideal networks, over biases and thresholds."""
    data = sample_clusters(config.clusters, config.dim, samples=10, coordinates="ambient", seed=seed)
    positive, negative = (int(np.flatnonzero(data.center_labels == sign)[0]) for sign in (1, -1))
    centers, labels, grid = data.centers[[positive, negative]], np.array([1, -1]), config.bias_grid
    radii = np.array(
        [[robust_radius(averaging_network(data, np.array([b, c])), centers, labels).upper for c in grid] for b in grid]
    )
    thresholds = np.array(config.threshold_grid)
    filtered = np.array([robust_radius(filtered_network(data, t), centers[:1], [1]).upper[0] for t in thresholds])
    good = (thresholds >= np.sqrt(1.5) - 1) & (thresholds <= 1 - np.sqrt(0.5))
    own, decoupled = averaging_network(data), decoupled_network(data)
    test = data.resample(config.points, seed=TEST_SEED + seed)
    return {
        "accuracy": np.mean(own.predict(test.x) == test.y),
        "curve_error": _curve_error(config, robust_radius(own, test.x, test.y).upper),
        "radii": radii,
        "worse": radii.min(axis=2),
        "filtered": filtered,
        "switch": 1 / np.linalg.norm(own.weights[0]),
        "averaging": robust_radius(own, centers[:1], [1]).upper[0],
        "largest": radii.max(),
        "best_worse": radii.min(axis=2).max(),
        "filtered_error": np.abs(filtered - [theory.filtered_radius(config.theory, t) for t in thresholds]).max(),
        "filtered_good": filtered[good].min(),
        "maximum": robust_radius(decoupled, centers[:1], [1], readout="maximum").upper[0],
        "logits": robust_radius(decoupled, centers[:1], [1], readout="summed-logits").upper[0],
    }


def _curve_error(config: Config, radii: Array) -> float:
    """Kolmogorov and Smirnov's distance of the radii from what the closed form says of their distribution."""
    ordered, count = np.sort(radii), len(radii)
    fooled = 1 - theory.averaging_accuracy(config.theory, ordered)
    above, below = np.arange(1, count + 1) / count - fooled, fooled - np.arange(count) / count
    return float(max(above.max(), below.max()))


def derive(config: Config, table: Table) -> Table:
    """The closed form beside the search."""
    predicted = np.array([theory.filtered_radius(config.theory, threshold) for threshold in config.threshold_grid])
    return table.plus({"predicted": Column(predicted, ("threshold",), "closed form")})


def drawings(config: Config) -> list[Drawing]:
    """The radius over the threshold."""
    return [
        Drawing("curves", {"x": "threshold", "y": ("filtered", "predicted")},
            caption="Radius of the bias-filtered network at a center over its threshold θ: too small a threshold lets "
            "many rivals act together, too large a one switches the own feature off. In between it reaches √(d/2).",
            options={
                "labels": ["exact search", "closed form"], "dashed": ["closed form"], "x_label": "threshold θ",
                "y_label": "ℓ2 radius",
                "levels": [[theory.optimal_radius(config.theory), "√(d/2), best possible"],
                           [theory.averaging_radius(config.theory), "√(d/k), averaging"]],
            }),
    ]  # fmt: skip
