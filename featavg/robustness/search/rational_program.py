"""Linear inequalities decided exactly: the first phase of the simplex method, in rationals; rationals as floats."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

Row = list[Fraction]


def feasible(rows: Sequence[Sequence[Fraction]], target: Sequence[Fraction], most: int = 200) -> Row | None:
    """x >= 0 with Σ_k rows_ik x_k = target_i for all i; None if there is none, or none was found in so many steps.

    Bland's rule: the first variable that helps enters, the first of those that must leave leaves, so that no basis
    comes twice.

    >>> feasible([[Fraction(1), Fraction(2)]], [Fraction(3)])
    [Fraction(3, 1), Fraction(0, 1)]
    >>> feasible([[Fraction(1), Fraction(2)]], [Fraction(-3)])
    """
    count = len(rows[0])
    table = [_positive([*row, end]) for row, end in zip(rows, target, strict=True)]
    basis = list(range(count, count + len(table)))  # variables beyond x, which must all become 0
    missing = [sum((row[k] for row in table), start=Fraction(0)) for k in range(count + 1)]
    for _ in range(most):
        enters = next((k for k in range(count) if missing[k] > 0), None)
        if enters is None or not missing[count]:
            break
        _, _, leaves = min((row[count] / row[enters], basis[r], r) for r, row in enumerate(table) if row[enters] > 0)
        head = table[leaves][enters]
        table[leaves] = [value / head for value in table[leaves]]
        for r, row in enumerate(table):
            if r != leaves and row[enters]:
                table[r] = _without(row, table[leaves], enters)
        # A variable beyond x never comes back, so that its column is not kept.
        missing = _without(missing, table[leaves], enters)
        basis[leaves] = enters
    if missing[count]:
        return None
    x = [Fraction(0)] * count
    for r, k in enumerate(basis):
        if k < count:
            x[k] = table[r][count]
    return x


def _positive(row: Row) -> Row:
    """The same equation with an end >= 0."""
    return [-value for value in row] if row[-1] < 0 else row


def _without(row: Row, pivot: Row, k: int) -> Row:
    """The row less as much of the pivot row as makes its entry k 0."""
    factor = row[k]
    return [value - factor * first if first else value for value, first in zip(row, pivot, strict=True)]


def nearest_float(value: Fraction) -> float:
    """The float nearest to a rational, ±∞ beyond their range."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
