"""A radius with its honesty: what is proved, what is shown, how it ended, and the means to check it again."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from featavg.arrays import Array, Bools, Ints
from featavg.data import Names
from featavg.errors import InputError
from featavg.robustness.proof.certificates import Certificate, certified
from featavg.robustness.proof.checker import proves
from featavg.robustness.proof.format import Norm, Problem, Proofs, join, no_proofs, part, take
from featavg.robustness.proof.witness import shows, witness_distance
from featavg.robustness.status import Status
from featavg.shown import frame, html_table, text_table


@runtime_checkable
class Asked(Protocol):
    """What a bracket needs of its question, be it one about a two-layer or about a deep network."""

    @property
    def x(self) -> Array:
        """The points: (point, axis)."""

    @property
    def y(self) -> Names:
        """Their labels: (point,)."""

    @property
    def norm(self) -> Norm:
        """The norm of the distance."""

    @property
    def box(self) -> tuple[Any, Any] | None:
        """Lowest and highest allowed coordinates, or none."""

    def margins(self, points: ArrayLike) -> Array:
        """By how much the decision at point i is still y_i, in floats: (point,)."""

    def fooled(self, points: ArrayLike) -> Bools:
        """Whether point i is misclassified or tied, in floats: (point,)."""

    def distances(self, points: ArrayLike) -> Array:
        """Distance of point i from x_i, in floats: (point,)."""

    def part(self, chosen: Any) -> Asked:
        """The same question at some of its points."""

    def same_as(self, other: Any) -> bool:
        """Whether both ask the same decision of the same network at the same points."""

    def problem(self) -> Problem | None:
        """The question in arrays, for the checker; None if there is no checker for it, as for deep networks."""


def _status(name: str) -> Status:
    return name if isinstance(name, Status) else Status(name)


@dataclass(frozen=True, repr=False)
class RadiusBracket:
    """For each point lower <= true radius <= upper; an attack alone has lower 0, a certificate alone upper ∞."""

    lower: Array  # (point,)  no smaller perturbation fools the network
    upper: Array  # (point,)  this one does
    witness: Array  # (point, axis)  the fooled point at distance upper, NaN where there is none
    status: tuple[str, ...]  # (point,)  members of Status
    question: Asked
    flags: tuple[str, ...] = ()  # what a method says against itself
    proofs: Proofs | None = None  # of the lower bounds, if they were kept
    certificates: tuple[Certificate, ...] = ()  # in rationals, of infinite radii among others
    reasons: tuple[str, ...] = ()  # (point,)  why the search ended early, empty where it did not

    def __post_init__(self) -> None:
        object.__setattr__(self, "status", tuple(_status(each) for each in self.status))
        object.__setattr__(self, "reasons", tuple(self.reasons) or ("",) * len(self.lower))

    def __len__(self) -> int:
        return len(self.lower)

    def __repr__(self) -> str:
        counts = ", ".join(f"{count} {status}" for status, count in Counter(map(str, self.status)).items())
        ends = [f"{np.median(end):.4g}" for end in (self.lower, self.upper)] if len(self) else ["-", "-"]
        return f"RadiusBracket({len(self)} points, {self.question.norm}: {counts}; medians {' and '.join(ends)})"

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

        >>> from featavg.robustness import robust_radius
        >>> robust_radius(([[1.0]], [0.0], [[1.0]], [-1.0]), [[3.0]], [1]).verify()
        array([ True])
        """
        problem = self.question.problem()
        if problem is None:
            return self._floats_agree()
        if self.proofs is None and self.lower.any() and not self.certificates:
            raise InputError("no proofs were kept with this bracket; ask again with proofs=True")
        proofs = no_proofs() if self.proofs is None else self.proofs
        witness, upper = (np.asarray(each, dtype=np.float64) for each in (self.witness, self.upper))
        if audit:
            from featavg.robustness.proof.audit import audit as audited
            from featavg.robustness.proof.audit import audit_witness

            below = self._or_certified(problem, audited(problem, proofs) >= self.lower)
            # What few bits leave open, more of them may decide.
            below = below if below.all() else below | (audited(problem, proofs, precision=1024) >= self.lower)
            above = audit_witness(problem, witness, upper)
        else:
            below = self._or_certified(problem, proves(problem, proofs, self.lower))
            above = shows(problem, witness, upper)
        return (self.lower >= 0) & below & above

    def _or_certified(self, problem: Problem, proved: Bools) -> Bools:
        """What is proved, or certified in rationals: (point,)."""
        rest = np.flatnonzero(~proved) if self.certificates else np.zeros(0, dtype=np.int64)
        proved[rest] = certified(part(problem, rest), self.certificates) >= self.lower[rest]
        return proved

    def _floats_agree(self) -> Bools:
        """Without a checker: nothing is claimed below, and in floats the witness is fooled at distance `upper`."""
        none = np.isinf(self.upper)
        points = np.where(none[:, None], self.question.x, self.witness)
        shown = self.question.fooled(points) & np.isclose(
            self.question.distances(points), self.upper, rtol=1e-12, atol=0.0
        )
        if self.question.box is not None:
            low, high = self.question.box
            shown &= ((points >= low) & (points <= high)).all(axis=1)
        return (self.lower == 0) & (none | shown)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything that is needed to verify this bracket to one file, which `load_bracket` reads."""
        from featavg.robustness.stored import save_bracket

        save_bracket(self, path)

    def to_frame(self, index: Any = None, features: Iterable[Any] | None = None) -> Any:
        """A pandas table, one row per point.

        Args:
            index: the names of the points, as in `X.index`.
            features: the names of the axes, as in `X.columns`: then each point has the value of its witness there.
        """
        labels = getattr(self.question, "labels", self.question.y)
        columns = {"label": labels, "lower": self.lower, "upper": self.upper}
        columns |= {"status": [str(each) for each in self.status], "reason": list(self.reasons)}
        names = [] if features is None else [f"witness {name}" for name in features]
        if len(names) not in (0, self.witness.shape[1]):
            raise InputError(f"features must name {self.witness.shape[1]} axes, got {len(names)}; pass X.columns")
        return frame(columns | dict(zip(names, self.witness.T, strict=False)), index)

    def summary(self) -> str:
        """Quartiles of both bounds and the statuses, in words."""
        return f"{self!r}\n{text_table(self._quartiles())}"

    def _repr_html_(self) -> str:
        return html_table(repr(self), self._quartiles())

    def _quartiles(self) -> list[tuple[str, ...]]:
        shares = (0.0, 0.25, 0.5, 0.75, 1.0) if len(self) else ()
        head = ("share of points", *(f"{share:.0%}" for share in shares))
        ends = {"lower": self.lower, "upper": self.upper}
        # Of the points themselves: between a finite and an infinite radius there is nothing.
        taken = {name: np.quantile(end, shares, method="lower").tolist() for name, end in ends.items()}
        return [head, *((name, *(f"{value:.4g}" for value in values)) for name, values in taken.items())]


def shown_distances(question: Asked, points: Array) -> Array:
    """How far points (point, axis) are that are certainly fooled, rounded up, ∞ where they are not: (point,).

    In the checker's enclosures, or in floats where there is no checker.
    """
    problem = question.problem()
    if problem is None:
        there: Bools = np.asarray(np.isfinite(points).all(axis=1))
        safe = np.where(there[:, None], points, question.x)
        return np.where(there & question.fooled(safe), question.distances(safe), np.inf)
    return witness_distance(problem, points)


def proofs_at(proofs: Proofs, points: Ints) -> Proofs:
    """The proofs of some points, renumbered to their positions."""
    order = np.argsort(proofs.point, kind="stable")
    first = np.searchsorted(proofs.point[order], points, side="left")
    last = np.searchsorted(proofs.point[order], points, side="right")
    trees = np.concatenate([order[a:b] for a, b in zip(first, last, strict=True)] or [order[:0]])
    return take(proofs, trees)._replace(point=np.repeat(np.arange(len(points)), last - first))


def joined(parts: Sequence[tuple[Ints, Proofs]]) -> Proofs:
    """The proofs about parts of the points, each with the positions (point,) that its points have in the whole."""
    return join([proofs._replace(point=places[proofs.point]) for places, proofs in parts])
