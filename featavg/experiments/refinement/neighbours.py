"""k nearest neighbours, and an attack on them: no exact search is known here, so all bounds are upper ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from featavg.arrays import Array, Bools, Ints

BISECTIONS = 12
AIMS = 5


@dataclass(frozen=True)
class Neighbours:
    """The class, 0 or 1, of most of the k nearest points."""

    x: Array  # (sample, axis)
    codes: Ints  # (sample,)
    k: int

    def predict(self, points: Array) -> Ints:
        """The coarse class of points (point, axis)."""
        squares = (self.x**2).sum(axis=1) - 2 * points @ self.x.T
        closest = np.argpartition(squares, self.k - 1, axis=1)[:, : self.k]
        return (2 * self.codes[closest].sum(axis=1) > self.k).astype(np.int64)

    def attack(self, points: Array, codes: Ints) -> Array:
        """Upper bounds of the radii (point,): the shortest flip on the ways to points of the other class, 0 for errors.

        The aims of a point are means of the k points nearest to one of its five nearest points of the other class,
        taken from that class; on the way there the first half that flips is halved again.
        """
        found: Array = np.where(self.predict(points) == codes, np.inf, 0.0)
        for rank in range(AIMS):
            away = self._aims(points, codes, rank) - points
            flips = self.predict(points + away) != codes
            share = self._first_flip(points, away, codes)
            found = np.where(flips, np.minimum(found, share * np.linalg.norm(away, axis=1)), found)
        return found

    def _aims(self, points: Array, codes: Ints, rank: int) -> Array:
        aims = np.empty_like(points)
        for code in (0, 1):
            others = self.x[self.codes != code]
            mine: Bools = codes == code
            if not mine.any():
                continue
            squares = (others**2).sum(axis=1) - 2 * points[mine] @ others.T
            first = others[np.argsort(squares, axis=1)[:, rank]]
            around = (others**2).sum(axis=1) - 2 * first @ others.T
            aims[mine] = others[np.argpartition(around, self.k - 1, axis=1)[:, : self.k]].mean(axis=1)
        return aims

    def _first_flip(self, points: Array, away: Array, codes: Ints) -> Array:
        low, high = np.zeros(len(points)), np.ones(len(points))
        for _ in range(BISECTIONS):
            middle = 0.5 * (low + high)
            flipped = self.predict(points + middle[:, None] * away) != codes
            low, high = np.where(flipped, low, middle), np.where(flipped, middle, high)
        return high
