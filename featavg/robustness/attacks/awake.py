"""What a gradient would be if it saw the neurons that sleep: the cure of dead starts."""

from __future__ import annotations

import numpy as np

from featavg.arrays import Array, Bools, Ints
from featavg.robustness.attacks.base import shorter
from featavg.robustness.attacks.field import Field


def awake_rays(field: Field) -> Array:
    """The nearest fooled point along −Σ_j c_j w_j over own rivals q, with c = P_leader − P_q and the sum over neurons
    that are on at x or would help the rival (c_j < 0): (sample, coordinate), NaN where no such ray fools.

    On an averaging network this is the universal direction, and it needs no rival neuron that is on.
    """
    contest = field.contest
    on = field.start >= 0
    votes = contest.votes(np.maximum(field.start, 0.0))
    leader = np.where(contest.own, votes, -np.inf).argmax(axis=1)
    best = np.full(field.at_rest.shape, np.nan)
    for number in range(int(contest.other.sum(axis=1).max(initial=0))):
        against = contest.shares[leader] - contest.shares[nth_party(contest.other, number)]
        ray = field.ball.steepest((against * (on | (against < 0))) @ field.weights)
        best = shorter(field, best, field.first_along(-ray))
    return best


def nth_party(side: Bools, number: int) -> Ints:
    """Party number `number` of each sample's side (sample, party), its last one if it has fewer: (sample,)."""
    order = np.argsort(~side, axis=1, kind="stable")
    return order[np.arange(len(order)), np.minimum(number, side.sum(axis=1) - 1)]
