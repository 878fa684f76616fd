"""From a point on the boundary to a witness: float64 coordinates at which the network certainly decides otherwise."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from featavg.arrays import Array, Bools, Ints
from featavg.robustness.proof import Problem, witness_distance

# A push of one more part in so many is the last one tried.
FARTHEST = 1e-6
# Up to this share a push goes on until the model's own arithmetic agrees that the point is fooled.
AGREEABLE = 1e-7
# The first push exceeds rounding by this factor, so that ordinary arithmetic suffices to show where it leads.
AMPLE = 2.0**12
# Coordinates handled at a time: what fits into a cache.
MOST_COORDINATES = 2**18


def push(
    problem: Problem, delta: Array, known: Bools, agrees: Callable[[Array], Bools] | None = None
) -> tuple[Array, Array]:
    """Witnesses (point, axis), NaN where there is none, and their distances: x + δ(1 + η), η growing until it shows.

    η begins beyond the rounding of x + δ. `agrees` tells which points the model itself misclassifies.
    """
    witness, distance = np.full(problem.x.shape, np.nan), np.full(len(problem.x), np.inf)
    eta, left = first_push(problem.x, delta), np.flatnonzero(known)
    while len(left):
        size = max(1, MOST_COORDINATES // max(problem.x.shape[1], 1))
        for first in range(0, len(left), size):
            few = left[first : first + size]
            points, shown = pushed(problem, delta, eta, few)
            found = np.isfinite(shown)
            witness[few[found]], distance[few[found]] = points[found], shown[found]
        again = np.isinf(distance[left])
        if agrees is not None:
            again |= ~agrees(_complete(witness, problem.x))[left] & (eta[left] < AGREEABLE)
        left = left[again & (eta[left] < FARTHEST)]
        eta[left] = np.minimum(8.0 * eta[left], FARTHEST)
    return witness, distance


def first_push(x: Array, delta: Array) -> Array:
    """η of the first try: AMPLE times the rounding of x + δ, or 1e-7 if that is less, but never below the rounding."""
    # The largest coordinate stands for the norm, whose squares may overflow.
    size, places = np.abs(delta).max(axis=1, initial=0.0), np.abs(x).max(axis=1, initial=0.0)
    rounding = 2.0**-53 * (1.0 + places / np.where(size > FARTHEST * places, size, FARTHEST * places + 1e-300))
    eta = np.maximum(rounding, np.minimum(AMPLE * rounding, AGREEABLE))
    # A point that is fooled where it is has no direction to be pushed in.
    return np.where(size > 0, np.minimum(eta, FARTHEST), FARTHEST)


def pushed(problem: Problem, delta: Array, eta: Array, few: Ints) -> tuple[Array, Array]:
    """The pushed points of a few, and their distances where they are certainly fooled, else ∞."""
    x = problem.x[few]
    points = x + delta[few] * (1.0 + eta[few, None])
    if problem.low is not None and problem.high is not None:
        points = np.clip(points, problem.low, problem.high)
    target = None if problem.target is None else problem.target[few]
    return points, witness_distance(problem._replace(x=x, labels=problem.labels[few], target=target), points)


def _complete(witness: Array, x: Array) -> Array:
    """Witnesses, and the points themselves where there is none."""
    missing: Bools = np.any(np.isnan(witness[:, :1]), axis=1)
    return np.where(missing[:, None], x, witness) if missing.any() else witness
