"""Witnesses: fooled for certain, in the box, and no farther than said."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from featavg.errors import InputError
from featavg.robustness.proof import Decision, Neurons, Problem, shows, witness_distance
from featavg.robustness.proof.audit import audit_witness
from featavg.robustness.proof.margins import float_margins
from tests.robustness.proof.problems import KINDS, random_problem

SIGN = Decision("sign", np.zeros(1, dtype=np.int64))


def problem_of(outputs: list[float], constant: float, x: list[float]) -> Problem:
    weights = np.eye(len(outputs), len(x))
    layer = Neurons(weights, np.zeros(len(outputs)), np.array([outputs]), np.array([constant]))
    return Problem(layer, np.array([x]), np.array([1]), SIGN)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("norm", ["l2", "linf"])
def test_fooled_points_are_confirmed_and_no_others(kind: str, norm: str) -> None:
    confirmed = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        problem = random_problem(rng, kind, norm, "both", points=8)
        witness = rng.uniform(problem.low, problem.high, size=problem.x.shape)
        witness[0] += 100.0  # outside
        margins, upper = float_margins(problem, witness), witness_distance(problem, witness)
        assert upper[0] == np.inf
        clear = np.abs(margins) > 1e-9
        clear[0] = False
        np.testing.assert_array_equal(np.isfinite(upper[clear]), margins[clear] < 0)
        order = 2 if norm == "l2" else np.inf
        distance = np.linalg.norm(witness - problem.x, ord=order, axis=1)
        np.testing.assert_allclose(upper[np.isfinite(upper)], distance[np.isfinite(upper)], rtol=1e-11)
        assert shows(problem, witness, upper).all()
        assert audit_witness(problem, witness, upper).all()
        nearer = np.where(np.isfinite(upper), upper * (1 - 1e-9), 1.0)
        assert not shows(problem, witness, nearer).any()
        assert not audit_witness(problem, witness, nearer).any()
        confirmed += np.isfinite(upper).sum()
    assert confirmed > 5


def test_the_distance_is_rounded_up() -> None:
    problem = problem_of([1.0], -1.0, [3.0, 0.1, 0.7])
    witness = np.array([[0.3, 0.2, 0.1]])
    square = sum((Fraction(float(u)) - Fraction(float(x))) ** 2 for u, x in zip(witness[0], problem.x[0], strict=True))
    assert Fraction(float(witness_distance(problem, witness)[0])) ** 2 >= square


def test_a_tie_is_fooled_and_its_neighbour_is_not() -> None:
    problem = problem_of([0.1, 0.2, -0.30000000000000004], 0.0, [1.0, 1.0, 0.5])
    tie = problem_of([1.0, -1.0], 0.0, [3.0, 1.0])
    assert np.isfinite(witness_distance(tie, np.array([[0.3, 0.3]]))[0])
    assert witness_distance(tie, np.array([[0.3, np.nextafter(0.3, 0)]]))[0] == np.inf
    # 0.1 + 0.2 exceeds 0.3000…04 by less than a rounding error of the sum; in rationals it does not.
    exact = Fraction(0.1) + Fraction(0.2) - Fraction(0.30000000000000004)
    assert np.isfinite(witness_distance(problem, np.array([[1.0, 1.0, 1.0]]))[0]) == (exact <= 0)


def test_a_dead_zone_is_fooled_if_its_constant_is() -> None:
    rng = np.random.default_rng(0)
    neurons = Neurons(np.abs(rng.normal(size=(50, 200))), np.zeros(50), np.abs(rng.normal(size=(1, 50))), np.zeros(1))
    problem = Problem(neurons, np.abs(rng.normal(size=(1, 200))), np.array([1]), SIGN)
    assert np.isfinite(witness_distance(problem, -problem.x)[0])
    raised = problem._replace(neurons=neurons._replace(constants=np.array([1e-300])))
    assert witness_distance(raised, -problem.x)[0] == np.inf


def test_cancelling_outputs_are_not_taken_for_fooled() -> None:
    """1e16·ReLU(z) − 1e16·ReLU(z) + 1e-3 is positive, though floats may say otherwise."""
    weights = np.array([[1.0, 0.0], [1.0, 1e-30]])
    layer = Neurons(weights, np.zeros(2), np.array([[1e16, -1e16]]), np.array([1e-3]))
    problem = Problem(layer, np.array([[1.0, 0.0]]), np.array([1]), SIGN)
    assert witness_distance(problem, np.array([[7.0, 1.0]]))[0] == np.inf
    assert np.isfinite(witness_distance(problem, np.array([[7.0, 1e12]]))[0])


def test_no_number_is_no_witness() -> None:
    problem = problem_of([1.0], -1.0, [3.0])
    assert witness_distance(problem, np.array([[np.nan]]))[0] == np.inf
    with pytest.raises(InputError, match="witness per point"):
        witness_distance(problem, np.zeros((2, 1)))


def test_a_tie_of_summed_probabilities_is_fooled_and_its_neighbour_is_not() -> None:
    """Own outputs |x − 1| and 0.1, the rival's 0 and 0.1: fooled at x = 1 alone, for any unit of the weights."""
    second = np.array([[1.0, 1.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
    for unit in (1.0, 3.0, 2.0**-15):
        layer = Neurons(np.array([[unit], [-unit]]), np.array([-unit, unit]), second, np.array([0.0, 0.1, 0.0, 0.1]))
        decision = Decision("probabilities", np.array([0, 0, 1, 1]))
        problem = Problem(layer, np.full((3, 1), 0.125), np.zeros(3, dtype=np.int64), decision)
        witness = np.array([[1.0], [np.nextafter(1.0, 2.0)], [np.nextafter(1.0, 0.0)]])
        assert np.isfinite(witness_distance(problem, witness)).tolist() == [True, False, False]
        upper = np.full(3, 0.9)
        assert audit_witness(problem, witness, upper).tolist() == [True, False, False]
    # Two own outputs are not outweighed by one rival, however each of them compares.
    alone = problem._replace(decision=Decision("probabilities", np.array([0, 0, 1, 2])))
    assert np.isinf(witness_distance(alone, witness)).all()
