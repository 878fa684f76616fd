"""Radii in boxes and in ℓ∞, of every read-out, against one program per activation pattern; single half-spaces."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from featavg.robustness.proof import check, infinite
from featavg.robustness.proof.checker import proves
from featavg.robustness.proof.format import Decision, Neurons, Problem
from featavg.robustness.proof.margins import float_margins
from featavg.robustness.proof.regions import rivals
from featavg.robustness.proof.witness import shows
from featavg.robustness.search.answer import answer, is_exact
from featavg.robustness.search.batch import place_of
from featavg.robustness.search.budget import Budget
from featavg.robustness.search.halfspaces import least_radius, level_of, settle
from featavg.robustness.search.places import axes_for
from featavg.robustness.search.task import task_of
from tests.robustness.search.patterns import nearest_l2, nearest_linf, radius_by_patterns

READOUTS = ("sign", "argmax", "maximum", "logits", "probabilities")
NORMS = ("l2", "linf")
BOXES = ("none", "both", "one-sided", "per-feature")


def silent(done, total):
    """No progress."""


def random_problem(rng, kind, norm, box, points=3, axes=5, neurons=4):
    outputs = 1 if kind == "sign" else 4
    layer = Neurons(
        rng.normal(size=(neurons, axes)) / np.sqrt(axes),
        rng.normal(size=neurons),
        rng.normal(size=(outputs, neurons)),
        0.3 * rng.normal(size=outputs),
    )
    x = rng.uniform(0.0, 1.0, size=(points, axes))
    x[rng.random(x.shape) < 0.3] = 0.0
    known = [-1, 1] if kind == "sign" else list(range(outputs)) if kind == "argmax" else [0, 1]
    plain = Problem(layer, x, np.zeros(points, dtype=np.int64), Decision(kind, np.arange(outputs) % 2), norm)
    margins = [float_margins(plain._replace(labels=np.full(points, label)), x) for label in known]
    low, high = {
        "none": (None, None),
        "both": (np.zeros(axes), np.ones(axes)),
        "one-sided": (np.zeros(axes), np.full(axes, np.inf)),
        "per-feature": (-rng.uniform(0.0, 0.5, axes), np.where(rng.random(axes) < 0.5, np.inf, 1.2)),
    }[box]
    return plain._replace(labels=np.array(known)[np.argmax(margins, axis=0)], low=low, high=high)


def assert_verified(problem, found):
    """Both ends are shown by the checker, and witnesses lie in the box."""
    proved = proves(problem, found.proofs, found.lower) | infinite(problem, found.certificates)
    assert (proved & shows(problem, found.witness, found.upper)).all()
    known = np.isfinite(found.upper)
    if problem.low is not None:
        assert ((problem.low <= found.witness) & (found.witness <= problem.high))[known].all()


@pytest.mark.parametrize(("norm", "box"), [("linf", "none"), *[(norm, box) for norm in NORMS for box in BOXES[1:]]])
@pytest.mark.parametrize("kind", READOUTS[:4])
def test_every_pattern_agrees(kind, norm, box):
    rng = np.random.default_rng([READOUTS.index(kind), BOXES.index(box), len(norm)])
    for _ in range(4):
        problem = random_problem(rng, kind, norm, box)
        found = answer(problem, Budget(seconds=5), silent)
        assert_verified(problem, found)
        assert is_exact(found.lower, found.upper).all()
        truth = [radius_by_patterns(problem, i) for i in range(len(problem.x))]
        assert_allclose(found.upper, truth, rtol=3e-6, atol=1e-8)


@pytest.mark.parametrize(("norm", "box"), [("l2", "both"), ("linf", "none"), ("linf", "one-sided")])
def test_one_rival_alone(norm, box):
    rng = np.random.default_rng(3)
    problem = random_problem(rng, "argmax", norm, box, points=6)
    problem = problem._replace(target=np.array([rivals(problem.decision, int(y), 4)[-1] for y in problem.labels]))
    found = answer(problem, Budget(seconds=5), silent)
    assert_verified(problem, found)
    assert_allclose(found.upper, [radius_by_patterns(problem, i) for i in range(6)], rtol=3e-6)
    assert is_exact(found.lower, found.upper).all()


@pytest.mark.parametrize(("norm", "box"), [("l2", "both"), ("l2", "one-sided"), ("linf", "none"), ("linf", "both")])
def test_one_radius_is_decided_as_the_bracket_says(norm, box):
    rng = np.random.default_rng(4)
    problem = random_problem(rng, "maximum", norm, box, points=8, neurons=8)
    found = answer(problem, Budget(seconds=5), silent)
    for radius in np.quantile(found.upper[np.isfinite(found.upper)], [0.3, 0.7]) * 1.001:
        decided = answer(problem, Budget(seconds=5), silent, within=np.full(8, radius))
        assert_verified(problem, decided)
        assert ((decided.lower >= radius) == (found.lower >= radius)).all()
        assert ((decided.upper <= radius) == (found.upper <= radius)).all()


@pytest.mark.parametrize(("norm", "box"), [("l2", "both"), ("linf", "none"), ("linf", "both")])
def test_summed_probabilities_come_within_a_hundredth(norm, box):
    problem = random_problem(np.random.default_rng(5), "probabilities", norm, box, points=4)
    found = answer(problem, Budget(seconds=5), silent)
    assert_verified(problem, found)
    known = np.isfinite(found.upper)
    assert known.any()
    assert (found.upper - found.lower <= 0.01 * found.upper)[known].all()


def test_nothing_in_the_box_is_an_infinite_radius():
    """ReLU(x) − 2 changes its sign at 2, and the box ends at 1."""
    layer = Neurons(np.ones((1, 1)), np.zeros(1), np.ones((1, 1)), np.array([-2.0]))
    decision = Decision("sign", np.zeros(1, dtype=np.int64))
    for norm in ("l2", "linf"):
        problem = Problem(layer, np.array([[0.5]]), np.array([-1]), decision, norm, np.zeros(1), np.ones(1))
        found = answer(problem, Budget(), silent)
        assert found.lower[0] == found.upper[0] == np.inf
        wider = problem._replace(high=np.full(1, np.inf))
        assert_allclose(answer(wider, Budget(), silent).upper, 1.5, rtol=1e-6)


def test_a_box_without_box_steps_proves_less():
    """What the search says of the box in its cuts is needed, and what it says is right."""
    rng = np.random.default_rng(6)
    problem = random_problem(rng, "sign", "l2", "both", points=10, axes=8, neurons=6)
    found = answer(problem, Budget(), silent)
    blind = found.proofs._replace(box_step=np.zeros_like(found.proofs.box_step))
    known = np.isfinite(found.upper)
    assert (check(problem, blind)[known] < 0.99 * found.lower[known]).any()
    assert (check(problem, found.proofs)[known] >= (1.0 - 1e-6) * found.lower[known]).all()


def test_one_half_space_in_a_cube_and_a_box():
    rng = np.random.default_rng(7)
    for _ in range(30):
        h, low, high = rng.normal(size=6), -rng.exponential(size=6), rng.exponential(size=6)
        high[rng.random(6) < 0.3] = np.inf
        beta = float(rng.exponential())
        sides = np.isfinite(high)
        normals = np.vstack([h, np.eye(6)[sides], -np.eye(6)])
        offsets = np.concatenate([[beta], -high[sides], low])
        assert_allclose(least_radius(h, beta, low, high), nearest_linf(normals, offsets), rtol=1e-8)
        assert_allclose(least_radius(h, beta, low - np.inf, high + np.inf), beta / np.abs(h).sum(), rtol=1e-13)


def test_the_level_and_the_point_that_belong_to_a_price():
    """δ minimises ½‖δ − p‖² + price·‖δ‖∞ + ⟨h,δ⟩ in the box: no other point does better."""
    rng = np.random.default_rng(8)
    problem = random_problem(rng, "sign", "linf", "per-feature", points=1, axes=6)
    task = task_of(problem)
    place = place_of(task.space, task.points, task.pairs, 0, 0, task.desk)
    for price in (0.0, 0.3, 3.0, 1000.0):
        axes = axes_for(6)
        axes.normal[:], axes.center[:] = rng.normal(size=6), 0.1 * rng.normal(size=6)
        settle(place, price, axes)

        def cost(delta, axes=axes, price=price):
            size = np.abs(delta).max(axis=-1)
            return 0.5 * ((delta - axes.center) ** 2).sum(axis=-1) + price * size + delta @ axes.normal

        others = np.clip(axes.delta + 0.1 * rng.normal(size=(20000, 6)), place.low, place.high)
        assert (cost(others) >= cost(axes.delta) - 1e-12).all()
        if price > 0:
            assert_allclose(np.abs(axes.delta).max(), axes.level[0])
            for guess in (0.0, 0.5 * axes.level[0], 0.01, 7.0):
                assert_allclose(level_of(axes, price, guess)[0], axes.level[0], rtol=1e-13)
    assert axes.level[0] == 0.0  # nothing is worth that price


def test_the_oracle_knows_a_corner():
    """x + y >= 3 within x <= 1 is nearest at (1, 2): √5, and 2 in ℓ∞."""
    normals, offsets = np.array([[-1.0, -1.0], [1.0, 0.0]]), np.array([3.0, -1.0])
    assert_allclose(nearest_l2(normals, offsets), np.sqrt(5), rtol=1e-6)
    assert_allclose(nearest_linf(normals, offsets), 2.0, rtol=1e-9)
