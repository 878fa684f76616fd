"""The words a chapter is written in: what it measures, and what it expects of that before it is run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from featavg.errors import InputError
from featavg.record import Claim, Relation, Table

Number = float | Callable[[Any, Table], float]  # of the configuration and the table, where it is not a constant


@dataclass(frozen=True)
class Quantity:
    """What `measure` returns under one name, for one seed: a number, or an array along these axes."""

    text: str  # how it is obtained, which is what its claims say of it
    axes: tuple[str, ...] = ()
    unit: str = ""
    once: bool = False  # taken from the first seed alone: a picture, say
    points: int | Callable[[Any], int] = 0  # it is a share of so many independent points (of the configuration)


@dataclass(frozen=True)
class Expect:
    """A claim before its run: a column, what it should be, and why so near.

    The claim is about the mean of the column over seeds (or whatever its one axis is), at the coordinates `at`, which
    may be functions of the configuration; a column without axes is exact. Texts may hold fields, as {config.dim},
    {mean[loss]:.3f}, {median[p]:.2g} or {percent[accuracy]:.0f}, a hundred times the mean.
    """

    column: str
    text: str
    source: str  # where it is claimed: "Theorem 1(3), Fig. 2(a)"
    expected: Number
    tolerance: Number
    because: str  # why the tolerance is what it is
    relation: Relation = "near"
    relative: bool = False  # the tolerance is a share of what is expected
    published: float | None = None
    vacuous: str = ""  # why the bound, if it holds, says nothing
    check: bool = False  # an identity: told, and not counted among the claims
    at: Mapping[str, Any] = field(default_factory=dict)

    def claim(self, config: Any, table: Table) -> Claim:
        """The claim, once the table is there."""
        at = {axis: of(config) if callable(of) else of for axis, of in self.at.items()}
        values, column = table.sel(self.column, **at), table.columns[self.column]
        if values.ndim > 1:
            raise InputError(f"a claim about {self.column!r} needs one axis, got {column.axes} at {at}")
        # What the configuration decides stands in no text of the chapter.
        places = (f", at {axis.replace('_', ' ')} {at[axis]:g}" for axis, of in self.at.items() if callable(of))
        expected, tolerance = (_number(value, config, table) for value in (self.expected, self.tolerance))
        fields: dict[str, Any] = {
            "source": self.source,
            "expected": expected,
            "tolerance": tolerance * abs(expected) if self.relative else tolerance,
            "tolerance_reason": told(self.because, config, table),
            "relation": self.relation,
            "published": self.published,
            "unit": column.unit,
            "how": column.text + "".join(places),
            "vacuous": self.vacuous,
            "check": self.check,
        }
        if any(axis not in (*self.at, "seed") for axis in column.axes):
            fields["interval_of"] = f"Student's t over {values.size} values, not seeds"
        text = told(self.text, config, table)
        if not values.ndim:
            return Claim.exact(float(values), text, **fields)
        return Claim.over_seeds(values, text, column.points, **fields)


def told(template: str, config: Any, table: Table) -> str:
    """Fill in the fields of a text: config, and mean, median and percent over all of a column.

    >>> from featavg.record import Column
    >>> told("{config} of {mean[p]:.1f}", 3, Table({"p": Column([1.0, 2.0], ("seed",))}))
    '3 of 1.5'
    """
    summaries: dict[str, Callable[[Any], Any]]
    summaries = {"mean": np.mean, "median": np.median, "percent": lambda values: 100 * np.mean(values)}
    return template.format(config=config, **{name: _Summary(table, of) for name, of in summaries.items()})


@dataclass(frozen=True)
class _Summary:
    table: Table
    of: Callable[[Any], Any]

    def __getitem__(self, name: str) -> float:
        return float(self.of(self.table[name]))


def _number(value: Number, config: Any, table: Table) -> float:
    return float(value(config, table) if callable(value) else value)
