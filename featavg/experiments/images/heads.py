"""Heads on frozen features: drawn, trained and measured in the same way for every backbone (paper, Fig. 2 c, d)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from featavg.analysis import averaging_index, cosines, equivalent_weights
from featavg.arrays import Array, Bools
from featavg.data import Dataset, load_images
from featavg.experiments import Quantity
from featavg.model import Network
from featavg.record import Drawing
from featavg.refine import Averages, averages, centred_means
from featavg.robustness import robust_radius
from featavg.threads import one_thread
from featavg.training import GradientDescent, Trajectory, train

if TYPE_CHECKING:
    from torch import nn


TASK = "halves"  # classes 0-4 against 5-9, the paper's coarse task on CIFAR-10
HEAD_SEED = 20_000  # added to the seed of the images


@dataclass(frozen=True)
class HeadSetting:
    """How many images a seed draws, and how heads are trained on their features.

    The paper states neither rate, nor steps, nor scale. Features have no natural unit, so both are relative to their
    mean square: step size η = rate/E‖x‖², and initial weights from N(0, scale²/E‖x‖²).
    """

    images: str = "cifar10"
    train: int = 2000
    test: int = 500
    steps: int = 1000
    rate: float = 3.0
    radius_points: int = 60
    seeds: int = 5
    first_seed: int = 0


@dataclass(frozen=True)
class Sample:
    """The images of one seed, as pixels and as features."""

    data: Dataset  # heads are trained on
    test: Dataset  # heads are judged on
    images: Dataset  # those of `test`


@dataclass(frozen=True)
class Heads:
    """A coarse and a fine head that were trained on the same features with the same rule."""

    coarse: Network
    fine: Network


# What the functions below return for one seed; chapters add what they make of it.
COSINES: dict[str, str | Quantity] = {
    "coarse_cosines": Quantity("cosine of equivalent weights with mean features, coarse head", ("group", "class")),
    "fine_cosines": Quantity("cosine of equivalent weights with mean features, fine head", ("group", "class")),
    "same": "mean same-class cosine of equivalent weights (means of 3 of 15 + 15 neurons)",
    "cross": "mean other-class cosine of equivalent weights",
    "diagonal": "mean diagonal cosine of equivalent weights (means of 3 neurons) with mean features",
    "off": "mean off-diagonal cosine",
}
INDEX = (
    "median index of live neurons against centred features, small start; p = {{median[{}]:.2g}} in the median over "
    "seeds"
)
AVERAGING: dict[str, str | Quantity] = {
    "coarse_index": INDEX.format("coarse_p"),
    "fine_index": INDEX.format("fine_p"),
    "coarse_p": "p-value of the coarse head's live neurons",
    "fine_p": "p-value of the fine head's live neurons",
    "coarse_raw_index": "median index against features that are not centred, coarse head",
    "fine_raw_index": "median index against features that are not centred, fine head",
}
RADII: dict[str, str | Quantity] = {
    "coarse_radius": Quantity("exact ℓ2 radius of the coarse head in feature space", ("point",)),
    "fine_radius": Quantity("exact ℓ2 radius of the fine head (maximum read-out) in feature space", ("point",)),
    "coarse_mean": "mean radius of the coarse head at points that both put right",
    "fine_mean": "mean radius of the fine head at points that both put right",
    "ratio": "mean exact ℓ2 radius of the coarse decision, fine head (maximum read-out) over coarse head, at test "
    "points that both put right; coarse accuracy of the two: {percent[coarse_accuracy]:.0f} %, "
    "{percent[fine_accuracy]:.0f} %",
    "exact": "share of radii that are exact",
}
ACCURACY: dict[str, str | Quantity] = {
    "coarse_accuracy": "test accuracy of the coarse head",
    "fine_accuracy": "test accuracy of the fine head on the coarse task, maximum read-out",
    "class_accuracy": "test accuracy of the fine head in all classes",
}


def backbone_of_cifar() -> nn.Module:
    """The backbone that ships with the package; chapters import it as their `prepare`."""
    from featavg.deep import cifar_backbone

    return cifar_backbone()


def draw(backbone: nn.Module, setting: HeadSetting, seed: int) -> Sample:
    """Draw images of this seed and send them through the backbone."""
    from featavg.deep import channels_first, extract_features, feature_data

    parts, found = (("train", setting.train), ("test", setting.test)), []
    drawn = [load_images(setting.images, part, TASK, samples=samples, seed=seed) for part, samples in parts]  # type: ignore[arg-type]
    for images in drawn:
        with one_thread():
            features = extract_features(backbone, channels_first(images.images), batch=100)
        found.append(feature_data(features, images.cluster, images.center_labels))
    return Sample(found[0], found[1], drawn[1])


def head_paths(
    data: Dataset, setting: HeadSetting, scale: float, seed: int, moments: Sequence[int]
) -> tuple[Trajectory, Trajectory]:
    """Train the paper's two heads of 30 neurons, 15 + 15 for the coarse labels and 3 per class for the fine ones."""
    from featavg.deep import coarse_head, fine_head

    square = float((data.x**2).sum(axis=1).mean())
    rule = GradientDescent(steps=moments[-1], step_size=setting.rate / square)
    start: dict[str, Any] = {"seed": HEAD_SEED + seed, "scale": scale / np.sqrt(square)}
    coarse, fine = (train(head(data, **start), data, rule, save_at=moments) for head in (coarse_head, fine_head))
    return coarse, fine


def trained_heads(data: Dataset, setting: HeadSetting, scale: float, seed: int) -> Heads:
    """Both heads at the end of training."""
    return Heads(*(path.final for path in head_paths(data, setting, scale, seed, [setting.steps])))


def feature_cosines(network: Network, data: Dataset) -> Array:
    """Cosines of the equivalent weights, means of groups of neurons, with the class features: (class, class)."""
    return cosines(equivalent_weights(network, data.clusters), data.centers)


def live_neurons(network: Network, data: Dataset) -> Bools:
    """Which neurons are on at some training point of the class they speak for: (neuron,).

    The others are never told to grow: all that their class asks for passes them by.
    """
    active = network.preactivations(data.x) > 0
    labels = network.targets(data)
    return np.array([active[labels == s, r].any() for r, s in enumerate(network.neuron_class)])


def averages_of(network: Network, data: Dataset) -> Averages:
    """Index and p-value of the live neurons against centred class features.

    Features behind a ReLU share a large mean, which every neuron holds; what tells classes apart is the rest.
    """
    live = live_neurons(network, data)
    fine = network.output_count > 1
    classes = data.center_labels[network.neuron_class] if fine else network.neuron_class
    centers = centred_means(data.x, data.cluster)
    return averages(network.weights[live], classes[live], np.ones(int(live.sum())), centers, data.center_labels)


def raw_index(network: Network, data: Dataset) -> float:
    """Median averaging index of the neurons against the class features as they are, not centred."""
    return float(np.nanmedian(averaging_index(network, data)))


def cosine_blocks(heads: Heads, data: Dataset) -> dict[str, Any]:
    """Cosines of equivalent weights with class features, and the means of the blocks that the paper shows."""
    coarse, fine = feature_cosines(heads.coarse, data), feature_cosines(heads.fine, data)
    same, own = data.center_labels[:, None] == data.center_labels, np.eye(data.clusters, dtype=bool)
    return {
        "coarse_cosines": coarse,
        "fine_cosines": fine,
        "same": coarse[same].mean(),
        "cross": coarse[~same].mean(),
        "diagonal": fine[own].mean(),
        "off": fine[~own].mean(),
    }


def averaging_of(heads: Heads, data: Dataset) -> dict[str, Any]:
    """Averaging index and p-value of the live neurons of both heads."""
    coarse, fine = averages_of(heads.coarse, data), averages_of(heads.fine, data)
    return {
        "coarse_index": coarse.median_index,
        "fine_index": fine.median_index,
        "coarse_p": coarse.p_value,
        "fine_p": fine.p_value,
        "coarse_raw_index": raw_index(heads.coarse, data),
        "fine_raw_index": raw_index(heads.fine, data),
    }


def head_radii(heads: Heads, test: Dataset, points: int) -> dict[str, Any]:
    """Exact ℓ2 radii in feature space of the first `points` test points: the coarse decision of both heads.

    The fine head decides by the maximum read-out. Both are compared at points that both put right.
    """
    x, y = test.x[:points], test.y[:points]
    coarse = robust_radius(heads.coarse, x, y, proofs=False)
    fine = robust_radius(heads.fine, x, y, readout="maximum", proofs=False)
    both = (coarse.upper > 0) & (fine.upper > 0)
    exact = np.array([[status == "exact" for status in found.status] for found in (coarse, fine)])
    return {
        "coarse_radius": coarse.upper,
        "fine_radius": fine.upper,
        "coarse_mean": coarse.upper[both].mean(),
        "fine_mean": fine.lower[both].mean(),
        "ratio": fine.lower[both].mean() / coarse.upper[both].mean(),
        "exact": exact.mean(),
    }


def accuracies(heads: Heads, test: Dataset) -> dict[str, float]:
    """Shares of test points that are put right: coarse head, fine head as a binary one, fine head in all classes."""
    return {
        "coarse_accuracy": float(np.mean(heads.coarse.predict(test.x) == test.y)),
        "fine_accuracy": float(np.mean(heads.fine.predict_binary(test.x, "maximum") == test.y)),
        "class_accuracy": float(np.mean(heads.fine.predict(test.x) == test.cluster)),
    }


def cosine_map(column: str, caption: str) -> Drawing:
    """The heat map of a column of cosines (group, class), mean over seeds."""
    rows = "group of neurons" if "coarse" in column else "class"
    options = {"row_blocks": [5], "column_blocks": [5], "columns": "class feature", "rows": rows}
    return Drawing("heatmap", {"values": column}, caption=caption, options=options)
