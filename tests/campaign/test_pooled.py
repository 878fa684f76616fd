"""Enclosures for summed probabilities: closed forms, grids, and the geometry of polygons."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from flint import arb, fmpq

from campaign.soundness.families import FAMILIES
from campaign.soundness.hostile import bent
from campaign.soundness.nearest import Constraint
from campaign.soundness.polygons import halves, kept, nearest_corner_or_edge, rectangle
from campaign.soundness.pooled import lowest, pooled_fooled, pooled_margin, pooled_radius
from campaign.soundness.problem import Problem
from campaign.soundness.rationals import length, rationals
from campaign.soundness.truth import Truth, exact_radius, rounded, rounded_root

READOUT = "summed-probabilities"
IDENTITY = ((1.0, 0.0), (0.0, 1.0))


def ends(truth: Truth) -> tuple[float, float]:
    root = rounded_root if truth.norm == "l2" else rounded
    return math.inf if truth.low is None else root(truth.low), truth.radius


def decoupled(x: tuple[float, float], norm: str, **more) -> Problem:
    return Problem("by hand", IDENTITY, (0.0, 0.0), IDENTITY, (0.0, 0.0), x, 1, READOUT, norm, (1, -1), **more)


@pytest.mark.parametrize(("norm", "radius"), [("l2", math.sqrt(0.5)), ("linf", 0.5)])
def test_two_outputs_are_a_linear_question(norm: str, radius: float) -> None:
    low, high = ends(pooled_radius(decoupled((3.0, 2.0), norm)))
    assert low <= radius * (1 + 1e-15)
    assert radius <= high * (1 + 1e-15)
    assert high - low <= 1.1e-4 * radius


def test_one_class_against_two_equal_ones_is_ahead_by_log_two() -> None:
    # f = (ReLU(x), 0, 0): own e^x against 2, so the boundary is x = log 2.
    problem = Problem(
        "by hand", ((1.0,),), (0.0,), ((1.0,), (0.0,), (0.0,)), (0.0,) * 3, (2.0,), 1, READOUT, "l2", (1, -1, -1)
    )
    low, high = ends(pooled_radius(problem))
    assert low <= 2 - math.log(2) <= high
    assert high - low < 2e-4


def test_a_box_that_excludes_every_fooled_point_gives_infinity() -> None:
    truth = pooled_radius(decoupled((3.0, 2.0), "l2", box=((2.8, 1.0), (4.0, 2.2))))
    assert truth.low is None
    assert truth.high is None


def test_a_tie_at_the_point_has_radius_zero() -> None:
    assert pooled_radius(decoupled((2.0, 2.0), "l2")).high == 0


@pytest.mark.parametrize("norm", ["l2", "linf"])
def test_no_grid_point_below_the_enclosure_is_fooled_and_some_just_above_it_is(norm: str) -> None:
    seen = 0
    axis = np.linspace(-1.2, 1.2, 121)
    rng = np.random.default_rng(11)
    for axes in [1, 2, 2] * 8:
        problem = replace(bent(rng, "ordinary", READOUT, (axes, 3, 4)), norm=norm, box=None)
        low, high = ends(pooled_radius(problem))
        if not 0 < high < 100:
            continue
        steps = [axis[:, None]] if len(problem.x) == 1 else [np.stack(np.meshgrid(axis, axis), -1).reshape(-1, 2)]
        points = np.array(problem.x) + high * steps[0]
        distances = np.linalg.norm(points - problem.x, ord=2 if norm == "l2" else np.inf, axis=1)
        nearest = distances[margins(problem, points) <= 0].min(initial=math.inf)
        assert low <= nearest * (1 + 1e-9)
        assert nearest <= high * 1.1
        seen += 1
    assert seen >= 8


def test_with_two_outputs_it_encloses_the_rational_radius_of_hostile_problems() -> None:
    narrow = 0
    for number in range(150):
        rng = np.random.default_rng(number)
        family = list(FAMILIES)[number % len(FAMILIES)]
        rows = bent(rng, family, "summed-logits", (int(rng.integers(1, 3)), 3, 2))
        truth, found = exact_radius(rows), pooled_radius(replace(rows, readout=READOUT))
        assert truth.low is None or (found.low is not None and found.low <= truth.low), rows
        assert found.high is None or (truth.high is not None and truth.high <= found.high), rows
        low, high = ends(found)
        narrow += high == low or high - low <= 1.1e-4 * high < math.inf
    assert narrow > 60


def margins(problem: Problem, points: np.ndarray) -> np.ndarray:
    outputs = np.maximum(points @ np.array(problem.weights).T + problem.biases, 0) @ np.array(problem.second).T
    outputs = outputs + np.array(problem.constants)
    own = np.array(problem.class_labels) == problem.y
    return np.logaddexp.reduce(outputs[:, own], axis=1) - np.logaddexp.reduce(outputs[:, ~own], axis=1)


def test_margins_are_those_of_numpy_and_the_witness_test_is_one_sided() -> None:
    problem = decoupled((3.0, 2.0), "l2")
    assert float(pooled_margin(problem, rationals((3.0, 2.0)))) == pytest.approx(1.0, rel=1e-12)
    assert pooled_fooled(problem, (2.5, 2.5))
    assert not pooled_fooled(problem, (2.5, 2.4999999999999996))


def test_the_lower_end_of_a_ball_is_below_it_even_far_below_the_range_of_floats() -> None:
    assert lowest(arb(fmpq(1, 3))) < fmpq(1, 3)
    assert lowest(-arb(fmpq(-(10**30))).exp()) < 0
    assert lowest(arb(fmpq(-(10**30))).exp()) == 0


def test_polygons_are_cut_halved_and_measured() -> None:
    square = rectangle((fmpq(1), fmpq(-1)), (fmpq(3), fmpq(1)))
    assert nearest_corner_or_edge(square, "l2") == (1, 0)
    assert length(nearest_corner_or_edge(square, "linf"), "linf") == 1
    corner = kept(square, Constraint((fmpq(-1), fmpq(-1)), fmpq(3)))  # δ_1 + δ_2 ≥ 3
    assert corner is not None
    assert set(corner) == {(fmpq(3), fmpq(0)), (fmpq(3), fmpq(1)), (fmpq(2), fmpq(1))}
    assert kept(square, Constraint((fmpq(1), fmpq(0)), fmpq(-1))) is None  # only its rim
    assert length(nearest_corner_or_edge(corner, "l2"), "l2") == 5
    around = rectangle((fmpq(-1), fmpq(-1)), (fmpq(3), fmpq(1)))
    assert nearest_corner_or_edge(around, "l2") == (0, 0)
    assert sum(len(half) for half in halves(around)) == 8
    tilted = ((fmpq(2), fmpq(0)), (fmpq(3), fmpq(0)), (fmpq(0), fmpq(3)), (fmpq(0), fmpq(2)))
    assert length(nearest_corner_or_edge(tilted, "linf"), "linf") == 1
