"""A witness lies beyond the boundary also when somebody else computes the network: batches round differently."""

from __future__ import annotations

import numpy as np

from featavg.arrays import Array, Bools
from featavg.robustness.attacks.field import Field, whole_rows
from featavg.robustness.bracket import shown_distances

# A witness is deep enough if a point so many units of rounding, eps·‖w‖, nearer to x is fooled as well.
DEPTH = 2.0
# Pushes grow from DEPTH units to this share of ‖w‖, in so many steps: twice as long each time in float32.
LONGEST, PUSHES = 2.0**-7, 16


def push_over(field: Field, delta: Array, reach: float = np.inf) -> Array:
    """Move perturbations whose witnesses w = x + δ rounding may take back outward until they are deep; NaN stays.

        δ ← δ − push·‖w‖·steepest(∇m)    with the first push = DEPTH·eps ... LONGEST that serves

    A witness that cannot be had so, or only beyond `reach`, stays as it is.
    """
    rows = np.flatnonzero(whole_rows(delta) & ~_deep(field, delta))
    if not len(rows):
        return delta
    found, part = delta.copy(), field.take(rows)
    outward, size = _outward(part, delta[rows]), _size(part, delta[rows])
    for push in np.geomspace(DEPTH * np.finfo(delta.dtype).eps, LONGEST, PUSHES).tolist():
        # All samples are asked each time, as whoever tests the witnesses will: other batches, other roundings.
        trial = delta.copy()
        trial[rows] = part.inside(trial[rows] + push * size[:, None] * outward)
        near = field.asked.distances(field.points(np.nan_to_num(trial))) <= reach
        won = (near & _deep(field, trial))[rows]
        found[rows[won]] = trial[rows[won]]
        rows, part, outward, size = rows[~won], part.take(~won), outward[~won], size[~won]
        if not len(rows):
            break
    return found


def _deep(field: Field, delta: Array) -> Bools:
    """Whether x + δ, and the point DEPTH units nearer to x, are fooled by the question's own arithmetic: (sample,).

    Where there is a checker x + δ must also be fooled in its enclosures, or the bracket would not take the witness.
    """
    delta = np.nan_to_num(delta)
    length, unit = field.norm.length(delta), np.finfo(delta.dtype).eps * _size(field, delta)
    nearer = np.maximum(length - DEPTH * unit, 0.0) / np.where(length > 0, length, 1.0)
    ends = delta, nearer[:, None] * delta
    fooled = np.logical_and(*(field.asked.fooled(field.points(end)) for end in ends))
    # Only what floats call fooled is shown to the checker, whose rationals are slow.
    held = field.take(fooled)
    fooled[fooled] = np.isfinite(shown_distances(held.asked, held.points(delta[fooled])))
    return fooled


def _size(field: Field, delta: Array) -> Array:
    """‖x + δ‖, whose rounding moves the point: (sample,)."""
    return field.norm.length(field.points(delta))


def _outward(field: Field, delta: Array) -> Array:
    """The direction of length 1 that lowers the margin most, or away from x where the margin is flat."""
    _, gradient = field.gradients(delta)
    flat, length = field.norm.dual(gradient) == 0, field.norm.length(delta)
    away = delta / np.where(length > 0, length, 1.0)[:, None]
    return np.where(flat[:, None], away, -field.norm.steepest(gradient))
