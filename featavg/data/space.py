"""Where points live: in all their coordinates, or in a basis of their own span."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from featavg.arrays import Array
from featavg.data import compact

Coordinates = Literal["ambient", "compact"]


@dataclass(frozen=True)
class Space:
    """A space of `dim` dimensions of which `axes` are stored; ambient coordinates store all."""

    dim: int  # d
    axes: int
    coordinates: Coordinates = "ambient"
    clusters: int = 0  # axes along the centers (compact coordinates)
    reserve: int = 0  # axes kept for initial weights (compact coordinates)
    complete: bool = True  # False for compact test points, whose part outside the basis is not stored

    def gaussian(self, count: int, rng: np.random.Generator) -> Array:
        """Draw `count` independent N(0, I_dim) vectors in these coordinates: (count, axis), the initial weights."""
        if self.coordinates == "ambient":
            return rng.standard_normal((count, self.axes))
        drawn = self.axes - self.clusters - self.reserve
        return compact.initial_directions(self.clusters, self.dim, drawn, self.reserve, count, rng)
