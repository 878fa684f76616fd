"""The solvers' truth against the rational one, where both can be had."""

from __future__ import annotations

import pytest

from campaign.soundness import larger
from campaign.soundness.larger import larger_problem, solver_radius
from campaign.soundness.problem import Problem
from campaign.soundness.scip import scip_radius, scip_truth
from campaign.soundness.truth import exact_radius


def small_enough(numbers: range) -> list[Problem]:
    problems = [larger_problem(3, number) for number in numbers]
    return [problem for problem in problems if len(problem.weights) <= 6]


def test_clarabel_and_highs_enclose_the_rational_radius() -> None:
    finite = 0
    for problem in small_enough(range(40)):
        truth, found = exact_radius(problem), solver_radius(problem)
        assert found.low is not None
        assert truth.low is None or found.low <= truth.low, problem
        assert found.high is None or (truth.high is not None and truth.high <= found.high), problem
        finite += found.high is not None
    assert finite > 12


def test_a_tree_that_grows_too_large_ends_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(larger, "PROGRAMS", 1)
    with pytest.raises(larger.Undecided):
        solver_radius(larger_problem(3, 1))


def test_scip_finds_the_rational_radius() -> None:
    checked = 0
    for problem in small_enough(range(9)):
        radius = exact_radius(problem).radius
        if 0 < radius < 1e3:
            assert scip_radius(problem, 2 * radius) == pytest.approx(radius, rel=1e-5), problem
            checked += 1
        assert not scip_truth(problem, radius).refutes_upper(radius * (1 + 1e-5))
    assert checked > 3


def test_scip_excludes_what_lies_beyond_its_horizon() -> None:
    problem = Problem("by hand", ((1.0, 0.0),), (0.0,), ((1.0,),), (-1.0,), (3.0, 0.0), 1)
    assert scip_radius(problem, 1.0) == float("inf")
    assert scip_truth(problem, 0.5).refutes_upper(0.9)
    assert not scip_truth(problem, 1.5).refutes_lower(1.999)
    assert scip_truth(problem, 1.5).refutes_lower(2.001)
