"""Usefulness and robust usefulness of class features and their average on CIFAR-10 features.

The definitions of `usefulness`, with the backbone's mean features in place of cluster centers. Linear features ⟨w, x⟩
have w = ±(μ_j − μ̄) for a single class and w = Σ_{J+} μ_j − Σ_{J-} μ_j for the average, made from training images and
judged on test images: Cov(y, ⟨w, x⟩)/‖w‖ is the radius in feature space at which one turns useless. Decisions: the sign
of the averaged feature, cut half way between the two classes; and the nearest class mean, which is a maximum of single
features ⟨μ_j, x⟩ − ‖μ_j‖²/2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from featavg.arrays import Array
from featavg.data import Dataset
from featavg.experiments import Expect, Quantity
from featavg.experiments.images.heads import HeadSetting, backbone_of_cifar, draw
from featavg.experiments.paper.usefulness import Usefulness, linear, mean_usefulness
from featavg.model import MulticlassNetwork, Network
from featavg.record import Column, Drawing, Table
from featavg.robustness import robust_radius

if TYPE_CHECKING:
    from torch import nn

COST = ("long", 60)
NEEDS = ("cifar10",)
prepare = backbone_of_cifar
SOURCE = "our formalisation of the talks, after Ilyas et al. 2019; on features"
KINDS = ("average", "single", "detection")
COORDS = {"kind": KINDS}
COLUMNS = {
    "rho": Quantity("ρ, usefulness for the labels", ("kind",)),
    "loss": Quantity("what γ loses per unit of radius", ("kind",)),
    "useless": Quantity("radius in feature space at which γ is 0", ("kind",)),
    "rho_gain": "difference of ρ",
    "single_ratio": "ratio of the feature-space radii at which γ is 0; 1/√10 = 0.316 on orthogonal clusters",
    "detection_ratio": "ratio of the feature-space radii at which γ is 0, own class and the rest as likely; "
    "√10/2 = 1.58 on orthogonal clusters",
    "average_accuracy": "test accuracy of the sign of the averaged feature",
    "nearest_accuracy": "test accuracy of the nearest class mean",
    "average_radius": "mean distance to the boundary of the averaged feature at points that both put right",
    "nearest_radius": "mean exact ℓ2 radius of the nearest class mean at points that both put right",
    "accuracy_gain": "difference of test accuracies, nearest class mean minus sign of the averaged feature",
    "radius_ratio": "ratio of mean exact ℓ2 radii in feature space at test points that both put right; √5 = 2.24 on "
    "orthogonal clusters",
}
CLAIMS = [
    Expect("rho_gain", "The averaged feature is more useful for the binary task than a single class feature.", SOURCE,
           expected=0.0, tolerance=0.0, relation="at least", because="more is more"),
    Expect("single_ratio",
           "A single class feature stays useful for the binary task longer than the average does.", SOURCE,
           expected=1.0, tolerance=0.0, relation="at least", because="longer is longer"),
    Expect("detection_ratio",
           "A single class feature detects its own class longer than the average its half of the classes.", SOURCE,
           expected=1.0, tolerance=0.0, relation="at least", because="longer is longer"),
    Expect("accuracy_gain",
           "Put together by a maximum, single class features decide the binary task better than the average.", SOURCE,
           expected=0.0, tolerance=0.0, relation="at least", because="better is better"),
    Expect("radius_ratio", "That decision is more robust than the average's.", SOURCE,
           expected=1.0, tolerance=0.0, relation="at least", because="larger is larger"),
]  # fmt: skip
DRAWINGS = [
    Drawing("curves", {"x": "radius", "y": "gamma"},
        caption="Robust usefulness γ of linear features over the ℓ2 radius in feature space, mean over draws of "
        "images. A single class feature is weak for the binary task and strong for its own class.",
        options={"labels": ["average", "single, binary task", "single, detection"], "x_label": "ℓ2 radius in features",
                 "y_label": "γ", "levels": [[0.0, "useless"]]}),
]  # fmt: skip
NOTES = [
    "Accuracy of the coarse decision: {mean[average_accuracy]:.3f} by the averaged feature, "
    "{mean[nearest_accuracy]:.3f} by the nearest class mean; mean radii at points that both put right "
    "{mean[average_radius]:.2f} and {mean[nearest_radius]:.2f}.",
]


@dataclass(frozen=True)
class Config(HeadSetting):
    """Draws of images; no head is trained."""

    test: int = 2000
    radius_points: int = 200
    curve_points: int = 60
    seeds: int = 10


def measure(config: Config, seed: int, case: nn.Module) -> dict[str, Any]:
    """Measure linear features and the two decisions over a draw of images."""
    drawn = draw(case, config, seed)
    useful = linear_features(drawn.data, drawn.test)
    average, single, detection = (useful[kind] for kind in KINDS)
    row = _decisions(drawn.data, drawn.test, config)
    return row | {
        "rho": [useful[kind].rho for kind in KINDS],
        "loss": [useful[kind].loss for kind in KINDS],
        "useless": [useful[kind].useless for kind in KINDS],
        "rho_gain": average.rho - single.rho,
        "single_ratio": single.useless / average.useless,
        "detection_ratio": detection.useless / average.useless,
        "accuracy_gain": row["nearest_accuracy"] - row["average_accuracy"],
        "radius_ratio": row["nearest_radius"] / row["average_radius"],
    }


def derive(config: Config, table: Table) -> Table:
    """γ over the radius, of the mean ρ and the mean loss."""
    radii = np.linspace(0, 1.1 * table.mean("useless").max(), config.curve_points)
    lines = [
        Usefulness(rho, loss).robust(radii) for rho, loss in zip(table.mean("rho"), table.mean("loss"), strict=True)
    ]
    return table.plus({"gamma": Column(np.stack(lines), ("kind", "radius"), "mean γ")}, {"radius": radii})


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


def notes(table: Table) -> list[str]:
    """How useful each kind is."""
    rho = ", ".join(f"{kind} {value:.3f}" for kind, value in zip(KINDS, table.mean("rho"), strict=True))
    return [f"Means of ρ over seeds: {rho}."]
