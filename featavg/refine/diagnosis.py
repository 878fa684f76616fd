"""A diagnosis: does it average, how bad is it, which points, what to do; in words, numbers, figures and as a page."""

from __future__ import annotations

import json
import math
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from featavg.analysis import Averages
from featavg.arrays import Array, Ints
from featavg.data import Dataset, Names
from featavg.record import Result, number
from featavg.refine.decision import INPUTS
from featavg.refine.gain import ENOUGH, Gain
from featavg.refine.results import AVERAGING, INTERVALS, diagnosis_result, plain, plotted, with_fragile_images
from featavg.shown import frame, html_table

if TYPE_CHECKING:
    from featavg.refine.diagnose import Flips

LEVEL = 0.05  # of the p-value
MANY = 12  # classes that are listed one by one
Advice = Literal[
    "at chance", "no finer labels", "already refined", "train on finer labels", "costs accuracy", "too few points",
    "will not help", "unsure",
]  # fmt: skip


@dataclass(frozen=True, repr=False)
class Diagnosis:
    """What `diagnose` found; print it for the verdict and the tables."""

    kind: str  # what was diagnosed
    space: str  # in which radii are measured
    points: int
    accuracy: float
    at_chance: bool  # whether it is not surely better than chance at these points, all classes weighed alike
    refined: bool  # whether it was trained on finer labels already
    classes: Names  # (class,)
    per_class: Ints  # (class,)  sub-classes of each class
    sublabels_given: bool
    class_of: Ints  # (subclass,)
    row_class: Ints  # (row,)  of the rows in `averages`
    averages: Averages
    flips: Flips
    rows: Ints  # (measured,)  which points were measured
    labels: Names  # (measured,)  their classes
    subclass: Names  # (measured,)  their sub-classes by name
    margin: Array  # (measured,)  by how much the outputs are right, negative for errors
    attack: Array  # (measured,)  their radii under attack, upper bounds
    exact_lower: Array  # (measured,)  proved
    exact_upper: Array  # (measured,)
    gain: Gain | None  # None where there is nothing to try
    seed: int = 0
    seconds: float = 0.0

    @property
    def does_average(self) -> bool | None:
        """Whether the typical row averages: p < 0.05 and index > 0.5; None if no class has two sub-classes."""
        if not math.isfinite(self.averages.p_value):
            return None
        return self.averages.p_value < LEVEL and self.averages.median_index > AVERAGING

    @property
    def advice(self) -> Advice:
        """What to do, in a few words."""
        if self.at_chance:
            return "at chance"
        if self.refined:
            return "already refined"
        if self.gain is None or self._is_one():
            return "no finer labels"
        if self.gain.over_model.costs_accuracy:
            # Whether labels or missing points cost it can be told only after training on as many points as the model.
            return "costs accuracy" if self.gain.train_given else "too few points"
        if self.gain.raised:
            return "train on finer labels"
        return "will not help" if self.gain.refuted else "unsure"

    def _is_one(self) -> bool:
        """Whether each class is one: trained as one, or without sub-classes that show and without a gain."""
        assert self.gain is not None
        return self.gain.rarest >= ENOUGH and (
            max(self.gain.over_model.per_class) == 1
            or (self.per_class.max() == 1 and (self.gain.over_model.costs_accuracy or not self.gain.raised))
        )

    @property
    def finer_labels_help(self) -> bool:
        """Whether sub-classes exist, and training on them surely raises the radius and does not surely cost accuracy.

        The 95 % intervals of the median radius over the model's and over that of coarse labels both lie above 1.05, and
        accuracy is not surely lost beyond `keep_accuracy`.
        """
        return self.advice == "train on finer labels"

    @property
    def fragile(self) -> Ints:
        """The 20 right points with the smallest radii among those measured, most fragile first."""
        right = np.flatnonzero(self.attack > 0)
        return self.rows[right[np.argsort(self.attack[right])][:20]]

    @property
    def median_radius(self) -> tuple[float, float]:
        """Lower and upper bound of the median radius of the measured points; errors count as 0."""
        return float(np.median(self.exact_lower)), float(np.median(self.exact_upper))

    @property
    def verdict(self) -> str:
        """What is wrong, how sure that is, and what to do."""
        if self.at_chance:
            return (
                f"This model is no better than chance on these points (accuracy {self.accuracy:.3f}): check that "
                "columns, scales and labels are those that it was trained on."
            )
        return f"{self._wrong()} {self._advised()}"

    def _wrong(self) -> str:
        found, counts = self.averages, " to ".join(map(str, sorted({self.per_class.min(), self.per_class.max()})))
        if self.does_average is None and self.per_class.max() > 1:
            return "Half of the points are too few to show its sub-classes, so averaging could not be tested."
        if self.does_average is None:
            return "No class shows sub-classes, so there is nothing its weights could average."
        facts = f"index {found.median_index:.2f}, p = {found.p_value:.2g}, {counts} sub-classes per class"
        if self.does_average:
            return f"It averages: the weights of a class hold all of its sub-classes alike ({facts})."
        weak = "; with two sub-classes per class such a test has little power" if self.per_class.max() <= 2 else ""
        if found.p_value < LEVEL:
            return (
                f"Its weights lean towards the average of their class more than chance does, but hold some sub-classes "
                f"far more than others: too uneven to be called averaging ({facts})."
            )
        return f"Its weights are no nearer to the average of their class than chance explains ({facts}{weak})."

    def _advised(self) -> str:
        if self.refined:
            return "It is already refined: several outputs speak for one class, so there is no finer training to try."
        if self.gain is None:
            return "No finer labels found: keep the labels as they are."
        model, coarse = self.gain.over_model, self.gain.over_coarse
        before, after = model.accuracy
        where = "" if self.space == INPUTS else f" in {self.space}"
        radii = (
            f"its median radius{where} is {model.factor_text} against this model and {coarse.factor_text} against "
            "coarse labels by the same training"
        )
        accuracy = f"accuracy {after:.3f} against {before:.3f}"
        match self.advice:
            case "no finer labels":
                if self.per_class.max() > 1:
                    return (
                        "Finer labels are not worth it: one sub-class per class was best at held-out points, of all "
                        "numbers that were tried. Keep the labels as they are."
                    )
                tried = "" if max(model.per_class) == 1 else f" Cut into pieces all the same, {radii}, at {accuracy}."
                return f"No finer labels found: keep the labels as they are.{tried}"
            case "train on finer labels":
                though = "" if self.does_average else "Finer labels help all the same. "
                return f"{though}Train on finer labels with SubclassClassifier: {radii}, at {accuracy}."
            case "costs accuracy":
                return f"Finer labels would cost accuracy: trained on the same points, {accuracy}; {radii}. " \
                    "Keep the labels, unless that robustness is worth it."  # fmt: skip
            case "too few points":
                few = f"trained on {self.gain.trained_on} of these points alone, {accuracy}"
                return f"Too few points to advise: {few}. Pass those that it was trained on: train=(X, y)."
            case "will not help":
                return (
                    f"Finer labels will not help: {radii}, at {accuracy}. Less than 5 % more is not worth new "
                    "labels: keep them as they are."
                )
        where = f" of the class that has {self.gain.rarest}" if self.gain.rarest < ENOUGH else ""
        return f"Whether finer labels would help is not sure: {radii}, at {accuracy}. More points{where} would tell" + (
            "." if self.gain.train_given else ", best those that it was trained on: train=(X, y)."
        )

    def table(self) -> list[tuple[str, str]]:
        """Every number about the model as it is, with its name, as text."""
        measured = len(self.rows)
        exact = self.exact_upper - self.exact_lower <= 1e-5 * self.exact_upper
        low, high = self.median_radius
        return [
            ("classifier", self.kind),
            (f"accuracy at all {self.points} points", number(self.accuracy)),
            (f"sub-classes of each class, {'given' if self.sublabels_given else 'found'}", self._counted()),
            *self._averaging(),
            (f"median ℓ2 radius at {measured} points, in {self.space}",
             f"{number(low)} to {number(high)}, exact at {int(exact.sum())} of them"),
            ("their quartiles, upper bounds",
             ", ".join(number(float(np.quantile(self.exact_upper, share))) for share in (0.25, 0.5, 0.75))),
            ("median ℓ2 radius of one common direction per class",
             f"{number(self.flips.ratio)} times that of an attack"),
            ("most fragile of them", ", ".join(map(str, self.fragile[:10].tolist()))),
        ]  # fmt: skip

    def _averaging(self) -> list[tuple[str, str]]:
        """How the weights relate to the sub-classes, as text."""
        found, index = self.averages, "averaging index (1 averages, 0 decoupled)"
        if self.does_average is None:
            return [(index, "not tested, no class shows two sub-classes")]
        return [
            (index, number(found.median_index)),
            ("p-value, 2·median over rows", number(found.p_value)),
            ("share of the weights in class averages", f"{found.share:.3f} ({found.chance_share:.3f} by chance)"),
        ]

    def _counted(self) -> str:
        """The number of sub-classes by class, or from which to which where classes are many."""
        if len(self.per_class) > MANY:
            return f"{self.per_class.min()} to {self.per_class.max()}"
        return ", ".join(f"{count} of {name}" for name, count in zip(self.classes, self.per_class, strict=True))

    def gain_table(self) -> list[tuple[str, str]]:
        """Every number about training again, at the held-out points of all splits; empty where nothing was tried."""
        if self.gain is None:
            return []
        model, coarse = self.gain.over_model, self.gain.over_coarse
        held, measured = len(model.before.right), model.radii.shape[1]
        return [
            (f"accuracy at {held} held-out points: model, coarse, finer",
             ", ".join(map(number, (model.accuracy[0], *coarse.accuracy)))),
            (f"median ℓ2 radius under attack at {measured} of them, in {self.space}",
             ", ".join(map(number, (model.median[0], *coarse.median)))),
            ("points of each training", str(self.gain.trained_on)),
            ("sub-classes of each class that it took", ", ".join(map(str, model.per_class))),
        ]  # fmt: skip

    def __repr__(self) -> str:
        return f"Diagnosis({self.kind}, {self.points} points, accuracy {self.accuracy:.3f}: {self.advice})"

    def _repr_html_(self) -> str:
        return html_table(self.verdict, [*self.table(), *self.gain_table()])

    def summary(self) -> str:
        """The verdict and the tables, as print shows them."""
        return str(self)

    def to_frame(self, index: Any = None) -> Any:
        """A pandas table, one row per measured point, called as in `index`, the names of all points, or by number."""
        columns = {"class": self.labels, "subclass": self.subclass, "margin": self.margin, "attack": self.attack}
        columns |= {"lower": self.exact_lower, "upper": self.exact_upper, "fragile": np.isin(self.rows, self.fragile)}
        return frame(columns, self.rows if index is None else np.asarray(index)[self.rows])

    def __str__(self) -> str:
        tables = [rows for rows in (self.table(), self.gain_table()) if rows]
        wide = max(len(name) for rows in tables for name, _ in rows)
        parts = ["\n".join(f"{name:<{wide}}  {value}" for name, value in rows) for rows in tables]
        return "\n\n".join([self.verdict, *parts])

    def to_result(self) -> Result:
        """Return the diagnosis as a result, which the report draws: a claim that fails is a finding about the model."""
        return diagnosis_result(self)

    def plot(self, path: str | os.PathLike[str] | None = None) -> Any:
        """Draw the share of points that perturbations of each size flip: a matplotlib figure; see `plotted`."""
        return plotted(self.to_result().evidence, path, which=1)

    def report(self, path: str | os.PathLike[str], points: Dataset | None = None) -> Path:
        """Write one self-contained HTML page and return its path.

        If `points`, the data that was diagnosed, are images, the most fragile ones are shown.
        """
        # Late: the page needs matplotlib, the numbers do not.
        from featavg.report import write_report

        result = self.to_result() if points is None else with_fragile_images(self.to_result(), points, self.fragile)
        return write_report([result], path, heading="Does this classifier average its features?", intervals=INTERVALS)

    def to_json(self) -> str:
        """Return every number as JSON; what is not finite is null."""
        content = asdict(self)
        content |= {"verdict": self.verdict, "advice": self.advice, "does_average": self.does_average}
        content |= {"finer_labels_help": self.finer_labels_help, "fragile": self.fragile}
        content["averages"] |= {"median_index": self.averages.median_index, "p_value": self.averages.p_value}
        return json.dumps(plain(content), indent=1, allow_nan=False, ensure_ascii=False)
