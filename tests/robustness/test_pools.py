"""Summed probabilities through the checker: the bound of the pool, independent radii, many outputs, several groups."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import logsumexp

from featavg import robust_at, robust_radius
from featavg.model import MulticlassNetwork
from featavg.robustness import PGD, ask
from featavg.robustness.proof.format import Decision, Neurons, Problem
from featavg.robustness.proof.pools import Average, Ball, Products, Rows, excess
from featavg.robustness.search.answer import answer, is_exact
from featavg.robustness.search.budget import Budget

SHORT = Budget(seconds=2.0)


def random_pool(rng, outputs=4, neurons=6, axes=3):
    """All outputs belong to the rival; their weights, biases and constants."""
    return (rng.standard_normal(size) for size in ((neurons, axes), neurons, (outputs, neurons), outputs))


def bounded(weights, second, constants, q, z, radius, low, high):
    nothing = np.zeros_like(second)
    rows = Rows(second, nothing, constants, nothing[:, 0].copy(), np.full(len(second), -1))
    average = Average(q @ second, np.zeros(len(z)), float(q @ constants), 0.0)
    products = Products(weights @ weights.T, np.linalg.norm(weights, axis=1) * (1 + 1e-12), 1e-14)
    return excess(rows, average, Ball(z, np.zeros(len(z)), radius), products, low, high)


@pytest.mark.parametrize("seed", range(20))
def test_the_pool_exceeds_its_average_by_no_more_than_the_bound(seed):
    """Against many points of the ball; and the bound is sharp in a ball of no size."""
    rng = np.random.default_rng(seed)
    weights, biases, second, constants = random_pool(rng)
    center, radius = rng.standard_normal(3), float(rng.choice([0.1, 0.5, 2.0]))
    z = weights @ center + biases
    q = rng.dirichlet(np.ones(len(second))) if seed % 2 else rng.normal(size=len(second))
    moved = rng.standard_normal((20_000, 3))
    moved *= radius * rng.uniform(0, 1, (20_000, 1)) ** 0.2 / np.linalg.norm(moved, axis=1, keepdims=True)
    outputs = np.maximum((center + moved) @ weights.T + biases, 0.0) @ second.T + constants
    reached = (logsumexp(outputs, axis=1) - outputs @ q).max()
    reach = np.linalg.norm(weights, axis=1) * radius
    assert reached <= bounded(weights, second, constants, q, z, radius, z - reach, z + reach)
    here = np.maximum(z, 0.0) @ second.T + constants
    assert_allclose(
        bounded(weights, second, constants, q, z, 1e-9, z - 1e-9, z + 1e-9), logsumexp(here) - q @ here, atol=1e-6
    )


def test_outputs_that_cannot_grow_together_are_not_added_up():
    """Rivals along different axes: far less than the sum of what each alone could become."""
    weights, second, z = np.eye(10), 2.0 * np.eye(10), np.full(10, 5.0)
    q, constants = np.full(10, 0.1), np.full(10, -10.0)
    bound = bounded(weights, second, constants, q, z, 1.0, z - 1.0, z + 1.0)
    assert bound < np.log(10 * np.exp(1.8)) - 1.0


def test_two_outputs_are_the_maximum():
    rng = np.random.default_rng(3)
    sizes = ((12, 5), 12, (2, 12), 2)
    network = MulticlassNetwork(*(rng.standard_normal(size) for size in sizes), np.array([-1, 1]))
    x = rng.standard_normal((15, 5))
    y = network.class_labels[network.predict(x)]
    found = {
        name: robust_radius(network, x, y, readout=name, budget=SHORT) for name in ("summed-probabilities", "maximum")
    }
    for bracket in found.values():
        assert set(bracket.status) == {"exact"}
    assert_allclose(found["summed-probabilities"].upper, found["maximum"].upper, rtol=3e-6)


@pytest.fixture(scope="module")
def prototypes():
    """Thirty outputs per class, each the similarity with a center of its own."""
    rng = np.random.default_rng(0)
    centers = rng.standard_normal((60, 12)) * 1.5
    biases = 4.0 - 0.5 * (centers**2).sum(axis=1)
    network = MulticlassNetwork(centers, 20.0 + biases, np.eye(60), np.zeros(60), np.repeat([-1, 1], 30))
    x = centers + 0.3 * rng.standard_normal(centers.shape)
    return network, x, network.class_labels


def test_many_outputs_are_decided_at_one_radius(prototypes):
    network, x, y = prototypes
    bracket = robust_at(network, x, y, 2.0, readout="summed-probabilities", budget=SHORT)
    proved, refuted = bracket.lower >= 2.0, bracket.upper <= 2.0
    assert (proved | refuted).mean() >= 0.95
    assert bracket.verify().all()
    attack = PGD(radii=2.0, steps=40, restarts=1, shorten=False).on(ask(network, x, y, readout="summed-probabilities"))
    assert not (proved & (attack.upper <= 2.0)).any()
    assert proved.sum() >= 20
    assert refuted.sum() >= 1


def test_the_audit_agrees_with_the_checker(prototypes):
    network, x, y = prototypes
    bracket = robust_at(network, x[:2], y[:2], 0.4, readout="summed-probabilities", budget=SHORT)
    assert bracket.lower.min() >= 0.4
    assert bracket.verify(audit=True).all()


def test_three_groups_have_one_problem_per_rival_group():
    rng = np.random.default_rng(5)
    neurons = Neurons(rng.standard_normal((8, 4)), rng.standard_normal(8), rng.standard_normal((6, 8)), np.zeros(6))
    groups = np.array([0, 0, 1, 1, 2, 2])
    x = rng.standard_normal((6, 4))
    outputs = np.maximum(x @ neurons.weights.T + neurons.biases, 0.0) @ neurons.outputs.T
    labels = logsumexp(outputs.reshape(6, 3, 2), axis=2).argmax(axis=1)
    problem = Problem(neurons, x, labels, Decision("probabilities", groups))
    whole = answer(problem, SHORT, lambda done, total: None)
    parts = [answer(problem._replace(target=(labels + step) % 3), SHORT, lambda done, total: None) for step in (1, 2)]
    # Both bracket the same radius: they overlap, and where both are exact they agree.
    lower, upper = (np.minimum(getattr(parts[0], end), getattr(parts[1], end)) for end in ("lower", "upper"))
    assert (np.maximum(whole.lower, lower) <= np.minimum(whole.upper, upper) * (1 + 1e-6)).all()
    exact = is_exact(whole.lower, whole.upper) & is_exact(lower, upper)
    assert exact.sum() >= 3
    assert_allclose(whole.upper[exact], upper[exact], rtol=1e-5)
