"""From a point on the boundary to a witness: float64 coordinates at which the network certainly decides otherwise."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from featavg.arrays import Array, Bools
from featavg.robustness.proof import Problem, witness_distance

# A push of one more part in so many is the last one tried.
FARTHEST = 1e-6
# Up to this share a push goes on until the model's own arithmetic agrees that the point is fooled.
AGREEABLE = 1e-9


def push(
    problem: Problem, delta: Array, known: Bools, agrees: Callable[[Array], Bools] | None = None
) -> tuple[Array, Array]:
    """Witnesses (point, axis), NaN where there is none, and their distances: x + δ(1 + η), η growing until it shows.

    η begins at the rounding of x + δ. `agrees` tells which points the model itself misclassifies.
    """
    x = problem.x
    # The largest coordinate stands for the norm, whose squares may overflow.
    size, places = np.abs(delta).max(axis=1, initial=0.0), np.abs(x).max(axis=1, initial=0.0)
    eta = 2.0**-53 * (1.0 + places / np.where(size > FARTHEST * places, size, FARTHEST * places + 1e-300))
    witness, distance = np.full(x.shape, np.nan), np.full(len(x), np.inf)
    left = np.flatnonzero(known)
    # A point that is fooled where it is has no direction to be pushed in.
    eta = np.where(size > 0, np.minimum(eta, FARTHEST), FARTHEST)
    while len(left):
        points = x[left] + delta[left] * (1.0 + eta[left, None])
        if problem.low is not None and problem.high is not None:
            points = np.clip(points, problem.low, problem.high)
        target = None if problem.target is None else problem.target[left]
        shown = witness_distance(problem._replace(x=x[left], labels=problem.labels[left], target=target), points)
        nearer = shown < distance[left]
        witness[left[nearer]], distance[left[nearer]] = points[nearer], shown[nearer]
        again = np.isinf(shown)
        if agrees is not None:
            full = x.copy()
            full[left] = points
            again |= ~agrees(full)[left] & (eta[left] < AGREEABLE)
        again &= eta[left] < FARTHEST
        left = left[again]
        eta[left] = np.minimum(8.0 * eta[left], FARTHEST)
    return witness, distance
