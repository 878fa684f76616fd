"""From a point on the boundary to a witness: float64 coordinates at which the network certainly decides otherwise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from featavg.arrays import Array, Bools
from featavg.robustness.proof import Problem, witness_distance
from featavg.robustness.proof.format import part
from featavg.robustness.proof.prepared import Prepared
from featavg.robustness.proof.witness import blocks

# A push of one more part in so many is the last one tried.
FARTHEST = 1e-6
# The first push exceeds rounding by this factor, unless that is more than this share: ordinary arithmetic suffices then
# to show where it leads.
AMPLE, MODEST = 2.0**12, 1e-7


def push(asked: Prepared, shifts: Callable[[Any], Array], known: Bools) -> tuple[Array, Array]:
    """Witnesses (point, axis), NaN where there is none, and their distances: x + δ(1 + η), η growing until it shows.

    `shifts` returns δ of some of the points.
    """
    problem, left = asked.problem, np.flatnonzero(known)
    witness, eta = np.empty_like(problem.x), np.empty(len(known))
    for few in blocks(witness):
        delta = shifts(few)
        eta[few] = first_push(problem.x[few], delta)
        witness[few] = pushed(problem, few, delta, eta[few])
    witness[~known] = np.nan
    distance = witness_distance(asked, witness)
    while True:
        left = left[np.isinf(distance[left]) & (eta[left] < FARTHEST)]
        if not len(left):
            break
        eta[left] = np.minimum(8.0 * eta[left], FARTHEST)
        witness[left] = pushed(problem, left, shifts(left), eta[left])
        distance[left] = witness_distance(part(problem, left), witness[left])
    witness[np.isinf(distance)] = np.nan
    return witness, distance


def first_push(x: Array, delta: Array) -> Array:
    """η of the first try: AMPLE times the rounding of x + δ, or MODEST if that is less; never below the rounding."""
    # The largest coordinate stands for the norm, whose squares may overflow.
    size, places = largest(delta), largest(x)
    rounding = 2.0**-53 * (1.0 + places / np.where(size > FARTHEST * places, size, FARTHEST * places + 1e-300))
    eta = np.maximum(rounding, np.minimum(AMPLE * rounding, MODEST))
    # A point that is fooled where it is has no direction to be pushed in.
    return np.where(size > 0, np.minimum(eta, FARTHEST), FARTHEST)


def largest(rows: Array) -> Array:
    """The largest |entry| of every row."""
    return np.maximum(rows.max(axis=1, initial=0.0), -rows.min(axis=1, initial=0.0))


def pushed(problem: Problem, chosen: Any, delta: Array, eta: Array) -> Array:
    """x + δ(1 + η) of some of the points, in the box."""
    points = delta * (1.0 + eta[:, None])
    points += problem.x[chosen]
    if problem.low is not None and problem.high is not None:
        np.clip(points, problem.low, problem.high, out=points)
    return points
