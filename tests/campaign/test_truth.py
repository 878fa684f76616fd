"""The truth on trial: closed forms, enumeration in other arithmetic, grids, and solvers on tame problems."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from flint import fmpq

from campaign.soundness.families import FAMILIES
from campaign.soundness.hostile import hostile_problem
from campaign.soundness.problem import Problem
from campaign.soundness.truth import Truth, exact_radius, nearest_fooled, rounded_root
from tests.campaign.enumeration import enumerated_radius

INF = math.inf


def rows_problems(numbers: range, largest: int) -> list[Problem]:
    found = [hostile_problem(7, number) for number in numbers]
    return [p for p in found if p.readout != "summed-probabilities" and len(p.weights) <= largest]


def as_fraction(size: fmpq | None) -> Fraction | None:
    return None if size is None else Fraction(int(size.p), int(size.q))


def by_hand(weights, biases, second, constants, x, y=1, **more) -> Problem:
    return Problem("by hand", weights, biases, second, constants, x, y, **more)


@pytest.mark.parametrize(
    ("problem", "square"),
    [
        (by_hand(((1.0,), (-1.0,)), (0.0, 0.0), ((1.0, -1.0),), (0.0,), (3.0,)), 9),
        (by_hand(((1.0, 0.0),), (0.0,), ((1e-200,),), (-1e-200,), (3.0, 0.0)), 4),
        (by_hand(((2.0, 2.0), (1.0, 1.0)), (0.0, 2.0), ((1.0, -2.0),), (0.0,), (7.0, -2.0), -1), Fraction(49, 2)),
        (by_hand(((1.0,),), (0.0,), ((1.0,),), (1.0,), (3.0,)), None),
        (by_hand(((1.0,),), (0.0,), ((1.0,),), (-1.0,), (3.0,), -1), 0),
        (by_hand(((1.0,),), (0.0,), ((1.0,),), (-1.0,), (3.0,), box=((2.0,), (4.0,))), None),
        (by_hand(((1.0, 1.0),), (0.0,), ((1.0,),), (-1.0,), (1.0, 1.0), box=((1.0, -INF), (INF, INF))), 1),
    ],
)
def test_radii_known_by_hand(problem: Problem, square: object) -> None:
    assert as_fraction(exact_radius(problem).low) == square


def test_the_infinite_answer_of_a_pair_of_near_parallel_neurons_is_finite() -> None:
    problem = by_hand(
        ((1.0, 0.0), (1.0, 5e-9)), (-1e6, -1e6), ((1e6, -1e6),), (0.05,), (1e6 + 1, 0.0)
    )  # fmt: skip
    assert 9.9 < exact_radius(problem).radius < 10.1


@pytest.mark.parametrize("norm", ["l2", "linf"])
def test_the_decoupled_network_has_its_closed_form(norm: str) -> None:
    # ReLU(x_i) for three classes, at the first unit vector: one rival, half way along the difference.
    identity = tuple(tuple(float(i == j) for j in range(3)) for i in range(3))
    problem = by_hand(identity, (0.0,) * 3, identity, (0.0,) * 3, (1.0, 0.0, 0.0), 0, readout="argmax", norm=norm)
    assert exact_radius(problem).low == fmpq(1, 2)


@pytest.mark.parametrize("family", FAMILIES)
def test_it_is_what_enumeration_in_fractions_finds(family: str) -> None:
    place = list(FAMILIES).index(family)
    problems = rows_problems(range(place, place + 28 * len(FAMILIES), len(FAMILIES)), largest=3)
    small = [p for p in problems if len(p.x) < 3 or p.norm == "l2"]
    assert len(small) >= 8
    for problem in small:
        assert as_fraction(exact_radius(problem).low) == enumerated_radius(problem), problem


def test_the_cube_in_three_axes_is_what_enumeration_finds() -> None:
    problems = [p for p in rows_problems(range(400), largest=2) if len(p.x) == 3 and p.norm == "linf" and not p.box]
    assert len(problems) > 5
    for problem in problems[:8]:
        assert as_fraction(exact_radius(problem).low) == enumerated_radius(problem), problem


def test_no_point_of_a_grid_within_the_radius_is_fooled_and_the_nearest_point_is() -> None:
    axis = np.linspace(-1, 1, 201)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    seen = 0
    for number in range(0, 100 * len(FAMILIES), len(FAMILIES)):
        problem = replace(hostile_problem(3, number), box=None)
        found = exact_radius(problem).radius if problem.readout == "sign" and len(problem.x) == 2 else 0.0
        if not 0 < found < 10:
            continue
        points = np.array(problem.x) + 2 * found * grid
        score = np.maximum(points @ np.array(problem.weights).T + problem.biases, 0) @ problem.second[0]
        margin = problem.y * (score + problem.constants[0])
        order = 2 if problem.norm == "l2" else np.inf
        nearest = np.linalg.norm(points - problem.x, ord=order, axis=1)[margin <= 1e-12].min(initial=INF)
        assert found <= nearest * (1 + 1e-9)
        assert nearest <= found * 1.3  # unless the fooled set is thinner than the grid
        seen += 1
    assert seen > 5


def test_bounds_are_refuted_exactly() -> None:
    third = Truth("linf", fmpq(1, 3), fmpq(1, 3))
    assert third.refutes_upper(1 / 3)  # the float lies below a third
    assert not third.refutes_lower(1 / 3)
    assert third.refutes_lower(math.nextafter(1 / 3, 1))
    assert third.refutes_lower(INF)
    assert not third.refutes_upper(INF)
    never = Truth("l2", None, None)
    assert never.refutes_upper(1e300)
    assert not never.refutes_lower(INF)
    two = Truth("l2", fmpq(2), fmpq(2))
    assert two.refutes_upper(1.414213562373095)
    assert not two.refutes_upper(1.4142135623730951)
    assert two.refutes_lower(1.4142135623730951)


def test_roots_of_rationals_are_good_to_the_last_digits() -> None:
    for value in (1e-150, 3.7e-40, 0.1, 2.0, 1e20, 1.7e150):
        number = fmpq(*value.as_integer_ratio())
        assert rounded_root(number) == pytest.approx(math.sqrt(value), rel=4e-16)


def test_the_nearest_point_itself_is_fooled_at_that_distance() -> None:
    for problem in rows_problems(range(200), largest=6):
        found = nearest_fooled(problem)
        if found is not None and problem.norm == "l2":
            assert found.size == sum((step * step for step in found.delta), fmpq(0))
