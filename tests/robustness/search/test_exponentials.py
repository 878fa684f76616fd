"""Summed probabilities of outputs with a neuron each: few nodes, envelopes above, no disagreement with the checker."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from featavg.experiments.paper.setting import Setting
from featavg.model import MulticlassNetwork
from featavg.robustness import Budget, robust_radius
from featavg.robustness.search.pairs import neurons_of

SUMMED = {"readout": "summed-probabilities"}


def nodes_of(bracket) -> int:
    return len(bracket.proofs.depth)


@pytest.mark.parametrize(("clusters", "narrow", "most"), [(10, 60, 200), (20, 600, 1500)])
def test_the_papers_networks_are_closed_by_few_nodes(clusters, narrow, most):
    """The bound by averages took tens of thousands of nodes to nine tenths."""
    setting = Setting(clusters=clusters)
    data = setting.data(0)
    test, network = setting.test(data, 0, 4), setting.fine(data, 0).final
    for nodes, ratio in ((narrow, 1.01), (most, 1.0 + 1e-6)):
        budget = Budget(nodes=nodes, seconds=60)
        bracket = robust_radius(network, test.x, test.y, budget=budget, **SUMMED)
        assert (bracket.upper <= ratio * bracket.lower).all()
        assert bracket.verify().all()
        assert nodes_of(bracket) <= len(test.x) * nodes


def test_a_box_that_misses_the_ball_is_seen_to_be_empty():
    """Among these points is one where halving such boxes went on for 22 seconds."""
    setting = Setting()
    data = setting.data(0)
    test, network = setting.test(data, 0, 60), setting.fine(data, 0).final
    bracket = robust_radius(network, test.x[:12], test.y[:12], budget=Budget(nodes=400, seconds=60), **SUMMED)
    assert (bracket.upper <= (1 + 1e-6) * bracket.lower).all()


def test_more_nodes_never_prove_less():
    setting = Setting(clusters=20)
    data = setting.data(0)
    test, network = setting.test(data, 0, 3), setting.fine(data, 0).final
    found = [
        robust_radius(network, test.x, test.y, budget=Budget(nodes=nodes, seconds=60), **SUMMED).lower
        for nodes in (10, 40, 160, 640)
    ]
    # A nearer point brings the first radius that is tried nearer as well, by as little.
    for less, more in itertools.pairwise(found):
        assert (more >= less * (1 - 1e-3)).all()


@pytest.mark.parametrize(("norm", "box"), [("l2", None), ("l2", (-4.0, 4.0)), ("linf", None), ("linf", (-4.0, 4.0))])
def test_every_bracket_holds_in_boxes_and_norms(norm, box):
    closed = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        sides = np.where(np.arange(6) < 3, 1, -1)
        network = MulticlassNetwork(
            rng.standard_normal((6, 4)),
            rng.normal(size=6),
            np.diag(rng.uniform(0.5, 3.0, 6)),
            rng.normal(size=6),
            sides,
        )
        x = rng.standard_normal((3, 4))
        y = np.where(network.score(x) >= 0, 1, -1)
        budget = Budget(nodes=3000, seconds=60)
        bracket = robust_radius(network, x, y, norm=norm, box=box, budget=budget, **SUMMED)
        assert bracket.verify().all()
        closed += (bracket.upper <= 1.01 * bracket.lower).tolist()
    assert np.mean(closed) >= 0.7


def test_kinks_are_not_decided_by_rounding():
    """Nearest points at z = 0: search and checker once took different lines there, and proofs fell short."""
    for seed in (2, 4, 8):
        rng = np.random.default_rng(seed)
        second = np.abs(rng.standard_normal((4, 5)))
        network = MulticlassNetwork(
            rng.standard_normal((5, 4)),
            rng.standard_normal(5),
            second,
            rng.standard_normal(4),
            np.array([1, -1, 1, -1]),
        )
        x = rng.standard_normal((2, 4))
        y = np.where(network.score(x) >= 0, 1, -1)
        bracket = robust_radius(network, x, y, budget=Budget(nodes=20_000, seconds=30), **SUMMED)
        assert not any("rounding" in why for why in bracket.reasons)


def test_neurons_are_the_outputs_own_or_none():
    table = np.array([[1.0, 0.0, 0.0, 0.0], [0.0, 2.0, 0.0, 0.0], [0.0, 0.0, 0.0, 3.0]])
    role = np.array([1, -1, -1])
    assert neurons_of(table, role, 3).tolist() == [-1, 1, 3]
    for row, column, value in ((1, 2, 1.0), (1, 1, -2.0), (2, 1, 1.0), (0, 1, 1.0)):
        changed = table.copy()
        changed[row, column] = value
        assert neurons_of(changed, role, 3).tolist() == [-1, -1, -1]
