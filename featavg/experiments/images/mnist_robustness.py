"""MNIST parity: do ten digits as labels make a network more robust than two, under attacks on the parity itself?"""

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
NEEDS = ("mnist",)
SOURCE = "Fig. 3 middle"
# Robust accuracy read off the paper's Fig. 3 (middle), radius by radius.
PUBLISHED = {
    "coarse": {0.0: 0.992, 0.2: 0.981, 0.4: 0.962, 0.6: 0.926, 0.8: 0.865, 1.0: 0.753, 1.2: 0.583, 1.4: 0.394,
               1.6: 0.237, 1.8: 0.128, 2.0: 0.069},
    "fine": {0.0: 0.996, 0.2: 0.988, 0.4: 0.978, 0.6: 0.958, 0.8: 0.928, 1.0: 0.878, 1.2: 0.803, 1.4: 0.695,
             1.6: 0.559, 1.8: 0.415, 2.0: 0.281},
}  # fmt: skip
CLAIMS = [
    expectations.published_gap(PUBLISHED, SOURCE, "pixels of [0, 1]"),
    expectations.median_gap(SOURCE),
    expectations.EQUAL_ACCURACY,
    expectations.EARLY,
    *expectations.TWO_LAYERS,
    expectations.agreement(SOURCE, "pixels of [0, 1]"),
    *expectations.SANITY,
]


@dataclass(frozen=True, kw_only=True)
class Config(CnnSetting):
    """Even digits against odd ones."""

    data: str = "mnist"
    reach: float = 4.0
    ball_radii: tuple[float, ...] = (0.5, 1.0, 1.5, 2.0)


def prepare(config: Config) -> Pair:
    """How both networks are made."""
    from featavg.deep import MNIST_MEAN, MNIST_STD

    return cnn_pair(config, MNIST_MEAN[0], MNIST_STD[0], PUBLISHED)


def notes(config: Config, table: Table, prepared: Pair) -> list[str]:
    """Task and training, then what holds of every image chapter."""
    return [config.note("even digits against odd ones"), *shared_notes(table, prepared)]
