"""Curves in the search: the same radii as chords, with fewer nodes."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from featavg.robustness.proof import Decision, Neurons, Problem, check
from featavg.robustness.proof.audit import audit
from featavg.robustness.search import curves, forest, relaxation
from featavg.robustness.search.answer import answer, is_exact
from featavg.robustness.search.budget import Budget
from featavg.robustness.search.propose import propose

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


def plain(kernel: Any) -> Callable[..., Any]:
    """A kernel as Python runs it."""
    return getattr(kernel, "py_func", kernel)


def test_every_tangent_lies_below_its_curve() -> None:
    """At contacts, beyond them, and at ends of the interval that are no contacts."""
    rng = np.random.default_rng(0)
    for _ in range(300):
        a, q, middle = -rng.uniform(0.01, 2.0), 10.0 ** rng.uniform(-2, 2), rng.normal()
        low, high = np.sort(rng.normal(size=2) * 10.0 ** rng.uniform(-1, 1))
        low, high = (-abs(low), abs(high)) if rng.random() < 0.6 else (low, high)
        names = ("lift", "bend", "slope", "middle", "least", "most", "left", "right")
        relaxed = SimpleNamespace(cost=np.zeros(3), convex=np.zeros(1, bool), **{name: np.zeros(1) for name in names})
        ends = np.array([low]), np.array([high])
        plain(relaxation.chords)(*ends, relaxed)
        node = SimpleNamespace(bound=np.array([0.0, 0.0, 1.0]), middle=np.array([middle]))
        place = SimpleNamespace(rows=np.array([[a]]), curve=np.array([q]))
        plain(curves.bend)(place, node, 1.0, *ends, relaxed)
        z = np.linspace(low, high, 501)
        values = a * np.maximum(z, 0.0) + q * (z - middle) ** 2
        for at in (low - 1.0, low, *rng.uniform(low, high, 4), high, high + 1.0):
            slope, constant = plain(relaxation.tangent)(relaxed, 0, a, at)
            assert (slope * z + constant <= values + 1e-9 * (1.0 + np.abs(values).max())).all()


def test_the_least_value_of_a_curve_is_that_on_a_grid(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(curves, "least_parabola", plain(curves.least_parabola))
    rng = np.random.default_rng(1)
    for case in range(300):
        slope, theta, middle = rng.normal(size=3)
        q = 0.0 if case % 3 == 0 else 10.0 ** rng.uniform(-1, 1)
        low, high = np.sort(rng.normal(size=2))
        z = np.append(np.linspace(low, high, 4001), np.clip(0.0, low, high))
        least = (slope * np.maximum(z, 0.0) - theta * z + q * (z - middle) ** 2).min()
        found = plain(curves.least_value)(slope, theta, q, middle, low, high)
        assert least - 1e-4 <= found <= least + 1e-12


@pytest.mark.parametrize("seed", [0, 5])
def test_the_checker_proves_what_the_search_claims(seed: int) -> None:
    problem = hard_problem(seed, neurons=30, axes=20)
    proposal = propose(problem, Budget(nodes=2000, seconds=20.0), lambda done, total: None)
    assert len(proposal.proofs.curve)
    assert (check(problem, proposal.proofs, proposal.lower) >= proposal.lower * (1.0 - 1e-6)).all()
