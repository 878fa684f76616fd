"""A claim: what is expected, what was measured over seeds, and the verdict that follows from the numbers.

The rule. A claim accepts a region: expected ± tolerance (`near`), from expected − tolerance upwards (`at least`), or
up to expected + tolerance (`at most`). The verdict compares the confidence interval of the measured value with it:

    holds    the whole interval lies in the region
    fails    no point of the interval lies in the region
    open     the interval straddles the border: more seeds are needed
    vacuous  it holds, but the bound says nothing at any size that can be run (the reason is given)

Multiple testing. Intervals have level 1 − 0.05 / FAMILY (Bonferroni), FAMILY being an upper limit, fixed beforehand,
of the number of claims in the whole project. So with probability 0.95 *every* interval covers its true value at once,
and no claim is settled wrongly by chance, whichever claims are run and in whichever order.

Intervals. A mean over seeds has Student's interval over seeds. A mean of shares, each of a known number of points, has
the smallest interval that holds Student's over seeds and Clopper and Pearson's over all points (`share_over_seeds`):
equal shares at every seed prove no more than their points do. A number that no seed enters has no interval.

Checks. An identity, a closed form or a count that could only be missed by a mistake in the program is a check: it is
tested and told like a claim, and not counted as one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal, cast, get_args

import numpy as np
from numpy.typing import ArrayLike

from featavg.arrays import finite_vector
from featavg.errors import InputError
from featavg.intervals import share_over_seeds, student_t, student_t_width

Relation = Literal["near", "at least", "at most"]
Verdict = Literal["holds", "fails", "open", "vacuous"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
FAMILY = 500
LEVEL = 1 - 0.05 / FAMILY


@dataclass(frozen=True)
class Claim:
    """A statement, the number it expects, the number that was measured, and how far apart the two may be.

    >>> claim = Claim.over_seeds(
    ...     [0.443, 0.444, 0.443, 0.444, 0.443], "Neurons align with the average of their class.",
    ...     source="Theorem 1(1), Fig. 2(a)", expected=5**-0.5, tolerance=0.02,
    ...     tolerance_reason="sampling noise of 100 points per cluster", published=0.443, how="mean same-class cosine")
    >>> claim.verdict
    'holds'
    """

    text: str
    source: str  # where it is claimed: "Theorem 1(3), Fig. 2(a)"
    expected: float
    measured: float
    interval: tuple[float, float]  # confidence interval of the measured value over seeds
    tolerance: float
    tolerance_reason: str  # to be written down before the run; revisions are listed in results/README.md
    relation: Relation = "near"
    published: float | None = None
    unit: str = ""
    how: str = ""  # how the number was obtained: read-out, statistic, over what
    vacuous: str = ""  # why the bound, if it holds, says nothing
    interval_of: str = ""  # what the interval is: "Student's t over 10 seeds"
    check: bool = False  # an identity, which only a mistake in the program could break

    def __post_init__(self) -> None:
        # NumPy scalars are welcome and leave as plain floats, which JSON knows.
        for name in ("expected", "measured", "tolerance"):
            object.__setattr__(self, name, _finite(getattr(self, name), f"{name} of the claim {self.text!r}"))
        if self.published is not None:
            object.__setattr__(self, "published", _finite(self.published, f"published of the claim {self.text!r}"))
        low, high = (float(end) for end in self.interval)
        object.__setattr__(self, "interval", (low, high))
        if not low <= self.measured <= high:
            raise InputError(f"the interval of {self.text!r} must hold {self.measured}, got {low} to {high}")
        if self.tolerance < 0:
            raise InputError(f"the tolerance of {self.text!r} must not be negative, got {self.tolerance}")
        if not (self.text.strip() and self.source.strip() and self.tolerance_reason.strip()):
            raise InputError(f"a claim needs a text, a source and a reason for its tolerance, got {self.text!r}")
        if self.relation not in get_args(Relation):
            raise InputError(f"relation must be one of {', '.join(get_args(Relation))}, got {self.relation!r}")

    @classmethod
    def over_seeds(cls, values: ArrayLike, text: str, points: int = 0, **fields: Any) -> Claim:
        """Make a claim about the mean of `values` (seed,), with its interval; `fields` are the others.

        With `points` each value is a share of so many independent points.
        """
        given = finite_vector(values, f"values of the claim {text!r}")
        measured = float(np.mean(given))
        low, high = share_over_seeds(given, points, LEVEL) if points else student_t(given, LEVEL)
        fields.setdefault("interval_of", f"Student's t over {len(given)} seeds" + _points_too(points, len(given)))
        # The mean of equal values may differ from each of them in the last digit.
        return cls(text=text, measured=measured, interval=(min(low, measured), max(high, measured)), **fields)

    @classmethod
    def exact(cls, value: float, text: str, **fields: Any) -> Claim:
        """Make a claim about a number that no seed enters: a closed form, a count, a proof."""
        return cls(text=text, measured=value, interval=(value, value), **fields)

    @property
    def accepted(self) -> tuple[float, float]:
        """The region in which the claim is true."""
        low = -math.inf if self.relation == "at most" else self.expected - self.tolerance
        high = math.inf if self.relation == "at least" else self.expected + self.tolerance
        return low, high

    @property
    def verdict(self) -> Verdict:
        """The rule at the top of this file, applied."""
        (low, high), (accepted_low, accepted_high) = self.interval, self.accepted
        if high < accepted_low or low > accepted_high:
            return "fails"
        if low < accepted_low or high > accepted_high:
            return "open"
        return "vacuous" if self.vacuous else "holds"


def at_level(claim: Claim, seeds: int, family: int) -> Claim:
    """A claim whose Student interval over `seeds` was made for a smaller family of claims, widened to today's.

    mean ± t·s/√n at two levels differ by the ratio of the t alone, so this is what a new run would have got.
    """
    if family == FAMILY or seeds < 2:
        return claim
    widening = student_t_width(seeds, LEVEL) / student_t_width(seeds, 1 - 0.05 / family)
    low, high = (claim.measured + (end - claim.measured) * widening for end in claim.interval)
    return replace(claim, interval=(low, high))


def count_verdicts(claims: Iterable[Claim]) -> dict[Verdict, int]:
    """Count the claims of each verdict, in the order holds, fails, open, vacuous; checks are not counted."""
    found = [claim.verdict for claim in claims if not claim.check]
    return {verdict: found.count(verdict) for verdict in VERDICTS}


def _points_too(points: int, seeds: int) -> str:
    return f" and Clopper-Pearson's over {points * seeds} points, whichever reaches further" if points else ""


def _finite(value: object, name: str) -> float:
    number = float(cast(float, value))
    if not math.isfinite(number):
        raise InputError(f"{name} must be a finite number, got {number}; a run that gave none is no evidence")
    return number
