"""Curves in the search: the same radii as chords, with fewer nodes."""

from __future__ import annotations

import numpy as np
import pytest

from featavg.robustness.proof import Decision, Neurons, Problem
from featavg.robustness.proof.audit import audit
from featavg.robustness.search import forest
from featavg.robustness.search.answer import answer, is_exact
from featavg.robustness.search.budget import Budget

SIGN = Decision("sign", np.zeros(1, dtype=np.int64))


def hard_problem(seed: int, neurons: int = 40, axes: int = 60, points: int = 2) -> Problem:
    """A network whose neurons all may switch on the way to its boundary, which only a large tree of chords proves."""
    rng = np.random.default_rng(seed)
    weights, second = rng.normal(size=(neurons, axes)) / axes**0.5, rng.normal(size=neurons)
    layer = Neurons(weights, 0.1 * rng.normal(size=neurons), second[None], np.array([2.0]))
    x = 0.3 * rng.normal(size=(points, axes))
    values = np.maximum(x @ weights.T + layer.biases, 0.0) @ second + 2.0
    return Problem(layer, x, np.where(values > 0, 1, -1), SIGN)


def test_curves_and_chords_find_the_same_radii(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = hard_problem(0)
    bent = answer(problem, Budget(nodes=10**6, seconds=20.0), lambda done, total: None)
    monkeypatch.setattr(forest, "curve_for", lambda *_: (np.zeros(0), 0.0))
    straight = answer(problem, Budget(nodes=10**6, seconds=20.0), lambda done, total: None)
    assert is_exact(bent.lower, bent.upper).all()
    assert (bent.lower <= straight.upper).all()
    assert (straight.lower <= bent.upper).all()
    assert bent.proofs.bend.any()
    assert not straight.proofs.bend.any()
    assert len(bent.proofs.depth) < len(straight.proofs.depth)


def test_an_audit_agrees_with_curves() -> None:
    problem = hard_problem(3, neurons=24, axes=30, points=1)
    found = answer(problem, Budget(nodes=200, seconds=5.0), lambda done, total: None)
    lower = audit(problem, found.proofs)
    assert lower[0] >= found.lower[0]
    assert lower[0] <= found.upper[0]


def test_the_best_curve_beats_its_start() -> None:
    """Curves lose Σ_j a_j²/(16 q_j) + reach²·λ(q) where all pre-activations are 0: less than those at the start."""
    rng = np.random.default_rng(0)
    weights, slope = rng.normal(size=(30, 50)), rng.uniform(0.1, 1.0, 30)
    gram, reach = weights @ weights.T, 0.7

    def loss(curve: np.ndarray) -> float:
        root = np.sqrt(curve)
        most = np.linalg.eigvalsh(gram * np.outer(root, root))[-1]
        return float((slope**2 / (16.0 * curve)).sum() * most)  # whatever its scale

    start = slope / (4.0 * np.sqrt(np.diag(gram)) * reach)
    assert loss(forest.best_curve(slope, np.zeros(30), gram, reach)) < loss(start)
