"""Slabs: what they prove is true, checked by samples, attacks and the search, and narrow where rivals are many."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from featavg.model import MulticlassNetwork, Network
from featavg.robustness import Budget, RadiusBracket, exact, robust_radius
from featavg.robustness.attacks import GradientWalk
from featavg.robustness.slabs import SlabProof, Slabs


def prototypes(rng: Any, each: int, dim: int = 12, on: float = 30.0, strength: float = 2.0) -> Network:
    """One neuron a sub-class, at a random direction away from its side's mean; on at all points if `on` is large."""
    labels = np.repeat([1, -1], each)
    weights = strength * rng.standard_normal((2 * each, dim)) + 1.5 * labels[:, None] * np.eye(dim)[0]
    return MulticlassNetwork(weights, np.full(2 * each, on), np.eye(2 * each), np.zeros(2 * each), labels)


def dense(rng: Any, each: int, dim: int = 4) -> Network:
    """Every output sees every neuron, with either sign, and neurons switch near the points."""
    second = rng.standard_normal((2 * each, 7))
    labels = np.repeat([1, -1], each)
    return MulticlassNetwork(
        rng.standard_normal((7, dim)), rng.standard_normal(7), second, rng.standard_normal(2 * each), labels
    )


def by_slabs(network: Network, x: Any, monkeypatch: Any, **asked: Any) -> RadiusBracket:
    monkeypatch.setattr(exact, "MANY", 1)
    y = np.where(network.score(x, "summed-probabilities") >= 0, 1, -1)
    return robust_radius(network, x, y, readout="summed-probabilities", **asked)


def within(rng: Any, bracket: RadiusBracket, i: int, count: int = 20_000) -> Any:
    """Points of the ball that was proved: anywhere in it, and on its rim around the way to the witness."""
    dim, lower = bracket.question.x.shape[1], bracket.lower[i]
    toward = bracket.witness[i] - bracket.question.x[i]
    steps = rng.standard_normal((count, dim))
    steps[: count // 2] += 3.0 * toward / np.linalg.norm(toward) * rng.random((count // 2, 1))
    lengths = np.where(np.arange(count) % 4 == 0, rng.random(count) ** (1 / dim), 1.0)
    return bracket.question.x[i] + steps * (lengths * lower / np.linalg.norm(steps, axis=1))[:, None]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", ["on", "switching", "dense"])
def test_no_point_that_was_excluded_is_fooled(kind: str, seed: int, monkeypatch: Any) -> None:
    rng = np.random.default_rng(seed)
    network = dense(rng, 4) if kind == "dense" else prototypes(rng, 6, on=30.0 if kind == "on" else 1.0)
    x = rng.standard_normal((4, network.weights.shape[1]))
    bracket = by_slabs(network, x, monkeypatch)
    assert bracket.verify().all()
    assert (bracket.lower > 0).any()
    for i in np.flatnonzero(bracket.lower > 0):
        points = within(rng, bracket, int(i))
        assert (bracket.question.y[i] * network.score(points, "summed-probabilities") > 0).all()
    walked = GradientWalk(restarts=2)(network, x, bracket.question.y, readout="summed-probabilities")
    assert (bracket.lower <= walked.upper).all()


@pytest.mark.parametrize("seed", range(3))
def test_the_search_agrees(seed: int, monkeypatch: Any) -> None:
    rng = np.random.default_rng(seed)
    network, x = prototypes(rng, 3, dim=5, on=2.0), rng.standard_normal((3, 5))
    y = np.where(network.score(x, "summed-probabilities") >= 0, 1, -1)
    searched = robust_radius(network, x, y, readout="summed-probabilities", budget=Budget(seconds=2))
    slabs = by_slabs(network, x, monkeypatch)
    assert (slabs.lower <= searched.upper * (1 + 1e-9)).all()
    assert (searched.lower <= slabs.upper * (1 + 1e-9)).all()


def test_one_class_a_side_is_a_linear_decision_and_slabs_reach_it(monkeypatch: Any) -> None:
    network = MulticlassNetwork(np.array([[3.0, 4.0], [-3.0, -4.0]]), np.full(2, 90.0), np.eye(2), np.zeros(2), [1, -1])
    bracket = by_slabs(network, np.array([[1.0, 1.0]]), monkeypatch)
    np.testing.assert_allclose(bracket.upper, 7 / 5, rtol=1e-6)
    assert bracket.lower[0] > 0.98 * 7 / 5
    assert bracket.verify().all()


@pytest.mark.parametrize("box", [None, (-4.0, 4.0)])
def test_sixty_rivals_leave_a_narrow_bracket(box: Any) -> None:
    rng = np.random.default_rng(0)
    network, x = prototypes(rng, 60, dim=30, strength=0.5), rng.uniform(-1, 1, size=(1, 30))
    y = np.where(network.score(x, "summed-probabilities") >= 0, 1, -1)
    bracket = robust_radius(network, x, y, readout="summed-probabilities", box=box)
    assert (bracket.lower >= 0.8 * bracket.upper).all()
    assert bracket.verify().all()
    assert all(isinstance(proof, SlabProof) for proof in bracket.proofs or [])


def test_the_quadratic_lies_above_the_exponential() -> None:
    """The slab of all t ⟂ e with ‖t‖ <= 1 is not called empty when one of its points is fooled."""
    rng = np.random.default_rng(0)
    network = prototypes(rng, 5)
    question = exact.Task.of(exact.Question(network, np.zeros((1, 12)), np.ones(1), "l2", "summed-probabilities", None))
    neurons, sides = question.fooled.neurons, question.fooled.sides
    own, rivals = np.flatnonzero(sides == 1), np.flatnonzero(sides == -1)
    for _ in range(200):
        e = rng.standard_normal(12)
        e /= np.linalg.norm(e)
        start, reach = neurons.weights @ (1.5 * rng.standard_normal(12)) + 30.0, 10 ** rng.uniform(-1.5, 0)
        slabs = Slabs(neurons, own, rivals, neurons.weights, start, np.abs(start), e)
        low, high = np.sort(rng.uniform(-reach, reach, 2))
        s, t = rng.uniform(low, high, 3000), rng.standard_normal((3000, 12))
        t -= np.outer(t @ e, e)
        t *= (np.sqrt(reach**2 - s**2) / np.linalg.norm(t, axis=1))[:, None]
        f = start + (s[:, None] * e + t) @ neurons.weights.T
        fooled = np.logaddexp.reduce(f[:, own], axis=1) <= np.logaddexp.reduce(f[:, rivals], axis=1)
        assert not (fooled.any() and slabs.empty(slabs.tangent(low), low, high, reach, 1e-14))


def test_a_touched_proof_is_refused(monkeypatch: Any) -> None:
    rng = np.random.default_rng(1)
    network, x = prototypes(rng, 6), rng.standard_normal((1, 12))
    bracket = by_slabs(network, x, monkeypatch)
    assert bracket.verify().all()
    proof: Any = bracket.proofs[-1] if bracket.proofs else None
    farther = proof.reach * 1.3
    wrong = [
        replace(proof, reach=farther, edges=proof.edges * 1.3),
        replace(proof, reach=farther),
        replace(proof, edges=proof.edges[1:], tangents=proof.tangents[1:]),
        replace(proof, rivals=proof.rivals[1:], points=proof.points[1:]),
        replace(proof, direction=np.zeros_like(proof.direction)),
    ]
    for touched in wrong:
        lower = np.array([max(touched.reach, bracket.lower[0])])
        assert not replace(bracket, lower=lower, upper=np.array([np.inf]), proofs=[touched]).verify().any()
    # Rivals that are bounded apart are not bounded together.
    apart = [replace(proof, rivals=part, points=proof.points[: len(part)]) for part in np.split(proof.rivals, 2)]
    assert not replace(bracket, proofs=apart).verify().any()
