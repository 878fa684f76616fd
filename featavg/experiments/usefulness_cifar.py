"""Usefulness and robust usefulness of class features and their average on CIFAR-10 features.

The definitions of `usefulness`, with the backbone's mean features in place of cluster centers. Linear features ⟨w, x⟩
have w = ±(μ_j − μ̄) for a single class and w = Σ_{J+} μ_j − Σ_{J-} μ_j for the average, made from training images and
judged on test images: Cov(y, ⟨w, x⟩)/‖w‖ is the radius in feature space at which one turns useless. Decisions: the sign
of the averaged feature, cut half way between the two classes; and the nearest class mean, which is a maximum of single
features ⟨μ_j, x⟩ − ‖μ_j‖²/2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from featavg.arrays import Array
from featavg.data import Dataset
from featavg.experiments import Progress, record_of
from featavg.experiments._features import HeadSetting, draw
from featavg.experiments.usefulness import Usefulness, linear, mean_usefulness
from featavg.model import MulticlassNetwork, Network
from featavg.record import Claim, Drawing, Record
from featavg.robustness import robust_radius

COST = ("long", 60)
NEEDS = ("cifar10",)
SOURCE = "the talks, after Ilyas et al. 2019; on features"
KINDS = ("average", "single", "detection")


@dataclass(frozen=True)
class Config(HeadSetting):
    """Draws of images; no head is trained."""

    test: int = 2000
    radius_points: int = 200
    curve_points: int = 60
    seeds: int = 10


def run(config: Config, progress: Progress) -> Record:
    """Measure linear features and the two decisions over draws of images."""
    from featavg.deep.pretrained import cifar_backbone

    backbone, rows = cifar_backbone(), []
    for number in range(config.seeds):
        seed = config.first_seed + number
        drawn = draw(backbone, config, seed)
        useful = linear_features(drawn.data, drawn.test)
        row: dict[str, Any] = {f"rho_{kind}": useful[kind].rho for kind in KINDS}
        row |= {f"loss_{kind}": useful[kind].loss for kind in KINDS}
        row |= {f"useless_{kind}": useful[kind].useless for kind in KINDS}
        rows.append(row | _decisions(drawn.data, drawn.test, config))
        progress((number + 1) / config.seeds, f"seed {seed}")
    found = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    radii = np.linspace(0, 1.1 * max(found[f"useless_{kind}"].mean() for kind in KINDS), config.curve_points)
    mean = [Usefulness(found[f"rho_{kind}"].mean(), found[f"loss_{kind}"].mean()) for kind in KINDS]
    curves = {"radii": radii, "gamma": np.stack([kind.robust(radii) for kind in mean])}
    return record_of(
        config,
        claims=[*_linear_claims(found), *_decision_claims(found)],
        arrays=found | curves,
        drawings=[_drawing()],
        notes=[
            f"Accuracy of the coarse decision: {found['average_accuracy'].mean():.3f} by the averaged feature, "
            f"{found['nearest_accuracy'].mean():.3f} by the nearest class mean; mean radii at points that both put "
            f"right {found['average_radius'].mean():.2f} and {found['nearest_radius'].mean():.2f}.",
        ],
    )


def linear_features(data: Dataset, test: Dataset) -> dict[str, Usefulness]:
    """Usefulness on `test` of features made from `data`; the single ones are means over the classes."""
    centered = data.centers - data.centers.mean(axis=0)
    single, detection = [], []
    for j, label in enumerate(data.center_labels):
        values = test.x @ centered[j] / np.linalg.norm(centered[j])
        single.append(linear(label * values, test.y))
        own = test.cluster == j
        balanced = np.where(own, 0.5 / own.mean(), 0.5 / (1 - own.mean()))
        detection.append(linear(values, np.where(own, 1, -1), balanced))
    weight = _average(data)
    average = linear(test.x @ weight / np.linalg.norm(weight), test.y)
    return {"average": average, "single": mean_usefulness(single), "detection": mean_usefulness(detection)}


def nearest_mean(data: Dataset) -> Network:
    """argmin_j ‖x − μ_j‖ as a network f_j = ReLU(⟨μ_j, x⟩ − ‖μ_j‖²/2 + K), K so large that no ReLU is ever off."""
    # |⟨μ_j, x⟩| + ‖μ_j‖²/2 for x up to ten times as far out as any point.
    length = np.linalg.norm(data.centers, axis=1).max()
    shift = length * (10 * np.linalg.norm(data.x, axis=1).max() + length / 2)
    biases = shift - (data.centers**2).sum(axis=1) / 2
    identity = np.eye(data.clusters)
    return MulticlassNetwork(data.centers, biases, identity, np.zeros(data.clusters), data.center_labels)


def _decisions(data: Dataset, test: Dataset, config: Config) -> dict[str, float]:
    """Accuracy and exact ℓ2 radii of the two decisions."""
    weight = _average(data)
    middle = np.mean([(data.x[data.y == sign] @ weight).mean() for sign in (1, -1)])
    margin = test.y * (test.x @ weight - middle) / np.linalg.norm(weight)  # its distance to the boundary, if right
    nearest = nearest_mean(data)
    few = slice(config.radius_points)
    radius = robust_radius(nearest, test.x[few], test.y[few], readout="maximum", proofs=False)
    both = (margin[few] > 0) & (radius.upper > 0)
    return {
        "average_accuracy": float((margin > 0).mean()),
        "nearest_accuracy": float(np.mean(nearest.predict_binary(test.x, "maximum") == test.y)),
        "average_radius": float(margin[few][both].mean()),
        "nearest_radius": float(radius.lower[both].mean()),
    }


def _average(data: Dataset) -> Array:
    weight: Array = data.center_labels @ data.centers
    return weight


def _linear_claims(found: dict[str, Array]) -> list[Claim]:
    rho = ", ".join(f"{kind} {found[f'rho_{kind}'].mean():.3f}" for kind in KINDS)
    return [
        Claim.over_seeds(
            found["rho_average"] - found["rho_single"],
            "The averaged feature is more useful for the binary task than a single class feature.",
            source=SOURCE, expected=0.0, tolerance=0.0, relation="at least", tolerance_reason="more is more",
            how=f"difference of ρ; means over seeds: {rho}",
        ),
        Claim.over_seeds(
            found["useless_single"] / found["useless_average"],
            "A single class feature stays useful for the binary task longer than the average does.",
            source=SOURCE, expected=1.0, tolerance=0.0, relation="at least", tolerance_reason="longer is longer",
            how="ratio of the feature-space radii at which γ is 0; 1/√10 = 0.316 on orthogonal clusters",
        ),
        Claim.over_seeds(
            found["useless_detection"] / found["useless_average"],
            "A single class feature detects its own class longer than the average its half of the classes.",
            source=SOURCE, expected=1.0, tolerance=0.0, relation="at least", tolerance_reason="longer is longer",
            how="ratio of the feature-space radii at which γ is 0, own class and the rest as likely; √10/2 = 1.58 on "
            "orthogonal clusters",
        ),
    ]  # fmt: skip


def _decision_claims(found: dict[str, Array]) -> list[Claim]:
    return [
        Claim.over_seeds(
            found["nearest_accuracy"] - found["average_accuracy"],
            "Put together by a maximum, single class features decide the binary task better than the average.",
            source=SOURCE, expected=0.0, tolerance=0.0, relation="at least", tolerance_reason="better is better",
            how="difference of test accuracies, nearest class mean minus sign of the averaged feature",
        ),
        Claim.over_seeds(
            found["nearest_radius"] / found["average_radius"],
            "That decision is more robust than the average's.",
            source=SOURCE, expected=1.0, tolerance=0.0, relation="at least", tolerance_reason="larger is larger",
            how="ratio of mean exact ℓ2 radii in feature space at test points that both put right; √5 = 2.24 on "
            "orthogonal clusters",
        ),
    ]  # fmt: skip


def _drawing() -> Drawing:
    return Drawing(
        "curves", {"x": "radii", "y": "gamma"},
        caption="Robust usefulness γ of linear features over the ℓ2 radius in feature space, mean over draws of "
        "images. A single class feature is weak for the binary task and strong for its own class.",
        options={"labels": ["average", "single, binary task", "single, detection"], "x_label": "ℓ2 radius in features",
                 "y_label": "γ", "levels": [[0.0, "useless"]]},
    )  # fmt: skip
