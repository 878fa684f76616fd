"""A walk along the decision boundary, from points that are already on its other side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from featavg.arrays import Array, Ints, finite_matrix
from featavg.errors import InputError
from featavg.robustness.attacks.awake import awake_rays
from featavg.robustness.attacks.base import Attack, Found, counted, shorter, whole_rows
from featavg.robustness.attacks.field import Field

# The gradient is taken just before the boundary, on the linear piece that x sees.
BEFORE = 1e-9
SHORTEST_STRIDE = 1 / 64
# Relative gain in length below which a step does not count.
GAIN = 1e-9


@dataclass(frozen=True, kw_only=True)
class BoundaryWalk(Attack):
    """From the nearest fooled points back to x until the boundary, then along it: the shortest way to the boundary's
    local linear piece is the next aim, and the ray from x through it, searched exactly, the next boundary point.

    A step that does not shorten is tried again at half the stride. One more walk starts on the ray on which all
    neurons of a rival count as on. No gradient at x is needed, so dead zones and flat starts do not stop it.

    >>> far = ([[3.0, 4.0]], [0.0], [[1.0]], [-2.0])
    >>> BoundaryWalk(start=[[-5.0, 2.0]])(far, [[1.0, 1.0]], [1]).upper.round(6)
    array([1.])
    """

    name: ClassVar[str] = "boundary walk"
    start: ArrayLike | None = None  # (point, axis)  candidates, the batch itself unless told
    starts: int = 5  # how many of the nearest fooled candidates each point tries
    steps: int = 100

    def __post_init__(self) -> None:
        if self.starts < 1 or self.steps < 0:
            raise InputError(f"need starts >= 1 and steps >= 0, got {self.starts} and {self.steps}")

    def search(self, field: Field) -> Found:
        """The best of all starts."""
        given = field.question.x if self.start is None else self.start
        candidates = finite_matrix(given, "start", columns=field.question.x.shape[1])
        there, here = field.coordinates(candidates), field.coordinates(field.x)
        rows, chosen = _nearest_fooled(field, here, there, self.starts)
        away = there[chosen] - here[rows]
        lonely = ~np.isin(np.arange(len(field)), rows) & ~field.fooled(field.at_rest)
        awake = awake_rays(field)
        woken = np.flatnonzero(whole_rows(awake))
        rows = np.concatenate([rows, woken])
        best = np.full(field.at_rest.shape, np.nan)
        ends = self._walk(field.take(rows), np.concatenate([away, awake[woken]]))
        lengths = np.nan_to_num(field.ball.norm(ends), nan=np.inf)
        order = np.argsort(-lengths, kind="stable")  # the last one written, the shortest, stays
        best[rows[order]] = ends[order]
        return Found(best, counted("no fooled start", lonely))

    def _walk(self, field: Field, delta: Array) -> Array:
        best = field.first_along(delta)
        stride = np.where(whole_rows(best), 1.0, 0.0)
        for _ in range(self.steps):
            rows = np.flatnonzero(stride >= SHORTEST_STRIDE)
            if not len(rows):
                break
            part, here = field.take(rows), best[rows]
            aim = here + stride[rows, None] * (_foot(part, here) - here)
            there = shorter(part, here, part.first_along(part.inside(aim)))
            won = part.ball.norm(there) < (1 - GAIN) * part.ball.norm(here)
            best[rows] = there
            stride[rows] = np.where(won, np.minimum(2 * stride[rows], 1.0), stride[rows] / 2)
        return best


def _foot(field: Field, delta: Array) -> Array:
    """The point nearest to x on the plane of the boundary near x + δ: −ℓ/‖g‖_* · steepest(g) with ℓ = m − ⟨g,δ⟩."""
    margin, gradient = field.gradients(delta * (1 - BEFORE))
    slope = field.ball.dual_norm(gradient)
    height = np.maximum(margin - (gradient * delta).sum(axis=1), 0.0)
    foot = -(height / np.where(slope > 0, slope, 1.0))[:, None] * field.ball.steepest(gradient)
    return np.where((slope > 0)[:, None], foot, delta)


def _nearest_fooled(field: Field, here: Array, there: Array, count: int) -> tuple[Ints, Ints]:
    """Pairs of a sample and one of its `count` ℓ2-nearest candidates of another decision.

    here (sample, coordinate) are the samples, there (candidate, coordinate) the candidates.
    """
    asked = field.asked
    rivals = np.zeros_like(asked.y) if asked.rival is None else asked.rival
    groups, group = np.unique(np.column_stack([asked.y, rivals]), axis=0, return_inverse=True)
    rows, chosen = [], []
    for number in range(len(groups)):
        members: Ints = np.flatnonzero(group == number)
        # Where would the decision be lost if all candidates had the label of this group?
        moved = field.take(np.full(len(there), members[0]))
        lost = np.flatnonzero(moved.fooled(there - here[members[0]]))
        if len(lost):
            squares = (there[lost] ** 2).sum(axis=1) - 2 * here[members] @ there[lost].T
            nearest = np.argsort(squares, axis=1)[:, :count]
            rows.append(np.repeat(members, nearest.shape[1]))
            chosen.append(lost[nearest].ravel())
    none = np.zeros(0, dtype=np.int64)
    return np.concatenate([none, *rows]), np.concatenate([none, *chosen])
