"""Summed probabilities: a bracket that holds the truth, and proofs that hold."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from featavg import decoupled_network, sample_clusters
from featavg.model import MulticlassNetwork
from featavg.robustness import Budget, robust_radius
from featavg.robustness.proof.format import no_proofs

BUDGET = Budget(seconds=3)


def random_network(rng, classes, neurons, dim=5, sign=1.0):
    second = rng.standard_normal((classes, neurons))
    return MulticlassNetwork(
        rng.standard_normal((neurons, dim)),
        rng.standard_normal(neurons),
        np.abs(second) if sign > 0 else second,
        rng.standard_normal(classes),
        class_labels=np.where(np.arange(classes) % 2 == 0, 1, -1),
    )


@pytest.mark.parametrize("seed", range(5))
def test_two_classes_are_the_argmax(seed):
    """With one class a side, logsumexp is the output itself."""
    rng = np.random.default_rng(seed)
    network, x = random_network(rng, 2, 6, sign=rng.choice([-1, 1])), rng.standard_normal((4, 5))
    exact = robust_radius(network, x, network.predict(x))
    y = np.where(network.score(x) >= 0, 1, -1)
    bracket = robust_radius(network, x, y, readout="summed-probabilities", budget=BUDGET)
    assert (bracket.lower <= exact.upper * (1 + 1e-6)).all()
    assert (exact.lower <= bracket.upper * (1 + 1e-6)).all()
    assert bracket.verify().all()


def test_most_small_problems_are_closed():
    """Where several rivals may lead and neurons mix, tens of thousands of nodes do not always suffice."""
    closed = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        network, x = random_network(rng, 4, 5, dim=4), rng.standard_normal((2, 4))
        y = np.where(network.score(x) >= 0, 1, -1)
        # Nodes, not seconds: every machine gets as far. They take 4 CPU seconds in all.
        budget = Budget(nodes=60_000, seconds=60)
        bracket = robust_radius(network, x, y, readout="summed-probabilities", budget=budget)
        closed += [status == "exact" for status in bracket.status]
    assert np.mean(closed) >= 0.7


@pytest.mark.parametrize("seed", range(6))
def test_brackets_are_narrow_and_no_attack_beats_them(seed):
    rng = np.random.default_rng(seed)
    network, x = random_network(rng, 4, 5, dim=4), rng.standard_normal((2, 4))
    y = np.where(network.score(x) >= 0, 1, -1)
    bracket = robust_radius(network, x, y, readout="summed-probabilities", budget=BUDGET)
    assert bracket.verify().all()
    done = np.array([why != "budget of 3 seconds" for why in bracket.reasons])
    assert (bracket.lower >= 0.98999 * np.where(np.isfinite(bracket.upper), bracket.upper, 0.0))[done].all()
    for point, label, lower in zip(x, y, bracket.lower, strict=True):
        if lower == 0:
            continue
        directions = rng.standard_normal((20_000, 4))
        directions *= (min(lower, 50.0) * rng.random((20_000, 1)) ** 0.25) / np.linalg.norm(
            directions, axis=1, keepdims=True
        )
        assert (label * network.score(point + directions) > 0).all()


def test_many_strong_logits_are_the_maximum():
    """As logits grow, logsumexp becomes the maximum, and so does the radius at a center: √(d/2)."""
    data = sample_clusters(clusters=4, dim=200, samples=5, seed=0)
    network = decoupled_network(data)
    strong = network.changed(second=200.0 * network.second)
    bracket = robust_radius(strong, data.centers, data.center_labels, readout="summed-probabilities", budget=BUDGET)
    assert_allclose(bracket.upper, 10.0, rtol=1e-2)
    assert (bracket.lower >= 0.98 * bracket.upper).all()
    assert bracket.verify().all()


def test_a_touched_proof_is_refused():
    rng = np.random.default_rng(0)
    network, x = random_network(rng, 4, 5), rng.standard_normal((1, 5))
    y = np.where(network.score(x) >= 0, 1, -1)
    bracket = robust_radius(network, x, y, readout="summed-probabilities", budget=BUDGET)
    assert bracket.verify().all()
    assert bracket.lower[0] > 0
    assert not replace(bracket, lower=bracket.lower * 1.02).verify().any()
    assert not replace(bracket, proofs=no_proofs()).verify().any()
    assert not replace(bracket, proofs=bracket.proofs._replace(theta=-bracket.proofs.theta)).verify().any()
