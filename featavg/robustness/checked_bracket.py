"""A radius with its honesty: what is proved, what is shown, how it ended, and the means to check it again."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from featavg.arrays import Array, Bools, Ints
from featavg.errors import InputError
from featavg.robustness.proof.checker import proves
from featavg.robustness.proof.format import Norm, Problem, Proofs, no_proofs, take
from featavg.robustness.proof.infinity import Emptiness, infinite
from featavg.robustness.proof.witness import shows

# An exact bracket is this narrow, as a share of its upper end.
GAP = 1e-6


class Status(StrEnum):
    """How the search for a radius ended, as a fact about the two numbers."""

    EXACT = "exact"  # both ends are proved, and agree up to GAP
    OPEN = "open"  # both ends are proved, and do not
    ATTACK_ONLY = "attack only"  # nothing is known below
    CERTIFICATE_ONLY = "certificate only"  # nothing is known above
    FAILED = "failed"  # there is no answer


@runtime_checkable
class Asked(Protocol):
    """What a bracket needs of its question, be it one about a two-layer or about a deep network."""

    @property
    def x(self) -> Array:
        """The points: (point, axis)."""

    @property
    def y(self) -> Ints:
        """Their labels: (point,)."""

    @property
    def norm(self) -> Norm:
        """The norm of the distance."""

    def margins(self, points: ArrayLike) -> Array:
        """By how much the decision at point i is still y_i, in floats: (point,)."""

    def distances(self, points: ArrayLike) -> Array:
        """Distance of point i from x_i, in floats: (point,)."""

    def part(self, chosen: Any) -> Asked:
        """The same question at some of its points."""

    def fooled(self, points: ArrayLike) -> Bools:
        """Whether point i is misclassified or tied, in floats: (point,)."""

    def same_as(self, other: Any) -> bool:
        """Whether both ask the same decision of the same network at the same points."""

    def problem(self) -> Problem | None:
        """The question in arrays, for the checker; None if there is no checker for it, as for deep networks."""


@dataclass(frozen=True)
class RadiusBracket:
    """For each point lower <= true radius <= upper; an attack alone has lower 0, a certificate alone upper ∞."""

    lower: Array  # (point,)  no smaller perturbation fools the network
    upper: Array  # (point,)  this one does
    witness: Array  # (point, axis)  the fooled point at distance upper, NaN where there is none
    status: tuple[Status, ...]  # (point,)
    question: Asked
    flags: tuple[str, ...] = ()  # what a method says against itself
    proofs: Proofs | None = field(default=None, repr=False)  # of the lower bounds, if they were kept
    certificates: tuple[Emptiness, ...] = field(default=(), repr=False)  # of infinite radii
    reasons: tuple[str, ...] = ()  # (point,)  why the search ended, empty where it simply finished

    def __post_init__(self) -> None:
        object.__setattr__(self, "status", tuple(Status(each) for each in self.status))
        object.__setattr__(self, "reasons", tuple(self.reasons) or ("",) * len(self.lower))

    def __len__(self) -> int:
        return len(self.lower)

    def __getitem__(self, chosen: int | slice | Sequence[int] | Ints | Bools) -> RadiusBracket:
        """The bracket of one point, of a slice, of positions or of a mask; always a bracket of arrays."""
        points = self._positions(chosen)
        return RadiusBracket(
            self.lower[points],
            self.upper[points],
            self.witness[points],
            tuple(self.status[i] for i in points.tolist()),
            self.question.part(points),
            self.flags,
            None if self.proofs is None else proofs_at(self.proofs, points),
            self.certificates,
            tuple(self.reasons[i] for i in points.tolist()),
        )

    def _positions(self, chosen: Any) -> Ints:
        try:
            points = np.atleast_1d(np.arange(len(self))[chosen])
        except (IndexError, TypeError, ValueError):
            points = np.zeros((0, 0), dtype=np.int64)
        if points.ndim != 1:
            raise InputError(f"a bracket of {len(self)} points has no part {chosen!r}; use positions, slices or masks")
        return points

    def verify(self, audit: bool = False) -> Bools:
        """Check every bracket from scratch: (point,).

        True where the proofs prove `lower` and the witness shows `upper`, in the checker's enclosures; with `audit`
        in ball arithmetic instead, which shares no code with it and needs python-flint.
        """
        problem = self.question.problem()
        if problem is None:
            return self._floats_agree()
        proofs = no_proofs() if self.proofs is None else self.proofs
        if self.proofs is None and self.lower.any() and not self.certificates:
            raise InputError("no proofs were kept with this bracket; ask again with proofs=True")
        endless = infinite(problem, self.certificates)
        if audit:
            from featavg.robustness.proof.audit import audit as audited
            from featavg.robustness.proof.audit import audit_witness

            below = (self.lower >= 0) & (audited(problem, proofs) >= self.lower)
            above = audit_witness(problem, np.asarray(self.witness, np.float64), np.asarray(self.upper, np.float64))
        else:
            below, above = proves(problem, proofs, self.lower), shows(problem, self.witness, self.upper)
        return (below | endless) & above

    def _floats_agree(self) -> Bools:
        """Without a checker: nothing is claimed below, and in floats the witness is fooled at distance `upper`."""
        none = np.isinf(self.upper)
        points = np.where(none[:, None], self.question.x, self.witness)
        near = np.isclose(self.question.distances(points), self.upper, rtol=1e-12, atol=0.0)
        return (self.lower == 0) & (none | (self.question.fooled(points) & near))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything that is needed to verify this bracket to one file, which `load_bracket` reads."""
        from featavg.robustness.proof.files import Stored, write_stored

        problem = self.question.problem()
        if problem is None:
            raise InputError("only brackets of two-layer networks can be saved; this one is of a deep network")
        proofs = no_proofs() if self.proofs is None else self.proofs
        statuses = tuple(str(each) for each in self.status)
        lower, upper, witness = (np.asarray(each, np.float64) for each in (self.lower, self.upper, self.witness))
        stored = Stored(
            problem, lower, upper, witness, statuses, self.reasons, self.flags, proofs, self.certificates
        )  # fmt: skip
        write_stored(stored, path)

    def to_frame(self) -> Any:
        """A pandas table, one row per point."""
        try:
            import pandas as pd
        except ImportError:
            raise InputError("to_frame needs pandas: pip install pandas") from None
        columns = {"label": self.question.y, "lower": self.lower, "upper": self.upper}
        return pd.DataFrame({**columns, "status": [str(each) for each in self.status], "reason": list(self.reasons)})


def status_of(lower: Array, upper: Array, gap: float = GAP) -> tuple[Status, ...]:
    """What two proved numbers amount to: (point,).

    >>> [str(status) for status in status_of(np.array([1.0, 1.0, 0.0, 2.0]), np.array([1.0, 2.0, 1.0, np.inf]))]
    ['exact', 'open', 'attack only', 'certificate only']
    """
    return tuple(_status(low, high, gap) for low, high in zip(lower.tolist(), upper.tolist(), strict=True))


def _status(lower: float, upper: float, gap: float) -> Status:
    # Both ends infinite are equal; one infinite end is never close to the other.
    if lower == upper or (upper < np.inf and upper - lower <= gap * upper):
        return Status.EXACT
    if upper == np.inf:
        return Status.CERTIFICATE_ONLY if lower > 0 else Status.FAILED
    return Status.OPEN if lower > 0 else Status.ATTACK_ONLY


def proofs_at(proofs: Proofs, points: Ints) -> Proofs:
    """The trees of some points, renumbered to their positions."""
    order = np.argsort(proofs.point, kind="stable")
    first = np.searchsorted(proofs.point[order], points, side="left")
    last = np.searchsorted(proofs.point[order], points, side="right")
    trees = np.concatenate([order[a:b] for a, b in zip(first, last, strict=True)] or [order[:0]])
    return take(proofs, trees)._replace(point=np.repeat(np.arange(len(points)), last - first))


@dataclass(frozen=True)
class StoredQuestion:
    """The question of a bracket that was read from a file: arrays, no model."""

    asked: Problem

    @property
    def x(self) -> Array:
        """The points: (point, axis)."""
        return self.asked.x

    @property
    def y(self) -> Ints:
        """Their labels: (point,)."""
        return self.asked.labels

    @property
    def norm(self) -> Norm:
        """The norm of the distance."""
        return self.asked.norm

    def margins(self, points: ArrayLike) -> Array:
        """By how much the decision at point i is still y_i, in floats: (point,)."""
        from featavg.robustness.proof.margins import float_margins

        return float_margins(self.asked, np.asarray(points, dtype=np.float64))

    def fooled(self, points: ArrayLike) -> Bools:
        """Whether point i is misclassified or tied, in floats: (point,)."""
        return self.margins(points) <= 0

    def same_as(self, other: Any) -> bool:
        """Whether both are one and the same."""
        return self is other

    def distances(self, points: ArrayLike) -> Array:
        """Distance of point i from x_i, in floats: (point,)."""
        order = 2 if self.norm == "l2" else np.inf
        return np.linalg.norm(np.asarray(points) - self.x, ord=order, axis=1)

    def part(self, chosen: Any) -> StoredQuestion:
        """The same question at some of its points."""
        target = None if self.asked.target is None else self.asked.target[chosen]
        return StoredQuestion(
            self.asked._replace(x=self.asked.x[chosen], labels=self.asked.labels[chosen], target=target)
        )

    def problem(self) -> Problem:
        """The question in arrays, for the checker."""
        return self.asked


def load_bracket(path: str | os.PathLike[str]) -> RadiusBracket:
    """Read a bracket that `save` wrote; a file of any other kind ends in an InputError."""
    from featavg.robustness.proof.files import read_stored

    stored = read_stored(path)
    try:
        status = tuple(Status(each) for each in stored.statuses)
    except ValueError as error:
        raise InputError(f"{path} is no bracket file: {error}") from None
    return RadiusBracket(
        stored.lower,
        stored.upper,
        stored.witness,
        status,
        StoredQuestion(stored.problem),
        stored.flags,
        stored.proofs,
        stored.certificates,
        stored.reasons,
    )
