"""Before and after refinement, at points that neither classifier was trained on: numbers, verdict, page."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from featavg.arrays import Array
from featavg.intervals import bootstrap_ratio
from featavg.record import Claim, Column, Drawing, Evidence, Provenance, Result, Table
from featavg.record.words import number

SIDES = ("before", "after")
CURVE = 60  # radii at which curves are drawn
EXACT = 1e-5  # relative distance of bounds below which a radius is called exact


@dataclass(frozen=True)
class Compared:
    """What refinement changed; print it for the verdict and the table. Radii are ℓ2 in the units of the points.

    Where radii were proved, before is given its upper bounds and after its lower ones; an attack knows only upper ones.
    """

    kinds: tuple[str, str]  # what was compared, in words
    how: str  # where radii come from, and of which decision
    per_class: tuple[int, ...]  # (class,)  sub-classes that were trained on
    held_out: int  # points
    accuracy: tuple[float, float]  # at all of them
    lower: Array = field(repr=False)  # (2, measured)  bounds of the radii at some of them; all 0 from an attack
    upper: Array = field(repr=False)  # (2, measured)  0 for errors
    beside: tuple[tuple[str, str, str], ...] = ()  # more rows of the table
    seed: int = 0
    seconds: float = 0.0

    @property
    def proved(self) -> bool:
        """Whether the radii have lower bounds."""
        return bool(self.lower.any())

    @property
    def radii(self) -> Array:
        """What the verdict rests on: (2, measured)."""
        return np.stack([self.upper[0], self.lower[1] if self.proved else self.upper[1]])

    @property
    def at(self) -> float:
        """The median radius of before."""
        return float(np.median(self.radii[0]))

    @property
    def median(self) -> tuple[float, float]:
        """Median radii."""
        return self.at, float(np.median(self.radii[1]))

    @property
    def robust(self) -> tuple[float, float]:
        """Accuracy at radius `at`."""
        before, after = (self.radii > self.at).mean(axis=1).tolist()
        return before, after

    @cached_property
    def factor(self) -> tuple[float, tuple[float, float]]:
        """Median radius after/before, and its 95 % bootstrap interval over points."""
        return bootstrap_ratio(self.radii[1], self.radii[0], np.median, np.random.default_rng(self.seed))

    @property
    def helped(self) -> bool:
        """Whether the radius surely grew."""
        return self.factor[1][0] > 1.0

    @property
    def verdict(self) -> str:
        """Two sentences: whether the radius grew, and what became of accuracy."""
        factor, (low, high) = self.factor
        changed = (
            f"{self._where} ℓ2 radius {number(self.at)} accuracy goes from {self.robust[0]:.3f} to "
            f"{self.robust[1]:.3f}, clean accuracy from {self.accuracy[0]:.3f} to {self.accuracy[1]:.3f}"
        )
        what = "hardened it" if self.helped else "weakened it" if high < 1.0 else "made no sure difference"
        return (
            f"Refinement {what}: the median radius is {factor:.2f} times as large ({low:.2f} to {high:.2f}). {changed}."
        )

    def table(self) -> list[tuple[str, str, str]]:
        """Every number with its name, before and after, as text."""
        rows: list[tuple[str, str, str]] = [
            ("classifier", *self.kinds),
            (f"accuracy at {self.held_out} held-out points", *_pair(self.accuracy)),
            (f"accuracy {self._where.lower()} ℓ2 radius {number(self.at)}", *_pair(self.robust)),
            (f"median ℓ2 radius, {self.upper.shape[1]} points", *_pair(self.median)),
        ]
        return [*rows, *self.beside]

    @property
    def _where(self) -> str:
        return "At" if self.proved else "Under attack at"

    def __str__(self) -> str:
        rows = [("", *SIDES), *self.table()]
        wide = [max(len(row[column]) for row in rows) for column in range(3)]
        lines = ("  ".join(f"{cell:<{width}}" for cell, width in zip(row, wide, strict=True)) for row in rows)
        return "\n".join([self.verdict, "", *(line.rstrip() for line in lines), "", self.note])

    @property
    def note(self) -> str:
        """How the numbers were obtained."""
        exact, points = int((self.upper - self.lower <= EXACT * self.upper).all(axis=0).sum()), self.upper.shape[1]
        sure = f"exact at {exact} of {points} points" + (
            "" if exact == points else ", bounded in favour of before elsewhere"
        )
        return (
            f"Radii by {self.how}: {sure if self.proved else 'upper bounds'}. Errors have radius 0. Held-out points "
            "took no part in the refinement. "
            f"Sub-classes of each class: {', '.join(map(str, self.per_class))}."
        )

    def to_result(self) -> Result:
        """Return the comparison as a result, which the report draws."""
        factor, interval = self.factor
        claim = Claim(
            "Refinement raises the robust radius.", source="before against after, held-out points", expected=1.0,
            measured=factor, interval=interval, tolerance=0.0, tolerance_reason="any sure gain counts",
            relation="at least", how=f"ratio of median radii by {self.how}, bootstrap interval over points",
        )  # fmt: skip
        radii = np.linspace(0.0, 1.05 * float(np.max(self.radii, where=np.isfinite(self.radii), initial=0.0)), CURVE)
        robust = (self.radii[:, None, :] > radii[:, None]).mean(axis=2)
        bounds = ": exact, or bounded in favour of before." if self.proved else ", by an attack: an upper bound."
        drawing = Drawing(
            "curves", {"x": "radius", "y": "robust", "labels": "side"},
            caption=f"Share of held-out points that stay right under every perturbation up to each size{bounds}",
            options={"x_label": "ℓ2 size", "y_label": "share right"},
        )  # fmt: skip
        columns = {"robust": Column(robust, ("side", "radius"), "share of held-out points that stay right")}
        table = Table(columns, {"side": np.array(SIDES), "radius": radii})
        evidence = Evidence(table, (drawing,), (self.note,), Provenance(seconds=self.seconds))
        facts = (("", *SIDES), *self.table())
        return Result("refinement", self.verdict, facts, {"seed": self.seed}, (claim,), evidence)

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write one self-contained HTML page and return its path."""
        # Late: the page needs matplotlib, the numbers do not.
        from featavg.report import OVER_POINTS, write_report

        return write_report([self.to_result()], path, heading="What refinement changed", intervals=OVER_POINTS)

    def to_json(self) -> str:
        """Return every number as JSON."""
        content: dict[str, Any] = {
            "verdict": self.verdict, "helped": self.helped, "factor": self.factor[0],
            "factor_interval": self.factor[1], "kinds": self.kinds, "how": self.how, "per_class": self.per_class,
            "held_out": self.held_out, "accuracy": self.accuracy, "at": self.at, "robust": self.robust,
            "median": self.median, "proved": self.proved, "lower": self.lower.tolist(),
            "upper": np.minimum(self.upper, 1e300).tolist(), "seed": self.seed, "seconds": self.seconds,
        }  # fmt: skip
        return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False)


def _pair(values: tuple[float, float]) -> tuple[str, str]:
    return number(values[0]), number(values[1])
