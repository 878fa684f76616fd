"""Named tuples by reference: kernels see in them what Python does."""

from __future__ import annotations

import sys
from typing import NamedTuple

import numpy as np

from featavg.arrays import Array
from featavg.robustness.proof.compiled import borrowing, entry, kernel
from featavg.robustness.proof.references import by_reference, lent


@by_reference
class Line(NamedTuple):
    """An array and numbers of every kind."""

    values: Array
    factor: float
    first: int
    negated: bool


@by_reference
class Sheet(NamedTuple):
    """A reference inside a reference."""

    line: Line
    result: Array


@borrowing
def scaled_sum(line: Line) -> float:
    """± factor · Σ_{i >= first} values_i"""
    total = 0.0
    for i in range(line.first, line.values.size):
        total += line.factor * line.values[i]
    return -total if line.negated else total


@entry
def fill(sheet: Sheet) -> None:
    """Every entry from the line so far: what is written must be seen by whoever reads the same array."""
    for i in range(sheet.result.size):
        sheet.result[i] = scaled_sum(sheet.line)
        sheet.line.values[0] += 1.0


@entry
def fill_from_rows(rows: Array, result: Array) -> None:
    """A line for every row, made inside: the memory is the same, what is read there is not."""
    for i in range(len(rows)):
        line = lent(Line(rows[i], float(i), i % 2, i % 3 == 0))
        result[i] = scaled_sum(line) + line.values[0]


@kernel
def doubled(sheet: Sheet) -> Array:
    """A kernel that counts references."""
    return sheet.result + sheet.result


def twin(line: Line) -> float:
    """The same in NumPy."""
    return float((-1.0 if line.negated else 1.0) * line.factor * line.values[line.first :].sum())


def test_fields_are_those_of_the_tuple() -> None:
    for negated in (False, True):
        sheet = Sheet(Line(np.array([1.0, 2.0, 4.0]), 0.5, 0, negated), np.zeros(3))
        fill(sheet)
        start = [twin(Line(np.array([1.0 + i, 2.0, 4.0]), 0.5, 0, negated)) for i in range(3)]
        assert sheet.result.tolist() == start
        assert sheet.line.values[0] == 4.0


def test_what_a_kernel_makes_anew_is_read_anew() -> None:
    rows, result = np.random.default_rng(0).integers(0, 9, (7, 5)).astype(np.float64), np.zeros(7)
    fill_from_rows(rows, result)
    expected = [twin(Line(row, float(i), i % 2, i % 3 == 0)) + row[0] for i, row in enumerate(rows)]
    assert result.tolist() == expected


def test_arrays_are_given_back() -> None:
    sheet = Sheet(Line(np.ones(3), 1.0, 0, False), np.arange(3.0))
    doubled(sheet)
    before = [sys.getrefcount(array) for array in (sheet.line.values, sheet.result)]
    for _ in range(5):
        assert doubled(sheet).tolist() == [0.0, 2.0, 4.0]
        fill(sheet._replace(result=np.zeros(3)))
    assert [sys.getrefcount(array) for array in (sheet.line.values, sheet.result)] == before
