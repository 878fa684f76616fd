"""Descents of the margin inside balls of given radii: what PGD and APGD share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from featavg.arrays import Array, Bools, finite_vector
from featavg.errors import InputError
from featavg.robustness.attacks.base import Attack, Found
from featavg.robustness.attacks.checks import counted
from featavg.robustness.attacks.field import Field, whole_rows

# A point on the sphere must not fall out of the ball by the rounding of its length.
WITHIN = {"float32": 1 - 1e-5, "float64": 1 - 1e-12}


@dataclass(frozen=True, kw_only=True)
class BallDescent(Attack):
    """A descent inside balls of given radii, from x and from `restarts` random points of the ball.

    Every iterate is tested, not only the last. Radii are tried from the smallest to the largest, and a point that is
    fooled within one is fooled within all larger ones; `upper` is the shortest fooled perturbation. With `shorten` it
    is moved back along its ray to the boundary, which may lie below the smallest radius.
    """

    radii: Sequence[float] | float
    steps: int = 50
    restarts: int = 3
    shorten: bool = True
    seed: int = 0

    def __post_init__(self) -> None:
        radii = self._sorted_radii()
        if not len(radii) or radii[0] <= 0:
            raise InputError(f"radii must be one or more positive numbers, got {self.radii}")
        if self.steps < 1 or self.restarts < 0:
            raise InputError(f"need steps >= 1 and restarts >= 0, got {self.steps} and {self.restarts}")

    def _sorted_radii(self) -> list[float]:
        given = np.atleast_1d(np.asarray(self.radii, dtype=np.float64))
        return sorted(finite_vector(given, "radii").tolist())

    @property
    def reach(self) -> float:
        """The largest radius."""
        return self._sorted_radii()[-1]

    def search(self, field: Field) -> Found:
        """The first fooled point over all radii and starts."""
        rng, within = np.random.default_rng(self.seed), WITHIN[field.question.precision]
        best, flat = field.nothing, np.zeros(len(field), dtype=bool)
        for radius in self._sorted_radii():
            for start in range(1 + self.restarts):
                # Those that a smaller radius fooled have nothing to gain from a larger one.
                rows = np.flatnonzero(~whole_rows(best))
                if not len(rows):
                    break
                part = field.take(rows)
                noise = part.random(rng, radius * within)
                best[rows], stuck = self.descend(part, noise if start else part.at_rest, radius * within)
                flat[rows[stuck]] |= not start
        if self.shorten:
            rows = np.flatnonzero(whole_rows(best))
            part = field.take(rows)
            best[rows] = part.shorter(best[rows], part.first_along(best[rows]))
        dead = counted("dead start (all rival neurons off)", field.dead_starts())
        return Found(best, counted("zero gradient", flat) + dead)

    @abstractmethod
    def descend(self, field: Field, delta: Array, radius: float) -> tuple[Array, Bools]:
        """The first fooled iterate (NaN if none), and whether a zero gradient was met before."""
