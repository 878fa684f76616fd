"""Two classifiers at points that neither was trained on: accuracy and radius in one breath (`decision.py`)."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from featavg.arrays import Array
from featavg.intervals import bootstrap_ratio, normal
from featavg.record import Result, number
from featavg.refine.decision import Interval, Measured, Standing, standings_table, widened
from featavg.refine.results import INTERVALS, SIDES, comparison_result, plain, plotted
from featavg.shown import frame, html_table, text_table

EXACT = 1e-5  # relative distance of bounds below which a radius is called exact
KEEP = 0.01  # of accuracy: the largest loss that is allowed by default
OTHERS = (
    "Where all classifiers stand beside each other, radii are upper bounds: by that search for the first two, by an "
    "attack for the others."
)
Outcome = Literal["hardened", "weakened", "no sure difference", "costs accuracy", "no finer labels", "no radius"]


@dataclass(frozen=True, repr=False)
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
    others: tuple[tuple[str, Measured], ...] = field(default=(), repr=False)  # what else a user would try, by name

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
        return value, (float(np.exp(low)), float(np.exp(high)) if high < 700.0 else np.inf)

    @property
    def costs_accuracy(self) -> bool:
        """Whether accuracy is lost beyond what is allowed and beyond what the points explain.

        Splits that disagree are no excuse here: a training that may fail is a loss to whoever runs it once.
        """
        change = self.after.right - self.before.right
        return float(change.mean()) < -self.keep_accuracy and normal(change)[1] < 0

    @property
    def gains_accuracy(self) -> bool:
        """Whether accuracy is won beyond `keep_accuracy` and beyond what the points explain."""
        change = self.after.right - self.before.right
        return float(change.mean()) > self.keep_accuracy and normal(change)[0] > 0

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
        clean = f"clean accuracy goes from {before:.3f} to {after:.3f} (by {_signed(low)} to {_signed(high)})"
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
                return (
                    f"Radii have no ratio: the medians are {number(self.median[0])} and {number(self.median[1])}, "
                    f"where 0 means that half of the points are errors; {clean}. Check that the columns tell the "
                    "classes apart."
                )
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

    def table(self) -> list[tuple[str, ...]]:
        """Every number with its name, before and after, as text."""
        return [
            ("classifier", *self.kinds),
            (f"accuracy at {len(self.before.right)} held-out points", *map(number, self.accuracy)),
            (f"accuracy {self._where} ℓ2 radius {number(self.median[0])}", *map(number, self.robust)),
            (f"median ℓ2 radius at {self.radii.shape[1]} of them", *self._bounds()),
        ]

    def _bounds(self) -> tuple[str, str]:
        """The median radii, with the side on which the true ones lie."""
        before, after = map(number, self.median)
        return f"at most {before}", f"at {'least' if self.proved else 'most'} {after}"

    @property
    def _where(self) -> str:
        return "at" if self.proved else "under attack at"

    @property
    def standings(self) -> tuple[Standing, ...]:
        """Every classifier that was measured, with intervals."""
        sides = (*zip(self.kinds, (self.before, self.after), strict=True), *self.others)
        return tuple(Standing.of(name, side, self.seed) for name, side in sides)

    def __repr__(self) -> str:
        return f"Comparison({self.kinds[0]} → {self.kinds[1]}: {self.outcome}, median radius {self.factor_text})"

    def __str__(self) -> str:
        tables = [[("", *SIDES), *self.table()], standings_table(self.standings) if self.others else []]
        return "\n\n".join([self.verdict, *(text_table(rows) for rows in tables if rows), self.note])

    def _repr_html_(self) -> str:
        return html_table(self.verdict, standings_table(self.standings))

    def summary(self) -> str:
        """The verdict, the tables and how the numbers were obtained, as print shows them."""
        return str(self)

    def to_frame(self) -> Any:
        """A pandas table, one row per classifier: accuracy and median radius with their intervals."""
        return frame({
            "accuracy": [one.accuracy for one in self.standings],
            "accuracy interval": [one.accuracy_interval for one in self.standings],
            "median radius": [one.radius for one in self.standings],
            "radius interval": [one.radius_interval for one in self.standings],
        }, [one.name for one in self.standings])  # fmt: skip

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
            f"Sub-classes of each class{', at most' if splits > 1 else ''}: {', '.join(map(str, self.per_class))}.",
            *([OTHERS] if self.others else []),
            *self.notes,
        ])  # fmt: skip

    def to_result(self) -> Result:
        """Return the comparison as a result, which the report draws."""
        return comparison_result(self)

    def plot(self, path: str | os.PathLike[str] | None = None) -> Any:
        """Draw robust accuracy over the radius, before and after, as a matplotlib figure; see `plotted`."""
        return plotted(self.to_result().evidence, path)

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write one self-contained HTML page and return its path."""
        return write_page(self.to_result(), path)

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
            "standings": [asdict(one) for one in self.standings],
            "seed": self.seed, "seconds": self.seconds,
        }  # fmt: skip
        return json.dumps(plain(content), indent=1, ensure_ascii=False, allow_nan=False)


class Compared:
    """What was refined and compared shows itself as its comparison does."""

    compared: Comparison

    def __str__(self) -> str:
        return str(self.compared)

    def _repr_html_(self) -> str:
        return self.compared._repr_html_()

    def summary(self) -> str:
        """The verdict, the tables and how the numbers were obtained."""
        return str(self)

    def to_frame(self) -> Any:
        """A pandas table, one row per classifier."""
        return self.compared.to_frame()

    def plot(self, path: str | os.PathLike[str] | None = None) -> Any:
        """Curves of robust accuracy; see `Comparison.plot`."""
        return self.compared.plot(path)

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write one self-contained HTML page and return its path."""
        return self.compared.report(path)


def write_page(result: Result, path: str | os.PathLike[str]) -> Path:
    """The page of a comparison's result."""
    # Late: the page needs matplotlib, the numbers do not.
    from featavg.report import write_report

    return write_report([result], path, heading="What refinement changed", intervals=INTERVALS)


def _signed(value: float) -> str:
    return f"{round(value, 3) + 0.0:+.3f}".replace("-", "−")
