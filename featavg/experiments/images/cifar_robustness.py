"""CIFAR-10, classes 0-4 against 5-9: do ten labels make a network more robust than two, attacked at the halves?"""

from __future__ import annotations

from dataclasses import dataclass

from featavg.experiments.images import expectations
from featavg.experiments.images.drawings import derive as derive
from featavg.experiments.images.drawings import drawings as drawings
from featavg.experiments.images.drawings import shared_notes
from featavg.experiments.images.expectations import COLUMNS as COLUMNS
from featavg.experiments.images.expectations import COORDS as COORDS
from featavg.experiments.images.pairs import ImageSetting, Pair
from featavg.experiments.images.pairs import measure as measure
from featavg.record import Table

COST = ("long", 5000)
NEEDS = ("cifar10",)
SOURCE = "Fig. 3 right"
# Robust accuracy read off the paper's Fig. 3 (right), radius by radius.
PUBLISHED = {
    "coarse": {0.0: 0.971, 0.08: 0.946, 0.16: 0.903, 0.24: 0.845, 0.32: 0.766, 0.40: 0.676, 0.48: 0.591, 0.56: 0.506,
               0.64: 0.429, 0.72: 0.367, 0.80: 0.312},
    "fine": {0.0: 0.984, 0.08: 0.967, 0.16: 0.942, 0.24: 0.904, 0.32: 0.854, 0.40: 0.792, 0.48: 0.722, 0.56: 0.650,
             0.64: 0.574, 0.72: 0.502, 0.80: 0.436},
}  # fmt: skip
CLAIMS = [
    expectations.published_gap(PUBLISHED, SOURCE, "normalised units"),
    expectations.median_gap(SOURCE),
    expectations.EQUAL_ACCURACY,
    *expectations.over_points(SOURCE),
    expectations.EARLY,
    expectations.agreement(SOURCE, "normalised units"),
    *expectations.SANITY,
]


@dataclass(frozen=True, kw_only=True)
class Config(ImageSetting):
    """ResNet-18 of base width 8 on all training images, shifted and mirrored."""

    data: str = "cifar10"
    task: str = "halves"
    images: int | None = None
    width: int = 8
    moments: tuple[int, ...] = (1, 2, 4, 6, 8, 10)
    learning_rate: float = 0.2
    reach: float = 1.5
    ball_radii: tuple[float, ...] = (0.05, 0.1, 0.15, 0.25)
    points: int = 200
    seeds: int = 3


def prepare(config: Config) -> Pair:
    """How both networks are made."""
    from featavg.deep import CIFAR10_MEAN, CIFAR10_STD, Recipe, ResNet18

    def module(outputs: int, shape: tuple[int, int, int], seed: int) -> ResNet18:
        return ResNet18(outputs, width=config.width, mean=CIFAR10_MEAN, std=CIFAR10_STD, seed=seed)

    def recipe(seed: int) -> Recipe:
        rate, epochs = config.learning_rate, config.moments[-1]
        return Recipe(epochs=epochs, batch_size=128, learning_rate=rate, warmup=0.25, crop=4, flip=True, seed=seed)

    std = sum(CIFAR10_STD) / len(CIFAR10_STD)
    return Pair(module, recipe, std, PUBLISHED, unit=std)


def notes(config: Config, table: Table, prepared: Pair) -> list[str]:
    """Task and training, then what holds of every image chapter."""
    return [
        f"Task: classes 0-4 against 5-9. ResNet-18 of base width {config.width} (the paper: full width), "
        f"{config.moments[-1]} epochs of a one-cycle schedule: before the end the learning rate is high, so the "
        "moments of training differ in more than time. Both networks of a seed start from that seed, but the size of "
        "the head enters the draw, so their first weights differ.",
        f"An interval over {config.seeds} seeds at the level of claims settles little; two claims are repeated with an "
        "interval over points, about these networks only.",
        *shared_notes(table, prepared),
    ]
