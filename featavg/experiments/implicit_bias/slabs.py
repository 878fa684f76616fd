"""Slab data (Shah et al. 2020): a simple coordinate that decides by itself, among complex ones that do so too."""

from __future__ import annotations

import numpy as np

from featavg.arrays import Array, Bools
from featavg.data import Dataset, Labels

BOUND, GAP = 1.0, 0.1  # |coordinate| <= B, and slabs of different labels are 2g apart
WRONG = 0.1  # share of points whose linear coordinate is wrong in the noisy variant
# How likely a point of each label is in which slab, counted from the center: those of the public code. With equal
# chances the complex coordinates would have a mean |x| that tells the labels apart much sooner.
CHANCES = {
    5: {-1: {0: 3 / 4, 2: 1 / 4}, 1: {1: 1.0}},
    7: {-1: {0: 1 / 2, 2: 1 / 2}, 1: {1: 7 / 8, 3: 1 / 8}},
}


def linear_coordinate(positive: Bools, rng: np.random.Generator) -> Array:
    """y (g + (B − g) U): (sample,)."""
    size = GAP + (BOUND - GAP) * rng.random(len(positive))
    return np.where(positive, size, -size)


def slab_coordinate(positive: Bools, slabs: int, rng: np.random.Generator) -> Array:
    """A coordinate of 5 or 7 slabs of equal width, by turns negative and positive: (sample,).

    >>> x = slab_coordinate(np.array([True, False]), 5, np.random.default_rng(0))
    >>> bool(0.3 < abs(x[0]) < 0.6), bool(abs(x[1]) < 0.13 or abs(x[1]) > 0.7)
    (True, True)
    """
    width = (2 * BOUND - 2 * GAP * (slabs - 1)) / slabs
    place = np.zeros(len(positive), dtype=np.int64)
    for label, own in ((1, positive), (-1, ~positive)):
        chances = CHANCES[slabs][label]
        place[own] = rng.choice(list(chances), size=int(own.sum()), p=list(chances.values()))
    within = width * rng.random(len(positive))
    size = np.where(place == 0, within / 2, (place - 0.5) * width + 2 * GAP * place + within)
    return size * rng.choice([-1.0, 1.0], size=len(positive))


def slab_points(kind: str, dim: int, samples: int, rng: np.random.Generator) -> tuple[Array, Bools]:
    """Points (sample, dim) whose first coordinate is the simple one, and which are positive.

    `LMS-5` is a linear coordinate among five-slab ones, `MS-(5,7)` a five-slab coordinate among seven-slab ones, and
    `noisy LMS-5` is LMS-5 with the sign of the linear coordinate wrong at a tenth of the points.
    """
    positive = rng.random(samples) < 0.5
    linear = kind != "MS-(5,7)"
    first = linear_coordinate(positive, rng) if linear else slab_coordinate(positive, 5, rng)
    if kind == "noisy LMS-5":
        first *= np.where(rng.random(samples) < WRONG, -1, 1)
    others = [slab_coordinate(positive, 5 if linear else 7, rng) for _ in range(dim - 1)]
    return np.column_stack([first, *others]), positive


def labelled(x: Array, positive: Bools) -> Dataset:
    """Points with labels −1 and +1."""
    return Dataset(x, Labels.of(np.where(positive, 1, -1)))
