"""Every read-out as one law: the decision is a contest of the own parties against the others.

    margin = pool of the own votes − pool of the other votes,     votes V = H Pᵀ + c,  H = ReLU(Z)

| read-out             | parties         | own        | pool      |
|----------------------|-----------------|------------|-----------|
| sign                 | f and 0         | f if y > 0 | maximum   |
| summed-logits        | Σ_{J+} f, Σ_{J-} f | side of y | maximum   |
| argmax               | the classes     | y          | maximum   |
| maximum              | the classes     | side of y  | maximum   |
| summed-probabilities | the classes     | side of y  | logsumexp |
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from featavg.arrays import Array, Bools, Ints
from featavg.model import Grouped
from featavg.robustness.question import Question


@dataclass(frozen=True)
class Contest:
    """Who votes how much at which neuron, and who is on whose side at which sample."""

    shares: Array  # (party, neuron)  P
    constants: Array  # (party,)  c
    own: Bools  # (sample, party)
    other: Bools  # (sample, party)
    soft: bool  # pool by logsumexp instead of the maximum

    def take(self, rows: Ints | Bools) -> Contest:
        """The same contest at some of the samples."""
        return replace(self, own=self.own[rows], other=self.other[rows])

    def votes(self, hidden: Array) -> Array:
        """V = H Pᵀ + c: (sample, party)."""
        return hidden @ self.shares.T + self.constants

    def margins(self, votes: Array) -> Array:
        """By how much the own side wins: (sample,)."""
        return self._pool(votes, self.own) - self._pool(votes, self.other)

    def pull(self, votes: Array) -> Array:
        """∂margin/∂V (sample, party): +1 at the own leader and −1 at the other one, or softmax shares of them."""
        return self._leaders(votes, self.own) - self._leaders(votes, self.other)

    def _pool(self, votes: Array, side: Bools) -> Array:
        masked = np.where(side, votes, -np.inf)
        return soft_maximum(masked)[0] if self.soft else np.asarray(masked.max(axis=1))

    def _leaders(self, votes: Array, side: Bools) -> Array:
        masked = np.where(side, votes, -np.inf)
        if self.soft:
            return soft_maximum(masked)[1]
        leaders = np.zeros(votes.shape)
        np.put_along_axis(leaders, masked.argmax(axis=1)[:, None], 1.0, axis=1)
        return leaders

    def rival_neurons(self) -> Bools:
        """Neurons that speak for some other party more than for some own one: (sample, neuron)."""
        most = np.where(self.other[:, :, None], self.shares, -np.inf).max(axis=1)
        least = np.where(self.own[:, :, None], self.shares, np.inf).min(axis=1)
        return most > least


def soft_maximum(votes: Array) -> tuple[Array, Array]:
    """Logsumexp over the last axis and its softmax shares; −∞ is no vote."""
    # SciPy's own spends most of its time on checks when votes are few.
    top = votes.max(axis=-1, keepdims=True)
    shares = np.exp(votes - top)
    total = shares.sum(axis=-1, keepdims=True)
    return (top + np.log(total))[..., 0], shares / total


def contest_of(question: Question) -> Contest:
    """Return the contest that decides a question.

    >>> from featavg.robustness.question import ask
    >>> contest = contest_of(ask(([[1.0]], [0.0], [[1.0]], [-1.0]), [[3.0]], [-1]))
    >>> contest.margins(contest.votes(np.array([[3.0]])))
    array([-2.])
    """
    network, y = question.network, question.y
    shares, constants = network.second, network.output_bias
    soft = question.readout.name == "summed-probabilities"
    if network.output_count == 1:
        shares, constants = np.vstack([shares, np.zeros_like(shares)]), np.append(constants, 0.0)
        sides = np.array([1, -1])
    elif question.readout.name == "argmax":
        own = y[:, None] == np.arange(len(shares))
        other = ~own if question.rival is None else question.rival[:, None] == np.arange(len(shares))
        return Contest(shares, constants, own, other, soft)
    else:
        assert isinstance(question.readout, Grouped)
        sides = 2 * question.readout.groups.codes - 1
        positive, negative = np.flatnonzero(sides > 0), np.flatnonzero(sides < 0)
        if question.readout.name == "summed-logits":
            shares = np.stack([shares[positive].sum(axis=0), shares[negative].sum(axis=0)])
            constants = np.array([constants[positive].sum(), constants[negative].sum()])
            sides = np.array([1, -1])
    return Contest(shares, constants, y[:, None] == sides, y[:, None] == -sides, soft)
