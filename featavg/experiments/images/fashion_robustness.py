"""Fashion-MNIST, even classes against odd: do ten labels make a network more robust than two, attacked there?"""

from __future__ import annotations

from dataclasses import dataclass

from featavg.experiments.images import expectations
from featavg.experiments.images.drawings import derive as derive
from featavg.experiments.images.drawings import drawings as drawings
from featavg.experiments.images.drawings import shared_notes
from featavg.experiments.images.expectations import COLUMNS as COLUMNS
from featavg.experiments.images.expectations import COORDS as COORDS
from featavg.experiments.images.networks import CnnSetting, cnn_pair
from featavg.experiments.images.pairs import Pair
from featavg.experiments.images.pairs import measure as measure
from featavg.record import Table

COST = ("long", 2600)
NEEDS = ("fashion-mnist",)
SOURCE = "Fig. 3, on other images"
MEAN, STD = 0.2860, 0.3530  # of the training pixels
TASK = "T-shirt, pullover, coat, shirt, bag (the even classes) against trouser, dress, sandal, sneaker, ankle boot"
CLAIMS = [
    expectations.median_gap(SOURCE),
    expectations.EQUAL_ACCURACY,
    expectations.EARLY,
    *expectations.TWO_LAYERS,
    *expectations.SANITY,
]


@dataclass(frozen=True, kw_only=True)
class Config(CnnSetting):
    """Classes 0, 2, 4, 6, 8 against 1, 3, 5, 7, 9."""

    data: str = "fashion-mnist"
    reach: float = 4.0
    ball_radii: tuple[float, ...] = (0.4, 0.8, 1.2, 1.6)


def prepare(config: Config) -> Pair:
    """How both networks are made."""
    return cnn_pair(config, MEAN, STD, {})


def notes(config: Config, table: Table, prepared: Pair) -> list[str]:
    """Task and training, then what holds of every image chapter."""
    return [config.note(TASK), *shared_notes(table, prepared)]
