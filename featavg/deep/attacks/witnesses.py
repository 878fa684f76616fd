"""A witness lies beyond the boundary also when somebody else computes the network: batches round differently."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from featavg.arrays import Array
from featavg.deep.attacks.field import Field, finite_rows, rows_where
from featavg.deep.question import DeepQuestion

# A witness is deep enough if a point so many units of rounding, eps·‖w‖, nearer to x is fooled as well.
DEPTH = 2.0
# Pushes are DEPTH times 1, 2, 4 ... units long; the last one is 0.8 % of ‖w‖ in float32.
PUSHES = 16


def push_over(question: DeepQuestion, witness: Array, reach: float = np.inf) -> Array:
    """Move witnesses w (sample, axis) that rounding may take back outward until they are deep enough; NaN stays.

        w ← w − DEPTH·2^p·eps·‖w‖·steepest(∇m)    with the first p = 0, 1, 2 ... that serves

    A witness that cannot be had so, or only beyond `reach`, stays as it is.
    """
    field = Field.of(question)
    delta = torch.from_numpy(witness).to(question.dtype) - field.x
    rows = rows_where(finite_rows(delta) & ~_deep(field, delta))
    if not len(rows):
        return witness
    found, part = witness.copy(), field.take(rows)
    outward, unit = _outward(part, delta[rows]), _unit(part, delta[rows])
    for power in range(PUSHES):
        trial = delta.clone()
        trial[rows] = part.inside(trial[rows] + DEPTH * 2.0**power * unit[:, None] * outward)
        points = field.points(trial).double().numpy()
        won = torch.from_numpy(question.distances(points) <= reach)[rows] & _deep(field, trial)[rows]
        found[rows[won]] = points[rows[won]]
        rows, part, outward, unit = rows[~won], part.take(~won), outward[~won], unit[~won]
        if not len(rows):
            break
    return found


def _deep(field: Field, delta: Tensor) -> Tensor:
    """Whether x + δ, and the point DEPTH units nearer to x, are fooled by the question's own arithmetic: (sample,)."""
    length, nearer = field.ball.norm(delta), field.ball.norm(delta) - DEPTH * _unit(field, delta)
    share = (nearer / torch.where(length > 0, length, 1.0)).clamp(min=0.0)
    return _fooled(field, delta) & _fooled(field, share[:, None] * delta)


def _fooled(field: Field, delta: Tensor) -> Tensor:
    return torch.from_numpy(field.question.fooled(field.points(torch.nan_to_num(delta)).double().numpy()))


def _unit(field: Field, delta: Tensor) -> Tensor:
    """By how far rounding moves a point x + δ: (sample,)."""
    return torch.finfo(delta.dtype).eps * field.ball.norm(field.points(delta))


def _outward(field: Field, delta: Tensor) -> Tensor:
    """The direction of length 1 that lowers the margin most, or away from x where the margin is flat."""
    _, gradient = field.gradients(delta)
    flat, length = field.ball.dual_norm(gradient) == 0, field.ball.norm(delta)
    away = delta / torch.where(length > 0, length, 1.0)[:, None]
    return torch.where(flat[:, None], away, -field.ball.steepest(gradient))
