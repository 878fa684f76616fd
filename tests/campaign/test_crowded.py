"""The formula for crowded problems: what rationals find on small ones; and that they make the search use its curves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from campaign.soundness.crowded import crowded_problem, subset_radius
from campaign.soundness.problem import Problem
from campaign.soundness.product import radius_bracket
from campaign.soundness.rationals import fooled
from campaign.soundness.truth import exact_radius


def cut_down(problem: Problem, neurons: int, axes: int) -> Problem:
    """The same with fewer neurons and axes."""
    return replace(
        problem,
        weights=tuple(row[:axes] for row in problem.weights[:neurons]),
        biases=problem.biases[:neurons],
        second=tuple(row[:neurons] for row in problem.second),
        x=problem.x[:axes],
    )


def test_the_formula_gives_the_radius_that_rationals_find() -> None:
    for number in range(12):
        problem = cut_down(crowded_problem(0, number), 5, 2 + number % 2)
        truth, exact = subset_radius(problem), exact_radius(problem)
        assert truth.high == exact.high
        assert truth.low <= exact.low


def test_a_positive_coefficient_is_refused() -> None:
    problem = crowded_problem(0, 0)
    with pytest.raises(ValueError, match="positive"):
        subset_radius(replace(problem, second=tuple(tuple(-a for a in row) for row in problem.second)))


def test_points_are_right_at_first_and_curves_are_used() -> None:
    curved = []
    for number in range(8):
        problem = crowded_problem(0, number)
        assert not fooled(problem, problem.x)
        bracket = radius_bracket(problem)
        truth = subset_radius(problem)
        assert not truth.refutes_lower(float(bracket.lower[0]))
        assert not truth.refutes_upper(float(bracket.upper[0]))
        curved.append(len(bracket.proofs.curve) > 0)
    assert np.mean(curved) >= 0.25
