"""Attacks that start on the other side of the boundary: no gradient at x is needed, and if asked none at all."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from featavg.arrays import Array, Ints, finite_matrix
from featavg.errors import InputError
from featavg.robustness.attacks.base import Attack, Found
from featavg.robustness.attacks.checks import counted
from featavg.robustness.attacks.field import Field, whole_rows
from featavg.robustness.attacks.minimal import shrink

# The gradient is taken just before the boundary, on the linear piece that x sees.
BEFORE = 1e-9
SHORTEST_STRIDE = 1 / 64
# Relative gain in length below which a step does not count.
GAIN = 1e-9
# Probes of the boundary's normal lie this share of ‖δ‖ away from it; their steps are bisected so many times.
PROBE, PROBE_HALVINGS = 0.05, 8


@dataclass(frozen=True, kw_only=True)
class BoundaryWalk(Attack):
    """From the nearest fooled points straight back to the boundary, then along it towards x.

    Where rays are exact, the shortest way to the boundary's local linear piece is the next aim, and the ray from x
    through it the next boundary point; a step that does not shorten is tried again at half the stride, and one more
    walk starts on the ray on which all neurons of a rival count as on. Elsewhere the walk follows gradients near the
    boundary, as `MinimalNorm` does from x.

    With `queries` it takes no gradient: the normal of the boundary is the mean of so many pairs of random probes that
    fool (HopSkipJump, Chen et al. 2020). Dead zones, flat starts and masked gradients do not stop it.

    >>> far = ([[3.0, 4.0]], [0.0], [[1.0]], [-2.0])
    >>> BoundaryWalk(start=[[-5.0, 2.0]])(far, [[1.0, 1.0]], [1]).upper.round(6)
    array([1.])
    """

    name: ClassVar[str] = "boundary walk"
    start: ArrayLike | None = None  # (point, axis)  candidates, the batch itself by default
    starts: int = 5  # how many of the nearest fooled candidates each point tries
    steps: int = 100
    queries: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        if self.starts < 1 or self.steps < 0 or self.queries < 0:
            raise InputError(
                f"need starts >= 1, steps >= 0 and queries >= 0, got {self.starts}, {self.steps} and {self.queries}"
            )

    def search(self, field: Field) -> Found:
        """The best of all starts."""
        given = field.question.x if self.start is None else self.start
        candidates = finite_matrix(given, "start", columns=field.question.x.shape[1])
        there, here = field.coordinates(candidates), field.coordinates(field.x)
        rows, chosen = _nearest_fooled(field, here, there, self.starts)
        lonely = ~np.isin(np.arange(len(field)), rows)
        rival = field.rival_rays()
        more = np.flatnonzero(whole_rows(rival))
        rays, rows = np.concatenate([there[chosen] - here[rows], rival[more]]), np.concatenate([rows, more])
        ends = field.take(rows).first_along(rays)
        met = whole_rows(ends)
        rows, ends = rows[met], ends[met]
        best = field.nothing
        if len(rows):
            ends = self._walk(field.take(rows), ends)
            order = np.argsort(-field.lengths(ends), kind="stable")  # the last one written, the shortest, stays
            best[rows[order]] = ends[order]
        return Found(best, counted("no fooled start", lonely))

    def _walk(self, field: Field, best: Array) -> Array:
        """From boundary points δ along the boundary to shorter ones."""
        if self.queries:
            end = self._probe(field, best)
        elif field.exact_rays:
            return self._project(field, best)
        else:
            end, _ = shrink(field, best, best, self.steps)
        return field.shorter(end, field.first_along(end))

    def _project(self, field: Field, best: Array) -> Array:
        """The walk over the feet of tangent planes, one exact ray a step."""
        stride = np.ones(len(field))
        for _ in range(self.steps):
            rows = np.flatnonzero(stride >= SHORTEST_STRIDE)
            if not len(rows):
                break
            part, here = field.take(rows), best[rows]
            aim = here + stride[rows, None] * (_foot(part, here) - here)
            there = part.shorter(here, part.first_along(part.inside(aim)))
            won = part.norm.length(there) < (1 - GAIN) * part.norm.length(here)
            best[rows] = there
            stride[rows] = np.where(won, np.minimum(2 * stride[rows], 1.0), stride[rows] / 2)
        return best

    def _probe(self, field: Field, best: Array) -> Array:
        """The walk without gradients."""
        rng, best = np.random.default_rng(self.seed), best.copy()
        stride = np.ones_like(best[:, 0])
        for count in range(self.steps):
            rows = np.flatnonzero(stride >= SHORTEST_STRIDE)
            if not len(rows):
                break
            part, here = field.take(rows), best[rows]
            length = stride[rows] * part.norm.length(here) / sqrt(count + 1)
            aim = here - length[:, None] * self._normal(part, here, rng)
            there = part.first_along(aim, halvings=PROBE_HALVINGS)
            won = part.lengths(there) < part.norm.length(here)
            best[rows] = np.where(won[:, None], there, here)
            stride[rows] = np.where(won, np.minimum(2 * stride[rows], 1.0), stride[rows] / 2)
        return best

    def _normal(self, field: Field, delta: Array, rng: np.random.Generator) -> Array:
        """The steepest direction towards the own side, from decisions alone."""
        normal = np.zeros_like(delta)
        size = PROBE * np.linalg.norm(delta, axis=1, keepdims=True)
        for _ in range(self.queries):
            probe = rng.standard_normal(delta.shape).astype(delta.dtype, copy=False)
            probe /= np.linalg.norm(probe, axis=1, keepdims=True)
            # Asked on both sides, a bend of the boundary cancels instead of drowning the normal.
            for side in (probe, -probe):
                normal -= field.fooled(field.inside(delta + size * side))[:, None] * side
        return field.norm.steepest(normal)


def _foot(field: Field, delta: Array) -> Array:
    """The point nearest to x on the plane of the boundary near x + δ: −ℓ/‖g‖_* · steepest(g) with ℓ = m − ⟨g,δ⟩."""
    margin, gradient = field.gradients(delta * (1 - BEFORE))
    foot = field.norm.foot(gradient, np.maximum(margin - (gradient * delta).sum(axis=1), 0.0))
    return np.where((field.norm.dual(gradient) > 0)[:, None], foot, delta)


def _nearest_fooled(field: Field, here: Array, there: Array, count: int) -> tuple[Ints, Ints]:
    """Pairs of a sample and one of its `count` ℓ2-nearest candidates of another decision.

    here (sample, coordinate) are the samples, there (candidate, coordinate) the candidates.
    """
    # Samples of one label, and of one rival if it is named, lose the decision at the same candidates.
    alike = field.alike()
    rows, chosen = [], []
    for number in np.unique(alike):
        members: Ints = np.flatnonzero(alike == number)
        moved = field.take(np.full(len(there), members[0]))
        lost = np.flatnonzero(moved.fooled(there - here[members[0]]))
        if len(lost):
            squares = (there[lost] ** 2).sum(axis=1) - 2 * here[members] @ there[lost].T
            nearest = np.argsort(squares, axis=1)[:, :count]
            rows.append(np.repeat(members, nearest.shape[1]))
            chosen.append(lost[nearest].ravel())
    none = np.zeros(0, dtype=np.int64)
    return np.concatenate([none, *rows]), np.concatenate([none, *chosen])
