"""Coarse against fine labels on real images (paper, Fig. 3 middle and right), attacked at the binary decision.

Shared by the claims about MNIST, Fashion-MNIST and CIFAR-10. One seed trains a pair: a network with one logit on the
coarse labels and one with ten on the fine labels, of one architecture, start seed, recipe, and set of images. The
ten-class network is read out by summed probabilities; attacks lower the margin of that decision, its logsumexp
difference. Radii are ℓ2 in pixels of [0, 1], perturbed images stay in that box.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from featavg.arrays import Array, Ints
from featavg.data.images import Part, coarse_task, load_pixels
from featavg.experiments import Progress, record_of
from featavg.experiments._images.attacks import battery, control, example_images, minimal_radii, universal_images
from featavg.experiments._images.drawings import curves_of, drawings
from featavg.experiments._images.gaps import NETWORKS, Found, Published
from featavg.experiments._images.pixels import two_layer
from featavg.record import Claim, Record
from featavg.robustness import RadiusBracket
from featavg.threads import one_thread

if TYPE_CHECKING:
    from torch import Tensor, nn

    from featavg.deep import DeepQuestion, Recipe


PICTURES = ("examples", "universal")  # of the first seed alone


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
    points: int = 200  # test images a seed, drawn by it, the same for both networks
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
    def radii(self) -> Array:
        """The grid of the curves: (radius,)."""
        return np.linspace(0.0, self.reach, self.grid)


@dataclass(frozen=True)
class Subject:
    """What a claim brings beside its configuration."""

    module: Callable[[int, tuple[int, int, int], int], nn.Module]  # outputs, shape of an image, seed
    recipe: Callable[[int], Recipe]  # seed
    std: float  # of the pixels, mean over channels: a radius in normalised units is one in pixels divided by it
    published: Published  # empty if there is none


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


def measure(config: ImageSetting, subject: Subject, progress: Progress) -> Found:
    """Train and attack a pair of networks for each seed: arrays whose first axis is the seed, and pictures of one."""
    train, test = _load(config, "train"), _load(config, "test")
    rows: list[Found] = []
    for number in range(config.seeds):

        def tell(done: float, what: str, number: int = number) -> None:
            progress((number + done) / config.seeds, f"seed {config.first_seed + number}, {what}")

        with one_thread():
            rows.append(_measure_seed(config, subject, train, test, config.first_seed + number, tell))
        tell(1.0, "done")
    pictures = {name: rows[0][name] for name in PICTURES}
    return {name: np.stack([row[name] for row in rows]) for name in rows[0] if name not in PICTURES} | pictures


def image_record(
    config: ImageSetting, subject: Subject, found: Found, claims: Sequence[Claim], notes: Sequence[str]
) -> Record:
    """Return the record of what `measure` found."""
    arrays: dict[str, Any] = {name: values.astype(np.float32) for name, values in found.items() if name != "flags"}
    arrays |= curves_of(config, subject, found)
    return record_of(
        config,
        claims=claims,
        arrays=arrays,
        drawings=drawings(config, subject, arrays),
        notes=[*notes, *_notes(config, subject, found)],
    )


def _notes(config: ImageSetting, subject: Subject, found: Found) -> list[str]:
    said = [f"seed {config.first_seed + number}: {flags}" for number, flags in enumerate(found["flags"]) if str(flags)]
    clean = {kind: 100 * found[f"{kind}_clean"][:, -1].mean() for kind in NETWORKS}
    return [
        f"Clean accuracy of the binary decision on all test images at the end: coarse {clean['coarse']:.2f} %, fine "
        f"{clean['fine']:.2f} %, mean over seeds.",
        "Every curve of the deep networks is an upper bound of robust accuracy: what no attack here turned may still "
        f"be turned. A radius in normalised units is one in pixels divided by {subject.std:.4g}, the standard "
        "deviation of the training pixels, mean over channels.",
        "Equal clean accuracy: the network that ends less accurate is taken at its end, the other one back to when it "
        "first had that accuracy on all test images, between two kept moments in proportion to accuracy; both at the "
        "coarse network's median radius at the end. matched_left is the difference of accuracy that remains where the "
        "other one was more accurate already at the first moment.",
        "What the attacks say against themselves: " + ("; ".join(said) or "nothing") + ".",
    ]


def _load(config: ImageSetting, part: Part) -> Images:
    from featavg.deep import channels_first

    pixels, cluster = load_pixels(config.data, part)
    # Bytes of the embedded digits go to 16 instead of 255.
    x = channels_first(pixels / np.float32(16) if config.data == "digits" else pixels)
    return Images(x, cluster, coarse_task(config.task, "0123456789")[cluster])


def _measure_seed(
    config: ImageSetting, subject: Subject, train: Images, test: Images, seed: int, tell: Callable[[float, str], None]
) -> Found:
    learned, points = train.draw(config.images, seed), test.draw(config.points, seed)
    for number, kind in enumerate(NETWORKS):

        def told(done: float, total: float, number: int = number, kind: str = kind) -> None:
            tell(0.25 * (number + done / total), f"training on {kind} labels")

        _train(config, subject, learned, kind, seed, told)
    tell(0.5, "all attacks at the end of training")
    reference = learned.first(config.references)
    ends = {
        kind: _question(config, _network(config, subject, learned, kind, seed, config.moments[-1]), points)
        for kind in NETWORKS
    }
    brackets = battery(config, ends, reference)
    found: Found = {"flags": np.array(_flags(brackets))}
    for kind in NETWORKS:
        found |= {f"{kind}_{name}": bracket.upper for name, bracket in brackets[kind].items()}
    few = points.first(config.control_points)
    found["control"] = control(config, _question(config, ends["fine"].module, few), few.cluster)
    found["examples"] = example_images({kind: brackets[kind]["best"] for kind in NETWORKS})
    found["universal"] = universal_images(ends, reference)
    for number, kind in enumerate(NETWORKS):
        tell(0.8 + 0.08 * number, f"the {kind} network over training time")
        networks = [_network(config, subject, learned, kind, seed, epoch) for epoch in config.moments]
        found[f"{kind}_clean"] = np.array([_clean_accuracy(config, network, test) for network in networks])
        early = [_question(config, network, points.first(config.time_points)) for network in networks[:-1]]
        last = found[f"{kind}_minimal_norm"][: config.time_points]
        found[f"{kind}_over_time"] = np.stack([*(minimal_radii(config, question) for question in early), last])
    if config.marks:
        tell(0.95, "exact radii of two-layer networks")
        found |= two_layer(config, seed)
    return found


def _network(config: ImageSetting, subject: Subject, images: Images, kind: str, seed: int, epoch: int) -> nn.Module:
    from featavg.deep.kept import after_epoch

    return after_epoch(_name(config, kind, seed), _module(subject, images, kind, seed), epoch)


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


def _module(subject: Subject, images: Images, kind: str, seed: int) -> nn.Module:
    channels, height, width = images.x.shape[1:]
    return subject.module(1 if kind == "coarse" else 10, (channels, height, width), seed)


def _name(config: ImageSetting, kind: str, seed: int) -> str:
    return f"{config.data}-{config.task}-{kind}-{seed}"


def _train(
    config: ImageSetting,
    subject: Subject,
    images: Images,
    kind: str,
    seed: int,
    progress: Callable[[float, float], None],
) -> None:
    from featavg.deep.kept import trained

    labels = images.y if kind == "coarse" else images.cluster
    module = _module(subject, images, kind, seed)
    recipe, name = subject.recipe(seed), _name(config, kind, seed)
    trained(name, module, images.x, labels, recipe, keep=config.moments, progress=progress)


def _readout(config: ImageSetting, module: nn.Module) -> dict[str, Any]:
    """One logit is read by its sign, ten by summed probabilities."""
    if module.head.out_features == 1:  # type: ignore[union-attr]
        return {"readout": "sign"}
    return {"readout": "summed-probabilities", "class_labels": coarse_task(config.task, "0123456789")}


def _question(config: ImageSetting, module: nn.Module, images: Images) -> DeepQuestion:
    from featavg.deep import ask_deep

    return ask_deep(module, images.x, images.y, **_readout(config, module))


def _clean_accuracy(config: ImageSetting, module: nn.Module, images: Images) -> float:
    """The share of all test images whose binary decision is right."""
    import torch

    from featavg.deep.images import outputs_of
    from featavg.deep.readouts import margins_of

    margins = margins_of(outputs_of(module, images.x), torch.from_numpy(images.y), **_readout(config, module))
    return float((margins > 0).double().mean())
