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

An empty `mix` is G = 0: a cut from intervals alone, in every region.
"""

from __future__ import annotations

import numpy as np

from featavg.arrays import Ints
from featavg.errors import InputError
from featavg.robustness.proof.format import Decision


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
