"""What it means to be fooled: the rivals of a label, and the function G <= 0 that `mix` makes of each.

sign, argmax, maximum, logits: a rival has rows g_i = Σ_o M_io f_o with M_io in {-1, 0, 1}, and is reached where all
g_i <= 0. `mix` is λ, one entry per row, λ >= 0; then G = Σ_i λ_i g_i <= 0 wherever the rival is reached.

- sign: one rival, 0; row y f_0.
- argmax: every other output r; row f_y - f_r.
- maximum: every output r of another group; rows f_o - f_r for the outputs o of the own group, in increasing order.
- logits: every other group; row Σ_own f - Σ_group f.

probabilities: every other group, reached where logsumexp_own f <= logsumexp_group f. `mix` has one entry per output:
p_o >= 0 (not all 0) for the own group, any number q_r for the rival's outputs, ignored for the rest. With p scaled to
sum 1 and H = -Σ p log p, logsumexp_own f >= p·f + H (Jensen), and logsumexp_group f = q·f + log Σ_r exp(f_r - q·f) for
any q. So with Ψ above the last term everywhere in the node within the reach (`pools.py`)

    G = p·f + H - q·f - Ψ <= 0.

With one more number ℓ at the end, q is of no account, and where each of the rival's outputs has a neuron of its own
(`exponentials.py`)

    G = p·f + H - Σ_r exp(f_r - ℓ) - ℓ + 1 <= 0.

An empty `mix` is G = 0: a cut from intervals alone, in every region.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from featavg.arrays import Ints
from featavg.errors import InputError
from featavg.robustness.proof.format import Decision, Problem


class Pairs(NamedTuple):
    """All pairs of a label and a rival that a problem is about; points of one kind have the same ones, in a row."""

    label: Ints  # (pair,)
    rival: Ints  # (pair,)
    first: Ints  # (kind + 1,)
    kind: Ints  # (point,)


def rivals(decision: Decision, label: int, outputs: int) -> Ints:
    """All rivals of a label: a lower bound must exclude every one of them.

    >>> rivals(Decision("maximum", np.array([0, 0, 1])), 0, 3)
    array([2])
    """
    if decision.kind == "sign":
        return np.zeros(1, dtype=np.int64)
    if decision.kind == "argmax":
        return np.setdiff1d(np.arange(outputs), [label])
    if decision.kind == "maximum":
        return np.flatnonzero(decision.class_of != label)
    if decision.kind in ("logits", "probabilities"):
        return np.setdiff1d(decision.class_of, [label])
    raise InputError(f"a decision is by sign, argmax, maximum, logits or probabilities, got {decision.kind!r}")


def rows(decision: Decision, label: int, rival: int, outputs: int) -> Ints:
    """The rows of a rival as combinations of outputs: (row, output), entries -1, 0 and 1.

    For probabilities: one row with 1 at the own outputs, -1 at the rival's and 0 at the rest.

    >>> rows(Decision("maximum", np.array([0, 0, 1])), 0, 2, 3)
    array([[ 1,  0, -1],
           [ 0,  1, -1]])
    """
    one = np.eye(outputs, dtype=np.int64)
    if decision.kind == "sign":
        return np.sign(label) * one[:1]
    if decision.kind == "argmax":
        return one[[label]] - one[[rival]]
    own = decision.class_of == label
    if decision.kind == "maximum":
        return one[own] - one[[rival]]
    return (own.astype(np.int64) - (decision.class_of == rival))[None]


def pairs_of(problem: Problem) -> Pairs:
    """A point has all rivals of its label, or the one that it is asked about.

    >>> from featavg.robustness.proof.format import Neurons
    >>> neurons = Neurons(np.eye(3), np.zeros(3), np.eye(3), np.zeros(3))
    >>> problem = Problem(neurons, np.eye(3), np.array([2, 0, 2]), Decision("argmax", np.zeros(3, dtype=np.int64)))
    >>> pairs_of(problem).rival, pairs_of(problem).kind
    (array([1, 2, 0, 1]), array([1, 0, 1]))
    """
    if problem.target is None:
        label, kind = np.unique(problem.labels, return_inverse=True)
        each = [rivals(problem.decision, one, len(problem.neurons.constants)) for one in label.tolist()]
    else:
        kinds, kind = np.unique(np.stack([problem.labels, problem.target], axis=1), axis=0, return_inverse=True)
        label, each = kinds[:, 0], list(kinds[:, 1:])
    sizes = [len(one) for one in each]
    rival = np.concatenate([np.zeros(0, dtype=np.int64), *each]).astype(np.int64)
    # NumPy 2.0 gives `kind` two axes.
    return Pairs(np.repeat(label, sizes), rival, np.cumsum([0, *sizes]), kind.reshape(-1).astype(np.int64))


def pair_at(pairs: Pairs, kind: Ints, rival: Ints) -> Ints:
    """Which pair is about that kind of points and that rival, −1 if there is none: shape of both."""
    names, rank = np.unique(pairs.rival, return_inverse=True)
    table = np.full((len(pairs.first), len(names) + 1), -1)
    table[np.repeat(np.arange(len(pairs.first) - 1), np.diff(pairs.first)), rank.reshape(-1)] = np.arange(len(rank))
    column = np.searchsorted(names, rival)
    return table[kind, np.where(np.append(names, -1)[column] == rival, column, -1)]
