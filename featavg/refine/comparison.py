"""Two classifiers at points that neither was trained on: accuracy and radius in one breath, with honest intervals.

Everything is repeated over splits, each with its own training, and an interval covers both. With e² the variance that
points alone give to a mean over all of them, and s² that between the S splits,

    τ² = max(0, s² − S e²)        half width² = (that over points)² + (t τ/√S)²

t of Student with S − 1 degrees of freedom. So luck with one split or one start is not called sure, and splits that
differ by no more than their points explain add nothing.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from featavg.arrays import Array, Ints
from featavg.intervals import bootstrap_ratio, normal, student_t
from featavg.record import Result
from featavg.record.words import number
from featavg.refine.decision import Decision
from featavg.refine.results import INTERVALS, SIDES, comparison_result, plain
from featavg.robustness import Budget

EXACT = 1e-5  # relative distance of bounds below which a radius is called exact
NORMAL = 1.96  # deviations of an interval of level 95 %
KEEP = 0.01  # of accuracy: the largest loss that is allowed by default
Interval = tuple[float, float]
Outcome = Literal["hardened", "weakened", "no sure difference", "costs accuracy", "no finer labels", "no radius"]


@dataclass(frozen=True)
class Measured:
    """One kind of classifier at the held-out points of all splits, each split with its own training."""

    right: Array  # (held out,)  1 where the decision is right, else 0
    right_split: Ints  # (held out,)  which split a point belongs to
    lower: Array  # (measured,)  proved radii of some of these points; all 0 from an attack
    upper: Array  # (measured,)  radii at which a perturbation was found; 0 for errors
    split: Ints  # (measured,)

    @property
    def accuracy(self) -> float:
        """The share of held-out points that are right."""
        return float(self.right.mean())


def measure(decisions: Sequence[Decision], points: int, budget: Budget | None = None) -> Measured:
    """Measure a decision of each split at its own points, radii at `points` of them in all.

    Radii are bracketed with a budget per point, and without one by an attack, which gives upper bounds only.
    """
    rights: list[Array] = []
    lowers: list[Array] = []
    uppers: list[Array] = []
    for decision in decisions:
        rows = np.arange(min(len(decision.data), -(-points // len(decisions))))
        rights.append(decision.right())
        if budget is None:
            uppers.append(decision.attack(rows))
            lowers.append(np.zeros(len(rows)))
        else:
            found = decision.radius(rows, budget)
            lowers.append(found.lower)
            uppers.append(found.upper)
    numbers = [np.repeat(np.arange(len(parts)), [len(part) for part in parts]) for parts in (rights, uppers)]
    right, lower, upper = (np.concatenate(parts) for parts in (rights, lowers, uppers))
    return Measured(right, numbers[0], lower, upper, numbers[1])


@dataclass(frozen=True)
class Comparison:
    """What a change of classifier brings; print it for the verdict and the table. Radii are ℓ2.

    Where radii were proved, before is given its upper bounds and after its lower ones; an attack knows only upper ones.
    """

    kinds: tuple[str, str]  # what was compared, in words
    how: str  # where radii come from, of which decision and in which space
    per_class: tuple[int, ...]  # (class,)  the most sub-classes that were trained on in a split
    before: Measured = field(repr=False)
    after: Measured = field(repr=False)
    keep_accuracy: float = KEEP  # the largest loss of accuracy that is allowed
    notes: tuple[str, ...] = ()
    seed: int = 0
    seconds: float = 0.0

    @property
    def accuracy(self) -> tuple[float, float]:
        """Shares of held-out points that are right."""
        return self.before.accuracy, self.after.accuracy

    @cached_property
    def accuracy_change(self) -> tuple[float, Interval]:
        """Accuracy after − before, paired over points, and its 95 % interval."""
        change = self.after.right - self.before.right
        over_splits = [float(change[self.before.right_split == s].mean()) for s in np.unique(self.before.right_split)]
        return float(change.mean()), widened(float(change.mean()), normal(change), over_splits)

    @property
    def proved(self) -> bool:
        """Whether the radii have lower bounds."""
        return bool(self.after.lower.any())

    @property
    def radii(self) -> Array:
        """What the verdict rests on: (2, measured)."""
        return np.stack([self.before.upper, self.after.lower if self.proved else self.after.upper])

    @property
    def median(self) -> tuple[float, float]:
        """Median radii."""
        before, after = np.median(self.radii, axis=1).tolist()
        return before, after

    @property
    def robust(self) -> tuple[float, float]:
        """Accuracy at the median radius of before."""
        before, after = (self.radii > self.median[0]).mean(axis=1).tolist()
        return before, after

    @cached_property
    def factor(self) -> tuple[float, Interval] | None:
        """Median radius after/before and its 95 % interval; None where a median is 0 or infinite: there is no ratio."""
        if not all(0 < median < np.inf for median in self.median):
            return None
        value, points = bootstrap_ratio(self.radii[1], self.radii[0], np.median, np.random.default_rng(self.seed))
        parts = [np.median(self.radii[:, self.before.split == s], axis=1) for s in np.unique(self.before.split)]
        if any(not 0 < median < np.inf for part in parts for median in part):
            return value, (0.0, np.inf)
        logs = [float(np.log(after / before)) for before, after in parts]
        low, high = widened(float(np.log(value)), np.log(np.maximum(points, 1e-300)).tolist(), logs)
        return value, (float(np.exp(low)), float(np.exp(min(high, 700.0))))

    @property
    def costs_accuracy(self) -> bool:
        """Whether accuracy is lost beyond what is allowed and beyond what the points explain.

        Splits that disagree are no excuse here: a training that may fail is a loss to whoever runs it once.
        """
        change = self.after.right - self.before.right
        return float(change.mean()) < -self.keep_accuracy and normal(change)[1] < 0

    @property
    def outcome(self) -> Outcome:
        """What happened, in one word or two."""
        if max(self.per_class) == 1:
            return "no finer labels"
        if self.costs_accuracy:
            return "costs accuracy"
        if self.factor is None:
            return "no radius"
        low, high = self.factor[1]
        return "hardened" if low > 1.0 else "weakened" if high < 1.0 else "no sure difference"

    @property
    def helped(self) -> bool:
        """Whether the radius surely grew, at an accuracy that is kept."""
        return self.outcome == "hardened"

    @property
    def verdict(self) -> str:
        """What refinement did, how sure that is, and what to do."""
        before, after = self.accuracy
        change, (low, high) = self.accuracy_change
        clean = f"clean accuracy goes from {before:.3f} to {after:.3f} ({_signed(low)} to {_signed(high)})"
        robust = f"{self._where} ℓ2 radius {number(self.median[0])} from {self.robust[0]:.3f} to {self.robust[1]:.3f}"
        match self.outcome:
            case "no finer labels":
                return f"No finer labels found: each class is one sub-class, so keep the labels as they are; {clean}."
            case "costs accuracy":
                gain = "" if self.factor is None else f", for a median radius {self.factor_text}"
                return (
                    f"Refinement costs accuracy: {clean}{gain}. Keep the classifier that there was, or allow such a "
                    f"loss with keep_accuracy above {-change:.3f}."
                )
            case "no radius":
                return f"Radii have no ratio: the medians are {number(self.median[0])} and {number(self.median[1])}, " \
                    f"where 0 means that half of the points are errors; {clean}."  # fmt: skip
            case "hardened":
                return f"Refinement hardened it: the median radius is {self.factor_text}; {clean}, {robust}. Use it."
            case "weakened":
                return f"Refinement weakened it: the median radius is {self.factor_text}; {clean}, {robust}. " \
                    "Keep the classifier that there was."  # fmt: skip
        return f"Refinement made no sure difference: the median radius is {self.factor_text}; {clean}, {robust}. " \
            "More points would tell."  # fmt: skip

    @property
    def factor_text(self) -> str:
        """The factor with its interval in words."""
        if self.factor is None:
            return "without a ratio"
        value, (low, high) = self.factor
        return f"{value:.2f} times as large ({low:.2f} to {number(high) if high > 1e3 else f'{high:.2f}'})"

    def table(self) -> list[tuple[str, str, str]]:
        """Every number with its name, before and after, as text."""
        return [
            ("classifier", *self.kinds),
            (f"accuracy at {len(self.before.right)} held-out points", *_pair(self.accuracy)),
            (f"accuracy {self._where} ℓ2 radius {number(self.median[0])}", *_pair(self.robust)),
            (f"median ℓ2 radius at {self.radii.shape[1]} of them", *_pair(self.median)),
        ]

    @property
    def _where(self) -> str:
        return "at" if self.proved else "under attack at"

    def __str__(self) -> str:
        rows = [("", *SIDES), *self.table()]
        wide = [max(len(row[column]) for row in rows) for column in range(3)]
        lines = ("  ".join(f"{cell:<{width}}" for cell, width in zip(row, wide, strict=True)) for row in rows)
        return "\n".join([self.verdict, "", *(line.rstrip() for line in lines), "", self.note])

    @property
    def note(self) -> str:
        """How the numbers were obtained."""
        sides, points = (self.before, self.after), self.radii.shape[1]
        exact = int(np.all([side.upper - side.lower <= EXACT * side.upper for side in sides], axis=0).sum())
        sure = f"exact at {exact} of {points} points" + (
            "" if exact == points else ", bounded in favour of before elsewhere"
        )
        splits = len(np.unique(self.before.split))
        covered = f"{splits} splits with a training each" if splits > 1 else "one split and one training"
        return " ".join([
            f"Radii by {self.how}: {sure if self.proved else 'upper bounds'}. Errors have radius 0.",
            f"Held-out points took no part in the refinement; intervals are over points and {covered}.",
            f"Sub-classes of each class: {', '.join(map(str, self.per_class))}.",
            *self.notes,
        ])  # fmt: skip

    def to_result(self) -> Result:
        """Return the comparison as a result, which the report draws."""
        return comparison_result(self)

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write one self-contained HTML page and return its path."""
        # Late: the page needs matplotlib, the numbers do not.
        from featavg.report import write_report

        return write_report([self.to_result()], path, heading="What refinement changed", intervals=INTERVALS)

    def to_json(self) -> str:
        """Return every number as JSON; what is not finite is null."""
        content: dict[str, Any] = {
            "verdict": self.verdict, "outcome": self.outcome, "helped": self.helped,
            "factor": None if self.factor is None else self.factor[0],
            "factor_interval": None if self.factor is None else self.factor[1],
            "accuracy_change": self.accuracy_change[0], "accuracy_change_interval": self.accuracy_change[1],
            "kinds": self.kinds, "how": self.how, "per_class": self.per_class, "held_out": len(self.before.right),
            "accuracy": self.accuracy, "at": self.median[0], "robust": self.robust, "median": self.median,
            "proved": self.proved, "lower": np.stack([self.before.lower, self.after.lower]),
            "upper": np.stack([self.before.upper, self.after.upper]), "split": self.before.split,
            "seed": self.seed, "seconds": self.seconds,
        }  # fmt: skip
        return json.dumps(plain(content), indent=1, ensure_ascii=False, allow_nan=False)


def widened(value: float, points: Sequence[float], splits: Sequence[float]) -> Interval:
    """A 95 % interval over points around `value`, widened by what splits differ beyond that (the module's formula).

    >>> widened(0.0, (-1.0, 1.0), (0.1, -0.1, 0.0))
    (-1.0, 1.0)
    >>> low, high = widened(0.0, (-1.0, 1.0), (9.0, -9.0))
    >>> high > 50
    True
    """
    count = len(splits)
    error = (points[1] - points[0]) / (2 * NORMAL)
    between = float(np.var(splits, ddof=1)) - count * error**2 if count > 1 else 0.0
    extra = student_t(splits)[1] - float(np.mean(splits)) if between > 0 else 0.0
    # Student's half width is t s/√S; of s² the share τ²/s² is not explained by the points.
    extra *= float(np.sqrt(between / np.var(splits, ddof=1))) if between > 0 else 0.0
    return value - float(np.hypot(value - points[0], extra)), value + float(np.hypot(points[1] - value, extra))


def _pair(values: tuple[float, float]) -> tuple[str, str]:
    return number(values[0]), number(values[1])


def _signed(value: float) -> str:
    return f"{value:+.3f}".replace("-", "−")
