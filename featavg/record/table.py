"""A table of what was measured: columns with named axes, and the coordinates along them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from featavg.errors import InputError
from featavg.intervals import student_t
from featavg.shown import frame

SEED = "seed"  # the axis that means and intervals are taken over by default
Values = NDArray[Any]  # numbers or text


@dataclass(frozen=True, eq=False)
class Column:
    """Values along named axes, with a sentence that says what they are."""

    values: Any  # array-like when made, an array from then on
    axes: tuple[str, ...] = ()
    text: str = ""
    unit: str = ""
    points: int = 0  # each value is a share of so many independent points; 0 if it is no share

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", np.asarray(self.values))
        object.__setattr__(self, "axes", tuple(self.axes))
        if self.values.ndim != len(self.axes):
            raise InputError(f"a column of shape {self.values.shape} needs as many axes, got {self.axes}")
        if self.values.dtype.hasobject:
            raise InputError(f"columns hold plain numbers or text, got objects along {self.axes}")


@dataclass(frozen=True, eq=False)
class Table:
    """Columns that share their axes.

    >>> radius = Column([[1.0, 3.0], [5.0, 5.0]], ("method", "seed"), "median ℓ2 radius")
    >>> table = Table({"radius": radius}, {"method": ["coarse", "fine"], "seed": [0, 1]})
    >>> table.sel("radius", method="coarse"), table.mean("radius")
    (array([1., 3.]), array([2., 5.]))
    """

    columns: Mapping[str, Column] = field(default_factory=dict)
    coords: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", dict(self.columns))
        object.__setattr__(self, "coords", {axis: np.asarray(values) for axis, values in self.coords.items()})
        sizes = {axis: len(values) for axis, values in self.coords.items()}
        for name, column in self.columns.items():
            if name in self.coords or "/" in name:
                raise InputError(f"a column cannot be called {name!r}: that is the name of an axis, or holds a /")
            for axis, size in zip(column.axes, column.values.shape, strict=True):
                if sizes.setdefault(axis, size) != size:
                    raise InputError(f"the axis {axis!r} has {sizes[axis]} places, but {size} in column {name!r}")

    @classmethod
    def of(cls, arrays: Mapping[str, ArrayLike]) -> Table:
        """Arrays whose axes nobody has named: each has axes of its own."""
        found = {name: np.asarray(values) for name, values in arrays.items()}
        return cls({name: Column(v, tuple(f"{name} {i}" for i in range(v.ndim))) for name, v in found.items()})

    def plus(self, columns: Mapping[str, Column | tuple[Any, str]], coords: Mapping[str, Any] | None = None) -> Table:
        """Return the table with more columns, or with others in their place; a pair is values by seed and their text.

        >>> Table().plus({"gain": ([0.1, 0.2], "fine − coarse")}).columns["gain"].axes
        ('seed',)
        """
        made = {
            n: each if isinstance(each, Column) else Column(each[0], (SEED,), each[1]) for n, each in columns.items()
        }
        return Table({**self.columns, **made}, {**self.coords, **(coords or {})})

    def __getitem__(self, name: str) -> Values:
        """The values of a column, or the coordinates of an axis."""
        if name in self.coords:
            return self.coords[name]
        return self._column(name).values

    def sel(self, name: str, **at: Any) -> Values:
        """The values of a column at these coordinates; the axes that are named disappear."""
        column = self._column(name)
        if unknown := sorted(set(at) - set(column.axes)):
            raise InputError(f"column {name!r} has the axes {', '.join(column.axes)}, got {unknown[0]!r}")
        return self.at(**at)[name]

    def at(self, **at: Any) -> Table:
        """The table at these coordinates: columns lose the axes that are named, if they have them."""
        places = {axis: self._place(axis, value) for axis, value in at.items()}
        columns = {}
        for name, column in self.columns.items():
            values = column.values[tuple(places.get(axis, slice(None)) for axis in column.axes)]
            columns[name] = replace(column, values=values, axes=tuple(a for a in column.axes if a not in at))
        return Table(columns, {axis: values for axis, values in self.coords.items() if axis not in at})

    def along(self, axis: str) -> Table:
        """The table with `axis` the last one of every column that has it.

        >>> Table({"a": Column([[1, 2, 3]], ("line", "time"))}).along("line")["a"].shape
        (3, 1)
        """

        def last(column: Column) -> Column:
            if axis not in column.axes:
                return column
            values = np.moveaxis(column.values, column.axes.index(axis), -1)
            return replace(column, values=values, axes=(*(a for a in column.axes if a != axis), axis))

        return Table({name: last(column) for name, column in self.columns.items()}, self.coords)

    def mean(self, name: str, over: str = SEED) -> Values:
        """The mean of a column over an axis; the column itself if it has no such axis."""
        column = self._column(name)
        return column.values.mean(axis=column.axes.index(over)) if over in column.axes else column.values

    def interval(self, name: str, over: str = SEED, level: float = 0.95) -> tuple[Values, Values]:
        """Student's interval of `mean`: its lower and its upper ends."""
        column = self._column(name)
        if over not in column.axes:
            return column.values, column.values
        ends = np.apply_along_axis(student_t, column.axes.index(over), column.values, level)
        low, high = np.moveaxis(ends, column.axes.index(over), 0)
        return low, high

    def to_frame(self, names: Sequence[str] = ()) -> Any:
        """A pandas frame of the columns `names`, all by default: one row per cell, the coordinates beside the values.

        Columns that lack an axis of the others are repeated along it.
        """
        chosen = {name: self._column(name) for name in names or self.columns}
        sizes = {axis: n for c in chosen.values() for axis, n in zip(c.axes, c.values.shape, strict=True)}
        coords = {axis: Column(self.coords.get(axis, np.arange(size)), (axis,)) for axis, size in sizes.items()}
        long = {name: _spread(column, sizes) for name, column in {**coords, **chosen}.items()}
        return frame(long)

    def _column(self, name: str) -> Column:
        if name not in self.columns:
            raise InputError(f"no column is called {name!r}; there are {', '.join(self.columns) or 'none'}")
        return self.columns[name]

    def _place(self, axis: str, value: Any) -> int:
        coords = self.coords.get(axis, np.empty(0))
        found = np.flatnonzero(coords == value)
        if not len(found):
            raise InputError(f"{axis} has no place {value!r}; it has {', '.join(map(str, coords))}")
        return int(found[0])


def _spread(column: Column, sizes: Mapping[str, int]) -> Values:
    """The values of a column in every cell of a grid with these axes, one after the other: (cell,)."""
    own = [axis for axis in sizes if axis in column.axes]
    ordered = column.values.transpose([column.axes.index(axis) for axis in own])
    shape = [size if axis in own else 1 for axis, size in sizes.items()]
    return np.broadcast_to(ordered.reshape(shape), tuple(sizes.values())).ravel()
