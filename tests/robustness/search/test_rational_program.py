"""Systems of equations in non-negative rationals, against a linear program in floats."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from scipy.optimize import linprog

from featavg.robustness.search.rational_program import feasible


def test_it_solves_exactly_what_a_float_program_calls_feasible() -> None:
    rng, found = np.random.default_rng(0), 0
    for _ in range(200):
        rows, columns = rng.integers(1, 5), rng.integers(1, 7)
        matrix, target = rng.integers(-3, 4, (rows, columns)), rng.integers(-3, 4, rows)
        table = [[Fraction(int(value)) for value in row] for row in matrix]
        x = feasible(table, [Fraction(int(value)) for value in target])
        program = linprog(np.zeros(columns), A_eq=matrix, b_eq=target, bounds=(0, None))
        assert (x is not None) == (program.status == 0)
        if x is not None:
            found += 1
            assert min(x) >= 0
            sums = [sum(a * value for a, value in zip(row, x, strict=True)) for row in table]
            assert sums == target.tolist()
    assert 40 < found < 160


def test_it_gives_up_after_so_many_steps() -> None:
    assert feasible([[Fraction(1)]], [Fraction(1)], most=0) is None
