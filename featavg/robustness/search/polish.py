"""Incumbents: the nearest points of convex parts of the fooled set."""

from __future__ import annotations

import numpy as np

from featavg.arrays import Array
from featavg.robustness.proof.apart import apart
from featavg.robustness.proof.arithmetic import copy
from featavg.robustness.proof.compiled import borrowing, entry
from featavg.robustness.search.norms import nearest
from featavg.robustness.search.places import DISTANCE, LENGTH, Bench, Incumbent, Place, Space
from featavg.robustness.search.relaxation import fixed_pattern

MOST_PATTERNS = 20
# A row counts as closed where it exceeds 0 by less than this share of the terms that it is made of: the witness is
# pushed beyond it later.
CLOSED = 1e-12


@apart(entry)
def polish(space: Space, place: Place, low: Array, high: Array, z: Array, incumbent: Incumbent, bench: Bench) -> None:
    """Go to the nearest point of the convex part with the pattern at z, take the pattern there, while that helps."""
    guess, found = bench.guess, bench.polished
    copy(z, guess)
    for _ in range(MOST_PATTERNS):
        fixed_pattern(guess, low, high, bench.pattern)
        if not is_new(place, bench.pattern.slope, incumbent):
            return
        nearest(space, place, bench.pattern, guess, incumbent.radius[0], 0.0, bench, found)
        nearer = found.numbers[LENGTH] < incumbent.radius[0] and found.numbers[DISTANCE] < incumbent.radius[0]
        if not nearer or not reached(place, found.z, found.numbers[LENGTH]):
            return
        incumbent.radius[0] = found.numbers[LENGTH]
        copy(found.theta, incumbent.theta)
        copy(found.delta, incumbent.delta)
        copy(found.z, guess)


@borrowing
def reached(place: Place, z: Array, length: float) -> bool:
    """Whether all rows are closed at z, which belongs to a point at this distance."""
    for i in range(place.constants.size):
        value = place.constants[i]
        for j in range(z.size):
            value += place.rows[i, j] * max(z[j], 0.0)
        if value > CLOSED * (place.size[i] + place.rate[i] * length):
            return False
    return True


@borrowing
def is_new(place: Place, pattern: Array, incumbent: Incumbent) -> bool:
    """Whether the pattern of the subtracted neurons was not polished lately; remember it."""
    code = (np.uint64(14695981039346656037) ^ np.uint64(incumbent.salt[0])) * np.uint64(1099511628211)
    for j in range(pattern.size):
        on = False
        for i in range(place.constants.size if pattern[j] > 0.0 else 0):
            on = on or place.rows[i, j] < 0.0
        code = (code ^ np.uint64(2 * j + 1 if on else 2 * j)) * np.uint64(1099511628211)
    home = np.int64(code >> np.uint64(40)) % incumbent.tried.size
    stamp = np.int64(code & np.uint64(0x7FFFFFFFFFFFFFFF))
    fresh = incumbent.tried[home] != stamp
    incumbent.tried[home] = stamp
    return fresh
