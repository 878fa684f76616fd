"""The point of a polyhedron that is nearest to 0, in exact rationals: a dual method for each norm.

Both methods hold a point that is nearest in a polyhedron of *fewer* constraints and add violated ones until none is
left. So the distance only grows, a search may stop as soon as it exceeds what is known, and a child of a search tree
goes on from its parent's point. In rationals there is no tolerance, and neither method can cycle.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple, Protocol

from flint import fmpq, fmpq_mat

from campaign.soundness.rationals import ZERO, Rationals, dot


class Constraint(NamedTuple):
    """⟨normal, δ⟩ + offset ≤ 0."""

    normal: Rationals
    offset: fmpq


class Nearest(Protocol):
    """A nearest point and why it is one."""

    @property
    def delta(self) -> Rationals:
        """The point."""

    @property
    def size(self) -> fmpq:
        """‖δ‖² for ℓ2, ‖δ‖ for ℓ∞."""

    def within(self, constraints: Sequence[Constraint], limit: fmpq | None) -> Nearest | None:
        """The nearest point under `constraints`, among them all of before; None if there is none nearer than limit."""


class EuclideanNearest(NamedTuple):
    """δ = −Σ multipliers · normals of the active constraints, multipliers ≥ 0 (Goldfarb and Idnani's method)."""

    delta: Rationals
    active: tuple[Constraint, ...] = ()
    multipliers: Rationals = ()

    @property
    def size(self) -> fmpq:
        """‖δ‖²."""
        return dot(self.delta, self.delta)

    def within(self, constraints: Sequence[Constraint], limit: fmpq | None) -> EuclideanNearest | None:
        """The nearest point under `constraints`, among them all of before; None if there is none nearer than limit."""
        state: EuclideanNearest | None = self
        while state is not None:
            if limit is not None and state.size >= limit:
                return None
            delta = state.delta
            violated = next((c for c in constraints if dot(c.normal, delta) + c.offset > 0), None)
            if violated is None:
                return state
            state = state._with(violated)
        return None

    def _with(self, new: Constraint) -> EuclideanNearest | None:
        """Take a violated constraint in: raise its multiplier, dropping active constraints whose own falls to 0."""
        delta, active, multipliers, raised = self.delta, list(self.active), list(self.multipliers), ZERO
        while True:
            shares = _shares(active, new.normal)
            free = list(new.normal)
            for share, constraint in zip(shares, active, strict=True):
                free = [f - share * n for f, n in zip(free, constraint.normal, strict=True)]
            slope = dot(free, free)
            steps = [(u / s, k) for k, (u, s) in enumerate(zip(multipliers, shares, strict=True)) if s > 0]
            if slope != 0:
                steps.append(((dot(new.normal, delta) + new.offset) / slope, -1))
            if not steps:
                return None  # the new normal is −Σ of active ones: they exclude each other
            step, dropped = min(steps)
            delta = tuple(d - step * f for d, f in zip(delta, free, strict=True))
            multipliers = [u - step * s for u, s in zip(multipliers, shares, strict=True)]
            raised += step
            if dropped < 0:
                return EuclideanNearest(delta, (*active, new), (*multipliers, raised))
            del active[dropped], multipliers[dropped]


def _shares(active: Sequence[Constraint], normal: Rationals) -> list[fmpq]:
    """The coefficients of the projection of `normal` on the active normals, which are independent."""
    if not active:
        return []
    if len(active) == 1:
        own = active[0].normal
        return [dot(own, normal) / dot(own, own)]
    gram = fmpq_mat([[dot(c.normal, other.normal) for other in active] for c in active])
    right = fmpq_mat([[dot(c.normal, normal)] for c in active])
    return gram.solve(right).entries()


class CubeNearest(NamedTuple):
    """A vertex (δ, r) of min r under |δ_i| ≤ r and the constraints (dual simplex method with Bland's rule)."""

    vertex: Rationals  # (axis + 1,)
    basis: tuple[Constraint, ...]  # (axis + 1,) constraints on δ, or faces on (δ, r), that hold with equality
    multipliers: Rationals

    @property
    def delta(self) -> Rationals:
        """δ."""
        return self.vertex[:-1]

    @property
    def size(self) -> fmpq:
        """r."""
        return self.vertex[-1]

    def within(self, constraints: Sequence[Constraint], limit: fmpq | None) -> CubeNearest | None:
        """The nearest point under `constraints`, among them all of before; None if there is none nearer than limit."""
        together = [*_faces(len(self.vertex) - 1), *constraints]
        order = {id(constraint): place for place, constraint in enumerate(together)}
        state: CubeNearest | None = self
        while state is not None:
            if limit is not None and state.size >= limit:
                return None
            violated = state._violated(constraints)
            if violated is None:
                return state
            state = state._with(violated, order)
        return None

    def _violated(self, constraints: Sequence[Constraint]) -> Constraint | None:
        delta, size = self.delta, self.size
        for axis, entry in enumerate(delta):
            if entry > size or -entry > size:
                return _faces(len(delta))[2 * axis + (entry < 0)]
        return next((c for c in constraints if dot(c.normal, delta) + c.offset > 0), None)

    def _with(self, new: Constraint, order: dict[int, int]) -> CubeNearest | None:
        """One pivot: the new constraint replaces the first one of the basis whose multiplier falls to 0."""
        normals = fmpq_mat([self._lifted(constraint) for constraint in self.basis])
        shares = normals.transpose().solve(fmpq_mat([[entry] for entry in self._lifted(new)])).entries()
        ratios = [
            (u / share, order[id(constraint)], place)
            for place, (u, share, constraint) in enumerate(zip(self.multipliers, shares, self.basis, strict=True))
            if share > 0
        ]
        if not ratios:
            return None
        step, _, leaving = min(ratios)
        multipliers = [u - step * share for u, share in zip(self.multipliers, shares, strict=True)]
        basis = list(self.basis)
        basis[leaving], multipliers[leaving] = new, step
        normals = fmpq_mat([self._lifted(constraint) for constraint in basis])
        vertex = normals.solve(fmpq_mat([[-constraint.offset] for constraint in basis])).entries()
        return CubeNearest(tuple(vertex), tuple(basis), tuple(multipliers))

    def _lifted(self, constraint: Constraint) -> list[fmpq]:
        """The normal of a constraint on δ as one on (δ, r); faces have theirs already."""
        return [*constraint.normal, ZERO][: len(self.vertex)]


@cache
def _faces(axes: int) -> tuple[Constraint, ...]:
    """δ_i ≤ r and −δ_i ≤ r, as constraints on (δ, r)."""
    return tuple(
        Constraint((*(fmpq(sign * (i == k)) for k in range(axes)), fmpq(-1)), ZERO)
        for i in range(axes)
        for sign in (1, -1)
    )


def at_start(axes: int, norm: str) -> Nearest:
    """The nearest point to 0 without constraints: 0.

    >>> line = Constraint((fmpq(-1), fmpq(-2)), fmpq(5))
    >>> at_start(2, "l2").within([line], None).delta, at_start(2, "linf").within([line], None).size
    ((1, 2), 5/3)
    """
    if norm == "l2":
        return EuclideanNearest((ZERO,) * axes)
    faces = _faces(axes)
    half = fmpq(1, 2)
    return CubeNearest((ZERO,) * (axes + 1), (*faces[:2], *faces[2::2]), (half, half, *(ZERO,) * (axes - 1)))
