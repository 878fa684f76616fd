"""A classifier at points that it was not trained on, over several splits, and intervals that cover both.

Everything is repeated over splits, each with its own training, and an interval covers both. With e² the variance that
points alone give to a mean over all of them, and s² that between the S splits,

    τ² = max(0, s² − S e²)        half width² = (that over points)² + (t τ/√S)²

t of Student with S − 1 degrees of freedom. So luck with one split or one start is not called sure, and splits that
differ by no more than their points explain add nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np

from featavg.arrays import Array, Ints
from featavg.intervals import student_t
from featavg.refine.decision import Decision
from featavg.robustness import Budget

NORMAL = 1.96  # deviations of an interval of level 95 %
Interval = tuple[float, float]


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


def measure(
    decisions: Sequence[Decision], points: int, budget: Budget | None = None, executor: Executor | None = None
) -> Measured:
    """Measure a decision of each split at its own points, radii at `points` of them in all.

    Radii are bracketed with a budget per point, by an executor if there is one, and without a budget by an attack,
    which gives upper bounds only.
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
            found = decision.radius(rows, budget, executor)
            lowers.append(found.lower)
            uppers.append(found.upper)
    numbers = [np.repeat(np.arange(len(parts)), [len(part) for part in parts]) for parts in (rights, uppers)]
    right, lower, upper = (np.concatenate(parts) for parts in (rights, lowers, uppers))
    return Measured(right, numbers[0], lower, upper, numbers[1])


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
