"""The exact radius against other solvers on random networks, ordinary and degenerate."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from featavg.robustness import RadiusBracket
from featavg.robustness.answering import answered
from featavg.robustness.question import ask
from tests.robustness.oracles import KINDS, brute_force_radius, random_problem, scip_radius

seeds = st.integers(0, 2**32 - 1)


def check_honesty(bracket: RadiusBracket) -> None:
    """lower <= upper, the witness is fooled at distance upper (in floats up to their rounding), the proofs hold."""
    question = bracket.question
    found = np.isfinite(bracket.upper)
    points = np.where(found[:, None], bracket.witness, question.x)
    assert (bracket.lower <= bracket.upper).all()
    # The checker showed them fooled; floats agree up to the rounding of the terms that a margin is made of.
    network = question.network
    largest = np.abs(points) @ np.abs(network.weights).T + np.abs(network.biases)  # far out they cancel
    terms = largest @ np.abs(network.second).sum(axis=0) + np.abs(network.output_bias).sum()
    assert (question.margins(points) <= 1e-14 * terms)[found].all()
    np.testing.assert_allclose(question.distances(points)[found], bracket.upper[found], rtol=1e-12)
    assert bracket.verify().all()


def check_truth(bracket: RadiusBracket, point: int, truth: float) -> None:
    lower, upper = bracket.lower[point], bracket.upper[point]
    if np.isinf(truth):
        assert upper == np.inf
        return
    assert lower <= truth * (1 + 1e-6)
    assert truth <= upper * (1 + 1e-6) + 1e-300
    if bracket.status[point] == "exact":
        assert upper <= truth * (1 + 3e-6)


@settings(max_examples=120, deadline=None)
@given(seeds)
def test_brackets_are_honest(seed):
    check_honesty(answered(random_problem(np.random.default_rng(seed))))


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=4, deadline=None)
@given(seed=seeds)
def test_against_every_activation_pattern(kind, seed):
    rng = np.random.default_rng(seed)
    question = random_problem(rng, kind, neurons=int(rng.integers(1, 7)))
    bracket = answered(question)
    check_honesty(bracket)
    for point in range(len(question.x)):
        check_truth(bracket, point, brute_force_radius(question, point))


@pytest.mark.parametrize("seed", range(4))
def test_against_scip(seed):
    """A mixed-integer solver with its own tolerances, told where to look: it finds nothing nearer, and the same."""
    question = random_problem(np.random.default_rng(seed), "dense", neurons=4)
    bracket = answered(question)
    for point in np.flatnonzero((bracket.upper > 0) & (bracket.upper < 30))[:1]:
        truth = scip_radius(question, point, horizon=1.5 * bracket.upper[point])
        np.testing.assert_allclose(bracket.upper[point], truth, rtol=1e-4)


@pytest.mark.parametrize("setting", [{"norm": "linf"}, {"norm": "linf", "box": (-3.0, 3.0)}, {"box": (-3.0, 3.0)}])
@pytest.mark.parametrize("seed", range(6))
def test_other_geometries_against_every_activation_pattern(setting, seed):
    rng = np.random.default_rng(seed)
    first = random_problem(rng, neurons=4)
    inside = np.clip(first.x, -2.9, 2.9)
    question = ask(first.network, inside, first.y, readout=first.readout, **setting)
    bracket = answered(question)
    check_honesty(bracket)
    for point in range(2):
        check_truth(bracket, point, brute_force_radius(question, point))


def test_a_box_only_helps():
    rng = np.random.default_rng(2)
    first = random_problem(rng, "dense", neurons=8)
    x = np.clip(first.x, -2.0, 2.0)
    free = answered(ask(first.network, x, first.y, readout=first.readout))
    boxed = answered(ask(first.network, x, first.y, readout=first.readout, box=(-2.0, 2.0)))
    assert (boxed.upper >= free.lower).all()
