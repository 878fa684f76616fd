"""Networks built by hand: averaging is fragile whatever its biases, and a robust network of the same size exists."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from featavg.analysis import theory
from featavg.arrays import Array
from featavg.data import Dataset, sample_clusters
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
    """k = 10 clusters in d = 3072, ambient; the seed draws a rotation, which must not matter."""

    clusters: int = 10
    dim: int = 3072
    bias_grid: tuple[float, ...] = tuple(np.linspace(-0.9, 0.9, 19).round(2).tolist())
    threshold_grid: tuple[float, ...] = tuple(np.linspace(0.0, 0.6, 25).round(3).tolist())
    seeds: int = 5
    first_seed: int = 0


def run(config: Config, progress: Progress) -> Record:
    """Compute exact radii at the centers of the ideal networks, over biases and thresholds."""
    rows = []
    for seed in range(config.seeds):
        rotation = config.first_seed + seed
        data = sample_clusters(config.clusters, config.dim, samples=10, coordinates="ambient", seed=rotation)
        rows.append(_measure(config, data))
        progress((seed + 1) / config.seeds, f"rotation {rotation}")
    found = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    setting = theory.Setting(config.clusters, config.dim)
    predicted = np.array([theory.filtered_radius(setting, threshold) for threshold in config.threshold_grid])
    arrays = found | {
        "thresholds": np.array(config.threshold_grid),
        "filtered_curves": np.stack([found["filtered"].mean(axis=0), predicted]),
        "worse": found["radii"].min(axis=3).mean(axis=0),
    }
    claims = [*_fragile(found, setting), *_robust(found, arrays, setting)]
    return record_of(config, claims=claims, arrays=arrays, drawings=_drawings(setting, config.bias_grid))


def _measure(config: Config, data: Dataset) -> dict[str, Array]:
    positive, negative = (int(np.flatnonzero(data.center_labels == sign)[0]) for sign in (1, -1))
    centers, labels = data.centers[[positive, negative]], np.array([1, -1])
    radii = [
        [robust_radius(averaging_network(data, np.array([b, c])), centers, labels).upper for c in config.bias_grid]
        for b in config.bias_grid
    ]
    filtered = [robust_radius(filtered_network(data, t), centers[:1], [1]).upper[0] for t in config.threshold_grid]
    own, decoupled = averaging_network(data), decoupled_network(data)
    return {
        "radii": np.array(radii),  # (bias, bias, class)
        "filtered": np.array(filtered),
        "switch": 1 / np.linalg.norm(own.weights[0]),
        "averaging": robust_radius(own, centers[:1], [1]).upper[0],
        "maximum": robust_radius(decoupled, centers[:1], [1], readout="maximum").upper[0],
        "logits": robust_radius(decoupled, centers[:1], [1], readout="summed-logits").upper[0],
    }


def _fragile(found: dict[str, Array], setting: theory.Setting) -> list[Claim]:
    fragile = theory.averaging_radius(setting)
    exact = {"tolerance": 2e-6 * fragile, "tolerance_reason": "a closed form, and the accuracy of the exact search"}
    return [
        Claim.over_seeds(
            found["switch"],
            "The averaged weight has norm √(|J|/d): it takes √(d/|J|) to switch its neuron off.",
            source="Theorem 2",
            expected=float(np.sqrt(setting.dim / setting.class_sizes[0])),
            how="inverse norm of Σμ_j/‖μ_j‖² at a center, where its neuron has value 1",
            **exact,
        ),
        Claim.over_seeds(
            found["averaging"],
            "The averaging network without biases has radius √(d/k) at every center.",
            source="Theorem 2",
            expected=fragile,
            how="exact ℓ2 radius at a center",
            **exact,
        ),
        Claim.over_seeds(
            found["radii"].max(axis=(1, 2, 3)),
            "For no biases is any center farther than √(d/k) from the boundary.",
            source=FRAGILE + ", as stated",
            expected=fragile,
            relation="at most",
            how="largest exact ℓ2 radius of either class over a grid of both biases; a bias can protect one class",
            **exact,
        ),
        Claim.over_seeds(
            found["radii"].min(axis=3).max(axis=(1, 2)),
            "For no biases are both classes farther than √(d/k) from the boundary.",
            source=FRAGILE + ", in the form that is true",
            expected=fragile,
            relation="at most",
            how="best over a grid of both biases of the worse exact ℓ2 radius of the two classes",
            **exact,
        ),
    ]


def _robust(found: dict[str, Array], arrays: dict[str, Array], setting: theory.Setting) -> list[Claim]:
    best = theory.optimal_radius(setting)
    thresholds, predicted = arrays["thresholds"], arrays["filtered_curves"][1]
    good = (thresholds >= np.sqrt(1.5) - 1) & (thresholds <= 1 - np.sqrt(0.5))
    exact = {"tolerance": 2e-6 * best, "tolerance_reason": "a closed form, and the accuracy of the exact search"}
    return [
        Claim.over_seeds(
            np.abs(found["filtered"] - predicted).max(axis=1),
            "The bias-filtered network has the radius √d·min(1−θ, min_p (1+(p−1)θ)/√(p+1)) for every θ.",
            source=ROBUST,
            expected=0.0,
            how="largest difference of exact ℓ2 radius and closed form over a grid of θ",
            **exact,
        ),
        Claim.over_seeds(
            found["filtered"][:, good].min(axis=1),
            "With θ between √1.5 − 1 and 1 − 1/√2 the filtered network is as robust as can be, √(d/2).",
            source=ROBUST,
            expected=best,
            how="smallest exact ℓ2 radius over the θ of that range",
            **exact,
        ),
        Claim.over_seeds(
            found["maximum"],
            "The decoupled network under the maximum read-out has radius √(d/2).",
            source="Theorem 3",
            expected=best,
            how="exact ℓ2 radius at a center",
            **exact,
        ),
        Claim.over_seeds(
            found["logits"],
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
            {"x": "thresholds", "y": "filtered_curves"},
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
