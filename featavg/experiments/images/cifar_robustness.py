"""CIFAR-10, classes 0-4 against 5-9: do ten labels make a network more robust than two, attacked at the halves?"""

from __future__ import annotations

from dataclasses import dataclass

from featavg.experiments.images import expectations
from featavg.experiments.images.drawings import derive as derive
from featavg.experiments.images.drawings import drawings as drawings
from featavg.experiments.images.drawings import shared_notes
from featavg.experiments.images.expectations import COLUMNS as COLUMNS
from featavg.experiments.images.expectations import COORDS as COORDS
from featavg.experiments.images.networks import PUBLISHED, resnet_pair
from featavg.experiments.images.pairs import ImageSetting, Pair
from featavg.experiments.images.pairs import measure as measure
from featavg.record import Table

COST = ("long", 5000)
NEEDS = ("cifar10",)
SOURCE = "Fig. 3 right"
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
    return resnet_pair(config.width, config.learning_rate, config.moments[-1])


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
