"""Proofs that hold are accepted, proofs that were touched are not."""

from dataclasses import replace

import numpy as np
import pytest

from featavg.model import BinaryNetwork
from featavg.robustness import robust_radius
from featavg.robustness.first_proof import Cut, Emptiness, Node
from featavg.robustness.verifier import proved


@pytest.fixture(scope="module")
def bracket():
    """A bracket whose proofs have branches."""
    rng = np.random.default_rng(4)
    network = BinaryNetwork(
        rng.standard_normal((30, 12)), rng.standard_normal(30), rng.standard_normal((1, 30)), rng.standard_normal(1)
    )
    x = 2 * rng.standard_normal((12, 12))
    return robust_radius(network, x, np.where(network.score(x) >= 0, 1, -1))


def branched(bracket):
    index = next(k for k, proof in enumerate(bracket.proofs) if proof.root.children)
    return index, bracket.proofs[index]


def with_root(bracket, index, root):
    proofs = list(bracket.proofs)
    proofs[index] = replace(proofs[index], root=root)
    return replace(bracket, proofs=proofs)


def test_untouched_proofs_hold(bracket):
    assert bracket.verify().all()
    assert set(bracket.status) == {"exact"}


def test_a_raised_lower_bound_is_refused(bracket):
    raised = replace(bracket, lower=bracket.lower * (1 + 1e-5))
    assert not raised.verify()[bracket.lower > 0].any()


def test_a_missing_proof_is_refused(bracket):
    index, proof = branched(bracket)
    left = replace(bracket, proofs=[p for k, p in enumerate(bracket.proofs) if k != index])
    assert not left.verify()[proof.points].any()


@pytest.mark.parametrize("what", ["rows", "slopes"])
def test_changed_multipliers_are_refused(bracket, what):
    def changed(node):
        cuts = [cut._replace(**{what: -getattr(cut, what)}) for cut in node.cuts]
        return Node(cuts, node.neuron, [changed(child) for child in node.children])

    index, proof = branched(bracket)
    assert not with_root(bracket, index, changed(proof.root)).verify()[proof.points].any()


def test_a_removed_branch_is_refused(bracket):
    """With the cuts of one child taken away, that half of the node is unproved."""
    index, proof = branched(bracket)
    root = proof.root
    for kept in (0, 1):
        children = [child if k == kept else Node() for k, child in enumerate(root.children)]
        assert not with_root(bracket, index, Node(root.cuts, root.neuron, children)).verify()[proof.points].any()
    assert not with_root(bracket, index, Node(root.cuts)).verify()[proof.points].any()


def test_a_short_reach_is_refused(bracket):
    """A cut speaks of the points within its reach only."""
    index, proof = branched(bracket)
    root = Node(
        [Cut(0.5 * cut.reach, cut.rows, cut.slopes) for cut in proof.root.cuts], proof.root.neuron, proof.root.children
    )
    assert not with_root(bracket, index, root).verify()[proof.points].any()


def test_a_moved_witness_is_refused(bracket):
    back = bracket.question.x + 0.999 * (bracket.witness - bracket.question.x)
    touched = replace(bracket, witness=back, upper=0.999 * bracket.upper)
    assert not touched.verify()[bracket.upper > 0].any()


def test_any_multipliers_prove_something_true(bracket):
    """Weak duality: random multipliers never prove more than the exact radius."""
    rng = np.random.default_rng(0)
    question, upper = bracket.question, bracket.upper
    for _ in range(20):
        proofs = []
        for proof in bracket.proofs:
            shape = proof.root.cuts[0].slopes.shape
            reach = np.full(len(proof.points), 1e6)
            cuts = [Cut(reach, np.ones((shape[0], 1)), rng.standard_normal(shape)) for _ in range(3)]
            proofs.append(replace(proof, root=Node(cuts)))
        assert (proved(question, proofs) <= upper * (1 + 1e-9)).all()


def test_emptiness_needs_every_subset():
    """f = z₁⁺ + z₂⁺ − (z₁ + z₂)⁺ + 0.1 >= 0.1, whatever the input."""
    network = ([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], np.zeros(3), [[1.0, 1.0, -1.0]], [0.1])
    bracket = robust_radius(network, [[1.0, 2.0]], [1])
    assert bracket.upper[0] == np.inf
    assert bracket.verify().all()
    (proof,) = bracket.proofs
    assert isinstance(proof, Emptiness)
    assert len(proof.cuts) == 2
    assert not replace(bracket, proofs=[replace(proof, cuts=proof.cuts[:1])]).verify().any()
    flipped = [cut._replace(slopes=0.0 * cut.slopes) for cut in proof.cuts]
    assert not replace(bracket, proofs=[replace(proof, cuts=flipped)]).verify().any()
