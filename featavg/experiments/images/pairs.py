"""Coarse against fine labels on real images (paper, Fig. 3 middle and right), attacked at the binary decision.

Shared by the claims about MNIST, Fashion-MNIST and CIFAR-10. One seed trains a pair: a network with one logit on the
coarse labels and one with ten on the fine labels, of one architecture, start seed, recipe, and set of images. The
ten-class network is read out by summed probabilities; attacks lower the margin of that decision, its logsumexp
difference. Radii are ℓ2 in pixels of [0, 1], perturbed images stay in that box.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from featavg.arrays import Array, Ints
from featavg.data import Part, coarse_task, image_set, load_pixels
from featavg.experiments.images.attacks import (
    ATTACKS,
    battery,
    control,
    example_images,
    minimal_radii,
    universal_images,
)
from featavg.experiments.images.gaps import NETWORKS, Published
from featavg.experiments.images.pixels import two_layer
from featavg.progress import Progress, part
from featavg.robustness import RadiusBracket

if TYPE_CHECKING:
    from torch import Tensor, nn

    from featavg.deep import DeepQuestion, Recipe


@dataclass(frozen=True, kw_only=True)
class ImageSetting:
    """What a seed trains and how it is attacked; ℓ2 radii in pixels of [0, 1]."""

    data: str
    task: str  # which classes are +1: parity or halves
    images: int | None  # training images, drawn anew for each seed; all if None
    moments: tuple[int, ...]  # epochs after which both networks are attacked; the last is the end
    reach: float  # the largest radius of the curves
    ball_radii: tuple[float, ...]  # at which PGD looks
    grid: int = 81
    points: int = 200  # test images per seed, drawn by it, the same for both networks
    time_points: int = 100  # so many of them before the end
    control_points: int = 50  # so many for the attack on 10-way cross-entropy
    references: int = 500  # training images that give walks their starts and directions their means
    steps: int = 60  # of the minimal-norm attack
    ball_steps: int = 40  # of PGD, which starts at x and at one random point
    neurons: int = 100  # of the two-layer networks on raw pixels
    marks: tuple[int, ...] = ()  # steps after which their radii are computed; none: no such networks
    exact_points: int = 60
    seeds: int = 8
    first_seed: int = 0

    @property
    def last_mark(self) -> int:
        """The last step of the two-layer networks."""
        return self.marks[-1]

    @property
    def radii(self) -> Array:
        """The grid of the curves: (radius,)."""
        return np.linspace(0.0, self.reach, self.grid)


@dataclass(frozen=True)
class Pair:
    """How the two networks of a seed are made, and what is published about them."""

    module: Callable[[int, tuple[int, int, int], int], nn.Module]  # outputs, shape of an image, seed
    recipe: Callable[[int], Recipe]  # seed
    std: float  # of the pixels, mean over channels: a radius in normalised units is one in pixels divided by it
    published: Published  # empty if there is none
    unit: float = 1.0  # of the published radii, in pixels


@dataclass(frozen=True)
class Images:
    """Images with fine and coarse labels."""

    x: Tensor  # (sample, channel, height, width)  bytes, or floats in [0, 1]
    cluster: Ints  # (sample,)
    y: Ints  # (sample,)

    def draw(self, count: int | None, seed: int) -> Images:
        """`count` of them, by seed; all of them if None."""
        if count is None:
            return self
        rows = np.sort(np.random.default_rng(seed).permutation(len(self.y))[:count])
        return Images(self.x[rows], self.cluster[rows], self.y[rows])

    def first(self, count: int) -> Images:
        """The first of them."""
        return Images(self.x[:count], self.cluster[:count], self.y[:count])


def load(data: str, task: str, part: Part) -> Images:
    """All images of a part, with both labels."""
    from featavg.deep import channels_first

    pixels, cluster = load_pixels(data, part)
    brightest = image_set(data).brightest
    x = channels_first(pixels if brightest == 255 else pixels / np.float32(brightest))
    return Images(x, cluster, coarse_task(task, "0123456789")[cluster])


def measure(config: ImageSetting, seed: int, case: Pair, progress: Progress) -> dict[str, Any]:
    """Train a pair of networks, and attack both at the end and over training time."""
    learned = load(config.data, config.task, "train").draw(config.images, seed)
    test = load(config.data, config.task, "test")
    points = test.draw(config.points, seed)
    for number, kind in enumerate(NETWORKS):
        tell = part(progress, 0.25 * number, 0.25 * (number + 1))
        fitted(_name(config, kind, seed), case, learned, kind, seed, tell, keep=config.moments)
    progress(0.5, "all attacks at the end of training")
    networks = {
        kind: [_network(config, case, learned, kind, seed, epoch) for epoch in config.moments] for kind in NETWORKS
    }
    ends = {kind: question(config.task, networks[kind][-1], points) for kind in NETWORKS}
    reference, few = learned.first(config.references), points.first(config.control_points)
    brackets = battery(config, ends, reference)
    upper = np.array([[brackets[kind][attack].upper for attack in ATTACKS] for kind in NETWORKS])
    found = {
        "upper": upper,
        "control": control(config, question(config.task, networks["fine"][-1], few), few.cluster),
        "flags": _flags(brackets),
        "examples": example_images({kind: brackets[kind]["best"] for kind in NETWORKS}),
        "universal": universal_images(ends, reference),
        "clean": [[clean_accuracy(config.task, network, test) for network in networks[kind]] for kind in NETWORKS],
    }
    progress(0.8, "over training time")
    early = points.first(config.time_points)
    found["over_time"] = [
        [*(minimal_radii(config, question(config.task, network, early)) for network in networks[kind][:-1]),
         upper[i, ATTACKS.index("minimal_norm"), : config.time_points]]
        for i, kind in enumerate(NETWORKS)
    ]  # fmt: skip
    if config.marks:
        progress(0.95, "exact radii of two-layer networks")
        found |= two_layer(config, seed)
    # In single precision, as it is kept, so that everything derived follows from what is in the record.
    return {name: value if name == "flags" else np.asarray(value, np.float32) for name, value in found.items()}


def _network(config: ImageSetting, pair: Pair, images: Images, kind: str, seed: int, epoch: int) -> nn.Module:
    from featavg.deep import after_epoch

    return after_epoch(_name(config, kind, seed), _module(pair, images, kind, seed), epoch)


def _flags(brackets: Mapping[str, Mapping[str, RadiusBracket]]) -> str:
    """What attacks say against themselves, but that PGD stops at its largest radius and that not all transfers."""
    said = [
        f"{kind}, {flag}"
        for kind in NETWORKS
        for name, bracket in brackets[kind].items()
        if name != "best"
        for flag in bracket.flags
        if "nothing found" not in flag and "no witness" not in flag
    ]
    return ", ".join(said)


def _module(pair: Pair, images: Images, kind: str, seed: int) -> nn.Module:
    channels, height, width = images.x.shape[1:]
    return pair.module(1 if kind == "coarse" else 10, (channels, height, width), seed)


def _name(config: ImageSetting, kind: str, seed: int) -> str:
    return f"{config.data}-{config.task}-{kind}-{seed}"


def fitted(
    name: str, pair: Pair, images: Images, kind: str, seed: int, progress: Progress, keep: Collection[int] = ()
) -> nn.Module:
    """The network of a pair on coarse or fine labels, from the cache as far as it is there under this name."""
    from featavg.deep import trained

    def tell(done: float, total: float) -> None:
        progress(done / total, f"training on {kind} labels")

    labels = images.y if kind == "coarse" else images.cluster
    module = _module(pair, images, kind, seed)
    return trained(name, module, images.x, labels, pair.recipe(seed), keep=keep, progress=tell).module


def _readout(task: str, module: nn.Module) -> dict[str, Any]:
    """One logit is read by its sign, ten by summed probabilities."""
    if module.head.out_features == 1:  # type: ignore[union-attr]
        return {"readout": "sign"}
    return {"readout": "summed-probabilities", "class_labels": coarse_task(task, "0123456789")}


def question(task: str, module: nn.Module, images: Images) -> DeepQuestion:
    """How far each image is from another binary decision."""
    from featavg.deep import ask_deep

    return ask_deep(module, images.x, images.y, **_readout(task, module))


def clean_accuracy(task: str, module: nn.Module, images: Images) -> float:
    """The share of images whose binary decision is right."""
    from featavg.deep import decision_of, outputs_of

    outputs = outputs_of(module, images.x).double().numpy()
    decision = decision_of(outputs.shape[1], **_readout(task, module))
    return float(np.mean(decision.margins(outputs, (images.y + 1) // 2) > 0))
