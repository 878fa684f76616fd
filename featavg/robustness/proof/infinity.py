"""Infinite radii: certificates, in rationals and independent of the points, that a rival is reached nowhere in the box.

A tree of branches z_j <= 0 and z_j >= 0; every leaf has λ >= 0 and θ. With a = λᵀA and c = λᵀc of the rival's rows

    a_j ReLU(z_j) >= θ_j z_j    where z_j >= 0 if θ_j <= a_j,  where z_j <= 0 if θ_j >= 0,  anywhere if 0 <= θ_j <= a_j,

so that G >= ⟨h,x⟩ + θ·b + c with h = Wᵀθ: > 0 in the whole box if Σ_i min(h_i low_i, h_i high_i) + θ·b + c > 0.
Without a box h must be exactly 0. Nothing here is rounded. Probabilities have no rows, but the largest output of a
group of n is its logsumexp up to log n: it is reached only where one of its outputs is by f_r + log n (`in_rows`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from featavg.arrays import Bools
from featavg.errors import InputError
from featavg.robustness.proof.format import Decision, Problem
from featavg.robustness.proof.regions import rivals, rows

Rationals = Mapping[int, Fraction]
MOST_LEAVES = 2**14


class Leaf(NamedTuple):
    """λ by row and θ by neuron; entries that are not there are 0."""

    mix: Rationals
    theta: Rationals


class Branch(NamedTuple):
    """Both sides of one neuron: z <= 0, then z >= 0."""

    neuron: int
    off: Branch | Leaf
    on: Branch | Leaf


class Emptiness(NamedTuple):
    """Nobody with this label is ever fooled by this rival."""

    label: int
    rival: int
    tree: Branch | Leaf


def infinite(problem: Problem, certificates: Sequence[Emptiness]) -> Bools:
    """Whether every rival of a point's label is proved to be reached nowhere: (point,).

    >>> from featavg.robustness.proof.format import Decision, Neurons
    >>> neurons = Neurons(np.eye(1), np.zeros(1), np.eye(1), np.ones(1))
    >>> problem = Problem(neurons, np.array([[3.0]]), np.array([1]), Decision("sign", np.zeros(1, dtype=np.int64)))
    >>> infinite(problem, [Emptiness(1, 0, Leaf({0: Fraction(1)}, {}))])
    array([ True])
    """
    proved = {(each.label, each.rival) for each in certificates if proves_empty(problem, each)}
    result = np.zeros(len(problem.labels), dtype=np.bool_)
    for i, label in enumerate(problem.labels.tolist()):
        these = rivals(in_rows(problem, label).decision, label, len(problem.neurons.constants)).tolist()
        if problem.target is not None:
            group = problem.decision.class_of if problem.decision.kind == "probabilities" else range(max(these) + 1)
            these = [rival for rival in these if group[rival] == problem.target[i]]
        result[i] = bool(these or problem.target is None) and all((label, rival) in proved for rival in these)
    return result


def in_rows(problem: Problem, label: int) -> Problem:
    """The problem itself; for probabilities one by maximum that is fooled wherever it is: f_r + log n, rounded up."""
    if problem.decision.kind != "probabilities":
        return problem
    class_of, constants = problem.decision.class_of, problem.neurons.constants
    members = (class_of[:, None] == class_of).sum(axis=1)
    # Twice the next float: one for the logarithm, one for the sum.
    raised = np.nextafter(constants + np.nextafter(np.nextafter(np.log(members), np.inf), np.inf), np.inf)
    raised = np.where((class_of == label) | (members == 1), constants, raised)
    return problem._replace(
        neurons=problem.neurons._replace(constants=raised), decision=Decision("maximum", class_of), target=None
    )


def proves_empty(problem: Problem, certificate: Emptiness) -> bool:
    """Whether all leaves of a certificate hold; every branch has both its sides by construction."""
    outputs = len(problem.neurons.constants)
    label, rival, tree = certificate
    problem = in_rows(problem, label)
    if rival not in rivals(problem.decision, label, outputs):
        return False
    exact = ExactRows(problem, rows(problem.decision, label, rival, outputs).tolist())
    waiting: list[tuple[Branch | Leaf, dict[int, int]]] = [(tree, {})]
    while waiting:
        node, sides = waiting.pop()
        if isinstance(node, Leaf):
            if not exact.holds(node, sides):
                return False
        elif not 0 <= node.neuron < exact.neurons or len(waiting) > MOST_LEAVES:
            return False
        else:
            waiting += [(node.off, {**sides, node.neuron: -1}), (node.on, {**sides, node.neuron: 1})]
    return True


class ExactRows:
    """The network in rationals, its last layer as the rows of one rival."""

    def __init__(self, problem: Problem, signs: list[list[int]]) -> None:
        self.neurons, self.axes = problem.neurons.weights.shape
        self.weights = problem.neurons.weights
        self.biases = [Fraction(b) for b in problem.neurons.biases.tolist()]
        outputs = problem.neurons.outputs.tolist()
        self.rows = [
            [_sum(s * Fraction(f[j]) for s, f in zip(row, outputs, strict=True) if s) for j in range(self.neurons)]
            for row in signs
        ]
        constants = problem.neurons.constants.tolist()
        self.constants = [_sum(s * Fraction(c) for s, c in zip(row, constants, strict=True) if s) for row in signs]
        free = [None] * self.axes
        self.low: list[Any] = free if problem.low is None else [_end(v) for v in problem.low.tolist()]
        self.high: list[Any] = free if problem.high is None else [_end(v) for v in problem.high.tolist()]

    def holds(self, leaf: Leaf, sides: Mapping[int, int]) -> bool:
        """The inequalities of the module's first lines."""
        if any(not 0 <= i < len(self.rows) or value < 0 for i, value in leaf.mix.items()):
            return False
        if any(not 0 <= j < self.neurons for j in leaf.theta):
            return False
        for j in range(self.neurons):
            a = _sum(value * self.rows[i][j] for i, value in leaf.mix.items())
            theta, side = leaf.theta.get(j, Fraction(0)), sides.get(j, 0)
            if (side >= 0 and theta > a) or (side <= 0 and theta < 0):
                return False
        total = _sum(value * self.constants[i] for i, value in leaf.mix.items())
        total += _sum(value * self.biases[j] for j, value in leaf.theta.items())
        for i, h in enumerate(self.normal(leaf.theta)):
            end = self.low[i] if h > 0 else self.high[i]
            if h != 0 and end is None:
                return False
            total += h * end if h != 0 else 0
        return total > 0

    def normal(self, theta: Rationals) -> list[Fraction]:
        """h = Wᵀθ."""
        used = [(value, self.weights[j].tolist()) for j, value in theta.items() if value]
        return [_sum(value * Fraction(w[i]) for value, w in used if w[i]) for i in range(self.axes)]


def _sum(terms: Any) -> Fraction:
    return sum(terms, start=Fraction(0))


def _end(value: float) -> Fraction | None:
    return Fraction(value) if np.isfinite(value) else None


def to_text(certificates: Sequence[Emptiness]) -> str:
    """JSON, with rationals as pairs of hexadecimal integers."""

    def rationals(values: Rationals) -> dict[str, list[str]]:
        return {str(k): [hex(v.numerator), hex(v.denominator)] for k, v in values.items()}

    def plain(tree: Branch | Leaf) -> list[Any]:
        if isinstance(tree, Leaf):
            return [rationals(tree.mix), rationals(tree.theta)]
        return [tree.neuron, plain(tree.off), plain(tree.on)]

    return json.dumps([[each.label, each.rival, plain(each.tree)] for each in certificates])


def from_text(text: str) -> list[Emptiness]:
    """Read what `to_text` wrote; InputError if it is not that."""

    def rationals(values: Any) -> dict[int, Fraction]:
        return {int(k): Fraction(int(n, 16), int(d, 16)) for k, (n, d) in dict(values).items()}

    def tree(value: Any) -> Branch | Leaf:
        if len(value) == 3:
            return Branch(int(value[0]), tree(value[1]), tree(value[2]))
        mix, theta = value
        return Leaf(rationals(mix), rationals(theta))

    try:
        return [Emptiness(int(label), int(rival), tree(value)) for label, rival, value in json.loads(text)]
    except (TypeError, ValueError, AttributeError, ZeroDivisionError, RecursionError) as error:
        reason = type(error).__name__
        raise InputError(f"the certificates of infinite radii are damaged ({reason}); copy the file again") from None
