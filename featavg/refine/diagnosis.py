"""A diagnosis: does it average, how bad is it, which points, what to do; in words, numbers, figures and as a page."""

from __future__ import annotations

import json
import math
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from featavg.arrays import Array, Ints
from featavg.data import Names
from featavg.record import Result
from featavg.record.words import number
from featavg.refine.averages import Averages
from featavg.refine.choice import WORTH
from featavg.refine.flips import Flips
from featavg.refine.gain import Gain

LEVEL = 0.05  # of the p-value
AVERAGING = 0.5  # an index above it is nearer to averaging than to decoupled


@dataclass(frozen=True)
class Diagnosis:
    """What `diagnose` found; print it for the verdict and the table."""

    kind: str  # what was diagnosed
    points: int
    accuracy: float
    classes: Names  # (class,)
    per_class: Ints  # (class,)  sub-classes of each class
    sublabels_given: bool
    class_of: Ints  # (subclass,)
    row_class: Ints  # (row,)  of the rows in `averages`
    averages: Averages
    flips: Flips
    rows: Ints = field(repr=False)  # (measured,)  which points were attacked
    attack: Array = field(repr=False)  # (measured,)  their radii, upper bounds
    exact_lower: Array = field(repr=False)  # (asked,)  proved, of the first of `rows`
    exact_upper: Array = field(repr=False)  # (asked,)
    gain: Gain = field(repr=False)
    seed: int = 0
    seconds: float = 0.0

    @property
    def does_average(self) -> bool | None:
        """Whether the typical row averages: p < 0.05 and index > 0.5; None if no class has two sub-classes."""
        if not math.isfinite(self.averages.p_value):
            return None
        return self.averages.p_value < LEVEL and self.averages.median_index > AVERAGING

    @property
    def finer_labels_help(self) -> bool:
        """Whether sub-classes exist, and training on them surely raises the radius and does not surely cost accuracy.

        The 95 % intervals of the mean radius over the model's and over that of coarse labels both lie above 1.05, and
        that of the change in accuracy against the model does not lie below 0.
        """
        return bool(self.per_class.max() > 1) and self._raised and not self._costly

    @property
    def _raised(self) -> bool:
        return self.gain.surest[1][0] > WORTH

    @property
    def _costly(self) -> bool:
        return self.gain.accuracy_change[1] < 0

    @property
    def fragile(self) -> Ints:
        """The 20 right points with the smallest radii among those measured, most fragile first."""
        right = np.flatnonzero(self.attack > 0)
        return self.rows[right[np.argsort(self.attack[right])][:20]]

    @property
    def median_radius(self) -> float:
        """Of the measured points under attack; errors count as 0."""
        return float(np.median(self.attack))

    @property
    def verdict(self) -> str:
        """Two sentences: what is wrong, and what to do."""
        return f"{self._wrong()} {self._advice()}"

    def _wrong(self) -> str:
        found, counts = self.averages, number(float(self.per_class.mean()))
        if self.does_average is None:
            return "No class shows sub-classes, so there is nothing its weights could average."
        facts = f"index {found.median_index:.2f}, p = {found.p_value:.2g}, {counts} sub-classes a class"
        if self.does_average:
            return f"It averages: the weights of a class hold all of its sub-classes alike ({facts})."
        weak = "; with two sub-classes a class such a test has little power" if self.per_class.max() <= 2 else ""
        return f"It does not average beyond chance ({facts}{weak})."

    def _advice(self) -> str:
        gain = self.gain
        interval = f"{gain.over_coarse_interval[0]:.2f} to {gain.over_coarse_interval[1]:.2f}"
        if not self.per_class.max() > 1:
            return "Finer labels will not help."
        if self.finer_labels_help:
            return (
                f"Train on finer labels with SubclassClassifier: its mean robust radius is {gain.over_model:.2f} times "
                f"that of this model at accuracy {gain.accuracy[2]:.3f} against {gain.accuracy[0]:.3f}, and "
                f"{gain.over_coarse:.2f} times ({interval}) that of the same training on coarse labels."
            )
        if self._raised:
            return (
                "Finer labels will not help: they cost accuracy, "
                f"{gain.accuracy[2]:.3f} against {gain.accuracy[0]:.3f}, "
                f"for a mean robust radius {gain.over_model:.2f} times that of this model."
            )
        return (
            f"Finer labels will not help: they change the mean robust radius by a factor of {gain.over_coarse:.2f} "
            f"({interval}) over coarse labels, and of {gain.over_model:.2f} over this model."
        )

    def table(self) -> list[tuple[str, str]]:
        """Every number with its name, as text."""
        found, gain, flip = self.averages, self.gain, self.flips
        exact = self.exact_upper - self.exact_lower <= 1e-5 * self.exact_upper
        quartiles = [np.quantile(self.attack, share) for share in (0.25, 0.5, 0.75)]
        return [
            ("classifier", self.kind),
            ("points", str(self.points)),
            ("accuracy", number(self.accuracy)),
            ("sub-classes of each class", f"{self.per_class.tolist()} {'given' if self.sublabels_given else 'found'}"),
            ("averaging index (1 averages, 0 decoupled)", number(found.median_index)),
            ("p-value, 2·median over rows", number(found.p_value)),
            ("share of the weights in class averages", f"{found.share:.3f} ({found.chance_share:.3f} by chance)"),
            ("radius quartiles under attack", ", ".join(number(float(value)) for value in quartiles)),
            ("true median radius", f"{number(float(np.median(self.exact_lower)))} to "
             f"{number(float(np.median(self.exact_upper)))}, exact at {int(exact.sum())} of {len(exact)} points"),
            ("universal direction / attack, median radius", number(flip.ratio)),
            ("mean radius: model, coarse, finer", ", ".join(map(number, gain.radius))),
            ("accuracy: model, coarse, finer", ", ".join(map(number, gain.accuracy))),
            ("most fragile points", ", ".join(map(str, self.fragile[:10].tolist()))),
        ]  # fmt: skip

    def __str__(self) -> str:
        rows = self.table()
        wide = max(len(name) for name, _ in rows)
        return "\n".join([self.verdict, "", *(f"{name:<{wide}}  {value}" for name, value in rows)])

    def to_result(self) -> Result:
        """Return the diagnosis as a result, which the report draws."""
        from featavg.refine.healthy import result_of

        return result_of(self)

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write one self-contained HTML page and return its path."""
        # Late: the page needs matplotlib, the numbers do not.
        from featavg.report import OVER_POINTS, write_report

        return write_report(
            [self.to_result()], path, heading="Does this classifier average its features?", intervals=OVER_POINTS
        )

    def to_json(self) -> str:
        """Return every number as JSON; what is not finite is null."""
        content = asdict(self)
        content |= {"verdict": self.verdict, "does_average": self.does_average}
        content |= {"finer_labels_help": self.finer_labels_help, "fragile": self.fragile}
        content["averages"] |= {"median_index": self.averages.median_index, "p_value": self.averages.p_value}
        return json.dumps(_plain(content), indent=1, allow_nan=False, ensure_ascii=False)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
