"""Networks built by hand: averaging is fragile whatever its biases, and a robust network of the same size exists."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from featavg.analysis import theory
from featavg.arrays import Array
from featavg.data import ClusterData, sample_clusters
from featavg.experiments import Progress, record_of
from featavg.model import averaging_network, decoupled_network, filtered_network
from featavg.record import Claim, Drawing, Record
from featavg.robustness import robust_radius

COST = ("quick", 20)
NEEDS: tuple[str, ...] = ()
FRAGILE = "Theorem 2; talks: not robust for any bias"
ROBUST = "Theorem 3; robust construction of the talks"


@dataclass(frozen=True)
class Config:
    """k = 10 clusters in d = 3072. Nothing is drawn at random but a rotation, so one seed is as good as many."""

    clusters: int = 10
    dim: int = 3072
    bias_grid: tuple[float, ...] = tuple(np.linspace(-0.9, 0.9, 19).round(2).tolist())
    threshold_grid: tuple[float, ...] = tuple(np.linspace(0.0, 0.6, 25).round(3).tolist())
    seeds: int = 1


def run(config: Config, progress: Progress) -> Record:
    """Compute exact radii at the centers of the ideal networks, over biases and thresholds."""
    data = sample_clusters(config.clusters, config.dim, samples=10, seed=0)
    positive, negative = (int(np.flatnonzero(data.center_labels == sign)[0]) for sign in (1, -1))
    centers = data.centers[[positive, negative]]
    biases = np.array(config.bias_grid)
    radii = np.empty((len(biases), len(biases), 2))
    for i, b in enumerate(biases):
        for j, c in enumerate(biases):
            network = averaging_network(data, np.array([b, c]))
            radii[i, j] = robust_radius(network, centers, [1, -1]).upper
        progress(0.6 * (i + 1) / len(biases), "averaging network over its biases")
    filtered = np.empty(len(config.threshold_grid))
    for i, threshold in enumerate(config.threshold_grid):
        filtered[i] = robust_radius(filtered_network(data, threshold), centers[:1], [1]).upper[0]
        progress(0.6 + 0.4 * (i + 1) / len(filtered), "filtered network over its threshold")
    setting = theory.Setting.of(data)
    predicted = np.array([theory.filtered_radius(setting, threshold) for threshold in config.threshold_grid])
    arrays = {
        "biases": biases,
        "radii": radii,
        "worse": radii.min(axis=2),
        "thresholds": config.threshold_grid,
        "filtered": np.stack([filtered, predicted]),
    }
    claims = [*_fragile(data, arrays, setting), *_robust(data, arrays, setting)]
    return record_of(config, claims=claims, arrays=arrays, drawings=_drawings(setting, config.bias_grid))


def _fragile(data: ClusterData, found: dict[str, Array], setting: theory.Setting) -> list[Claim]:
    own = averaging_network(data)
    fragile = theory.averaging_radius(setting)
    return [
        Claim.exact(
            float(1 / np.linalg.norm(own.weights[0])),
            "The averaged weight has norm √(|J|/d): it takes √(d/|J|) to switch its neuron off.",
            source="Theorem 2",
            expected=float(np.sqrt(setting.dim / setting.class_sizes[0])),
            tolerance=1e-9,
            tolerance_reason="a closed form",
            how="inverse norm of Σμ_j/‖μ_j‖² at a center, where its neuron has value 1",
        ),
        Claim.exact(
            float(robust_radius(own, data.centers[:1], [1]).upper[0]),
            "The averaging network without biases has radius √(d/k) at every center.",
            source="Theorem 2",
            expected=fragile,
            tolerance=2e-6 * fragile,
            tolerance_reason="a closed form, and the accuracy of the exact search",
            how="exact ℓ2 radius at a center",
        ),
        Claim.exact(
            float(found["radii"].max()),
            "For no biases is any center farther than √(d/k) from the boundary.",
            source=FRAGILE + ", as stated",
            expected=fragile,
            tolerance=2e-6 * fragile,
            relation="at most",
            tolerance_reason="a bound",
            how="largest exact ℓ2 radius of either class over a grid of both biases; a bias can protect one class",
        ),
        Claim.exact(
            float(found["worse"].max()),
            "For no biases are both classes farther than √(d/k) from the boundary.",
            source=FRAGILE + ", in the form that is true",
            expected=fragile,
            tolerance=2e-6 * fragile,
            relation="at most",
            tolerance_reason="a bound",
            how="best over a grid of both biases of the worse exact ℓ2 radius of the two classes",
        ),
    ]


def _robust(data: ClusterData, found: dict[str, Array], setting: theory.Setting) -> list[Claim]:
    best = theory.optimal_radius(setting)
    measured, predicted = found["filtered"]
    decoupled = decoupled_network(data)
    thresholds = np.array(found["thresholds"])
    good = (thresholds >= np.sqrt(1.5) - 1) & (thresholds <= 1 - np.sqrt(0.5))
    exact = {"tolerance": 2e-6 * best, "tolerance_reason": "a closed form, and the accuracy of the exact search"}
    maximum = robust_radius(decoupled, data.centers[:1], [1], readout="maximum").upper[0]
    logits = robust_radius(decoupled, data.centers[:1], [1], readout="summed-logits").upper[0]
    return [
        Claim.exact(
            float(np.abs(measured - predicted).max()),
            "The bias-filtered network has the radius √d·min(1−θ, min_p (1+(p−1)θ)/√(p+1)) for every θ.",
            source=ROBUST,
            expected=0.0,
            how="largest difference of exact ℓ2 radius and closed form over a grid of θ",
            **exact,
        ),
        Claim.exact(
            float(measured[good].min()),
            "With θ between √1.5 − 1 and 1 − 1/√2 the filtered network is as robust as can be, √(d/2).",
            source=ROBUST,
            expected=best,
            how="smallest exact ℓ2 radius over the θ of that range",
            **exact,
        ),
        Claim.exact(
            float(maximum),
            "The decoupled network under the maximum read-out has radius √(d/2).",
            source="Theorem 3",
            expected=best,
            how="exact ℓ2 radius at a center",
            **exact,
        ),
        Claim.exact(
            float(logits),
            "The decoupled network under summed logits has radius √(d/(k_other + 1)) only.",
            source="closed form",
            expected=theory.summed_logits_radius(setting),
            how="exact ℓ2 radius at a center: the read-out matters as much as the features",
            **exact,
        ),
    ]


def _drawings(setting: theory.Setting, biases: tuple[float, ...]) -> list[Drawing]:
    return [
        Drawing(
            "curves",
            {"x": "thresholds", "y": "filtered"},
            caption="Radius of the bias-filtered network at a center over its threshold θ: too small a threshold lets "
            "many rivals act together, too large a one switches the own feature off. In between it reaches √(d/2).",
            options={
                "labels": ["exact search", "closed form"],
                "x_label": "threshold θ",
                "y_label": "ℓ2 radius",
                "levels": [
                    [theory.optimal_radius(setting), "√(d/2), best possible"],
                    [theory.averaging_radius(setting), "√(d/k), averaging"],
                ],
            },
        ),
        Drawing(
            "heatmap",
            {"values": "worse"},
            caption="Averaging network: the worse ℓ2 radius of the two classes over the biases of both neurons. Its "
            "best value is √(d/k), along the diagonal near zero: biases cannot cure averaging.",
            options={
                "row_labels": [f"{bias:g}" for bias in biases],
                "column_labels": [f"{bias:g}" for bias in biases],
                "rows": "bias of the positive neuron",
                "columns": "bias of the negative neuron",
                "scale_label": "radius",
            },
        ),
    ]
