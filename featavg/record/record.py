"""What a run leaves behind: a record of claims, over seeds, or the result of a run on a user's own data, with evidence.

Evidence is a table, drawings of it in words, notes, and where it all comes from.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from featavg.errors import InputError
from featavg.record.claim import Claim
from featavg.record.provenance import Provenance
from featavg.record.table import Table, Values
from featavg.shown import frame

Names = str | Sequence[str]  # a column or an axis, or several columns below each other


@dataclass(frozen=True)
class Drawing:
    """A figure in words: which function of `featavg.figures`, which columns of the table, which options.

    So a record read from disk is drawn without the experiment that made it. Columns are averaged over seeds; an
    argument that names an axis is given its coordinates, and lines run along the axis that x names.
    """

    kind: str  # name of a function in featavg.figures
    arrays: Mapping[str, Names]  # argument of that function -> what it is given
    caption: str  # says what one sees
    options: Mapping[str, Any] = field(default_factory=dict)  # the other arguments, as JSON values
    band: float | None = None  # level of the intervals over seeds that are drawn around y, or around measured
    within: tuple[float, float] | None = None  # where a band ends: that of a share in [0, 1]
    at: Mapping[str, Any] = field(default_factory=dict)  # coordinates at which the table is drawn, as JSON values

    def __post_init__(self) -> None:
        if not self.caption.strip():
            raise InputError(f"a drawing needs a caption that says what one sees, got none for {self.kind!r}")
        arrays = {name: wanted if isinstance(wanted, str) else tuple(wanted) for name, wanted in self.arrays.items()}
        object.__setattr__(self, "arrays", arrays)
        object.__setattr__(self, "options", plain_json(self.options, f"options of the drawing {self.caption!r}"))
        object.__setattr__(self, "at", plain_json(self.at, f"coordinates of the drawing {self.caption!r}"))
        object.__setattr__(self, "within", None if self.within is None else tuple(self.within))

    @property
    def wanted(self) -> set[str]:
        """The columns and axes that it is drawn from."""
        return {name for names in self.arrays.values() for name in _listed(names)}

    def arguments(self, table: Table) -> dict[str, Any]:
        """What its function is called with, beside the caption."""
        table = table.at(**self.at)
        if isinstance(x := self.arrays.get("x"), str) and x in table.coords:
            table = table.along(x)  # lines run along x, whatever the order of a column's axes
        given: dict[str, Any] = {name: _given(name, wanted, table) for name, wanted in self.arrays.items()}
        if self.band is not None:
            level, around = self.band, self.arrays["y" if "y" in self.arrays else "measured"]
            low = _below_each_other(around, lambda name: table.interval(name, level=level)[0])
            high = _below_each_other(around, lambda name: table.interval(name, level=level)[1])
            within = self.within or (-np.inf, np.inf)
            given |= {"lower": low.clip(*within), "upper": high.clip(*within)}
        return {**given, **self.options}


@dataclass(frozen=True, eq=False)
class Evidence:
    """What a page draws, whoever ran it."""

    table: Table = field(default_factory=Table)
    drawings: tuple[Drawing, ...] = ()
    notes: tuple[str, ...] = ()
    provenance: Provenance = field(default_factory=Provenance)

    def __post_init__(self) -> None:
        object.__setattr__(self, "drawings", tuple(self.drawings))
        object.__setattr__(self, "notes", tuple(self.notes))
        wanted = {name for drawing in self.drawings for name in drawing.wanted}
        if missing := sorted(wanted - {*self.table.columns, *self.table.coords}):
            raise InputError(f"a drawing wants the column {missing[0]!r}, which the table does not hold")


@dataclass(frozen=True, eq=False)
class Record:
    """What the run of an experiment found; `write_record` and `read_record` keep it on disk.

    >>> claim = Claim.exact(2.0, "Two is two.", source="Peano", expected=2, tolerance=0, tolerance_reason="exact")
    >>> record = Record("two", "Two is two", config={"seeds": 1}, seeds=(0,), claims=(claim,))
    >>> record.claims[0].verdict, record.evidence.provenance.versions["featavg"]
    ('holds', '...')
    """

    name: str  # also the name of its files
    title: str
    config: Mapping[str, Any]  # JSON values
    seeds: tuple[int, ...]
    claims: tuple[Claim, ...]
    evidence: Evidence = field(default_factory=Evidence)

    def __post_init__(self) -> None:
        _check_name(self.name)
        object.__setattr__(self, "config", plain_json(self.config, f"config of the record {self.name!r}"))
        object.__setattr__(self, "seeds", tuple(int(seed) for seed in self.seeds))
        object.__setattr__(self, "claims", tuple(self.claims))
        if len({claim.text for claim in self.claims}) < len(self.claims):
            raise InputError(f"two claims of the record {self.name!r} have the same text; tell them apart")

    def to_frame(self) -> Any:
        """A pandas table of the claims, one row each; `evidence.table.to_frame` has what was measured."""
        from featavg.record.verdicts import verdict_rows  # which is about records

        return frame(verdict_rows([self]))


@dataclass(frozen=True, eq=False)
class Result:
    """What one run on a user's own data found: a verdict in words, the facts it rests on, and their evidence."""

    name: str
    verdict: str
    facts: tuple[tuple[str, ...], ...]  # rows of a name and its values, as text; an empty one between two tables
    settings: Mapping[str, Any]  # what the user chose, as JSON values
    claims: tuple[Claim, ...] = ()  # what was tested on the way; intervals are over points
    evidence: Evidence = field(default_factory=Evidence)

    def __post_init__(self) -> None:
        _check_name(self.name)
        object.__setattr__(self, "facts", tuple(tuple(row) for row in self.facts))
        object.__setattr__(self, "settings", plain_json(self.settings, f"settings of the result {self.name!r}"))
        object.__setattr__(self, "claims", tuple(self.claims))

    @property
    def title(self) -> str:
        """The verdict stands above everything."""
        return self.verdict


def plain_json(values: Mapping[str, Any], name: str) -> dict[str, Any]:
    """As it will come back from disk: tuples become lists, and what JSON cannot hold is refused now."""
    try:
        return dict(json.loads(json.dumps(dict(values), allow_nan=False)))
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be JSON values ({error}); pass plain numbers, text and lists") from None


def _listed(names: Names) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def _given(argument: str, names: Names, table: Table) -> Any:
    if argument.endswith("labels"):
        return [str(value) if isinstance(value, str) else f"{value:g}" for value in table[_listed(names)[0]]]
    return _below_each_other(names, lambda name: table[name] if name in table.coords else table.mean(name))


def _below_each_other(names: Names, values: Callable[[str], Values]) -> Values:
    """One column as it is; several as lines, or as one line if each is a number."""
    if isinstance(names, str):
        return values(names)
    found = [values(name) for name in names]
    return np.array(found) if all(line.ndim == 0 for line in found) else np.vstack(found)


def _check_name(name: str) -> None:
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise InputError(f"a record's name must be lower-case letters, digits and _, got {name!r}")
