"""Incumbents for summed probabilities: to the linearised boundary, again and again, then back along the ray."""

from __future__ import annotations

import numpy as np

from featavg.arrays import Array
from featavg.robustness.proof.apart import apart
from featavg.robustness.proof.arithmetic import clear, copy
from featavg.robustness.proof.compiled import borrowing, inner
from featavg.robustness.search.norms import nearest
from featavg.robustness.search.places import DISTANCE, LENGTH, Bench, Incumbent, Place, Solution, Space
from featavg.robustness.search.tangents import margin

STEPS = 20
HALVINGS = 50


@apart(inner)
def walk(space: Space, place: Place, z: Array, incumbent: Incumbent, bench: Bench) -> None:
    """Newton's method for the nearest point with margin 0, from z on; keep it if it beats the incumbent."""
    here, found, linear = place.slack, bench.polished, bench.pattern
    copy(z, here)
    for _ in range(STEPS):
        tangent_row(space, place, here, linear.slope)
        for j in range(z.size):
            linear.convex[j], linear.lift[j] = False, 0.0
        nearest(space, place, linear, here, np.inf, 0.0, bench, found)
        if found.numbers[DISTANCE] <= 0.0 or found.numbers[LENGTH] > 2.0 * incumbent.radius[0]:
            break
        moved = size = 0.0
        for j in range(z.size):
            moved = max(moved, abs(found.z[j] - here[j]))
            size = max(size, abs(found.z[j]))
        shorten(place, found, incumbent)
        copy(found.z, here)
        if moved <= 1e-9 * size:
            break


@inner
def tangent_row(space: Space, place: Place, z: Array, pattern: Array) -> None:
    """Write the row that is the margin's tangent at z, where the neurons are on or off as there."""
    value, row = margin(place, z), place.rows[0]
    clear(row)
    for o in range(place.role.size):
        for j in range(z.size):
            row[j] += place.mix[o] * place.outputs[o, j]
    place.rate[0] = 0.0
    size = abs(value)
    for j in range(z.size):
        pattern[j] = 1.0 if z[j] > 0.0 else 0.0
        value -= row[j] * max(z[j], 0.0)
        size += abs(row[j] * place.start[j])
        place.rate[0] += abs(row[j]) * space.norms[j]
    place.constants[0], place.size[0] = value, size


@apart(inner)
def shorten(place: Place, found: Solution, incumbent: Incumbent) -> None:
    """The first fooled point on the ray to z, at most twice as far; keep it if it beats the incumbent."""
    ahead, z, length = place.average, found.z, found.numbers[LENGTH]
    stop = np.inf
    for share in (1.0, 1.0 + 1e-9, 1.0 + 1e-6, 1.001, 1.01, 1.1, 2.0):
        if share * length < incumbent.radius[0] * (1.0 + 1e-9) and stop == np.inf and fits(place, found.delta, share):
            go(place, z, share, ahead)
            stop = share if margin(place, ahead) <= 0.0 else np.inf
    if stop == np.inf or not length > 0.0:
        return
    start = 0.0
    for _ in range(HALVINGS):
        middle = 0.5 * (start + stop)
        go(place, z, middle, ahead)
        if margin(place, ahead) <= 0.0:
            stop = middle
        else:
            start = middle
    if stop * length < incumbent.radius[0]:
        incumbent.radius[0] = stop * length
        for j in range(z.size):
            incumbent.theta[j] = stop * found.theta[j]
        for i in range(found.delta.size):
            incumbent.delta[i] = stop * found.delta[i]


@borrowing
def go(place: Place, z: Array, share: float, ahead: Array) -> None:
    """Write the pre-activations at a share of the way to z."""
    for j in range(z.size):
        ahead[j] = place.start[j] + share * (z[j] - place.start[j])


@borrowing
def fits(place: Place, delta: Array, share: float) -> bool:
    """Whether share·δ is in the box, rounding apart."""
    for i in range(delta.size):
        moved = share * delta[i]
        if not (1.0 + 1e-9) * place.low[i] <= moved <= (1.0 + 1e-9) * place.high[i]:
            return False
    return True
