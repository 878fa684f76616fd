"""Labelled points: what any network is trained and judged on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from featavg.arrays import Array, Ints

Coordinates = Literal["ambient", "compact"]


@dataclass(frozen=True)
class Points:
    """Points with a coarse label and a fine one."""

    x: Array  # (sample, axis)
    y: Ints  # (sample,)  coarse label, -1 or +1
    cluster: Ints  # (sample,)  fine label, 0 ... clusters - 1

    @property
    def coordinates(self) -> Coordinates:
        """In which basis `x` is written: the `ambient` one, or the `compact` one of a cluster sample."""
        return "ambient"

    @property
    def dim(self) -> int:
        """d, the dimension of the space the points live in."""
        return int(self.x.shape[1])

    def gaussian(self, count: int, rng: np.random.Generator) -> Array:
        """Draw `count` independent N(0, I_dim) vectors in these coordinates: (count, axis)."""
        return rng.standard_normal((count, self.x.shape[1]))

    def __len__(self) -> int:
        return len(self.x)
