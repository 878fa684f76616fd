"""The field of a two-layer network: rays are exact, and perturbations live in few coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from featavg.arrays import Array, Bools, Ints
from featavg.model import Argmax, Grouped, Sign
from featavg.robustness.attacks.contest import Contest, contest_of
from featavg.robustness.attacks.field import HALVINGS, Field, whole_rows
from featavg.robustness.attacks.protocol import Attackable
from featavg.robustness.attacks.rays import first_fooled
from featavg.robustness.question import Question

# A margin below this share of the terms it is made of is a tie to the search; witnesses are tested by the question.
TIE = 1e-9
# A gradient below this share of the largest possible one is zero.
FLAT = 1e-12
# How finely the bent path of a ray in a box is sampled, and then bisected.
BOX_TIMES, BOX_HALVINGS = 64, 50
OPEN_SIZES = 1e3


def field_of(question: Attackable) -> Field:
    """The field in which attacks on a question move.

    >>> from featavg.robustness.question import ask
    >>> field = field_of(ask(([[3.0, 4.0]], [0.0], [[1.0]], [-1.0]), [[1.0, 1.0]], [1]))
    >>> field.at_rest.shape, field.margins(field.at_rest)
    ((1, 1), array([6.]))
    """
    # A contest is between two sides; several coarse classes that pool their outputs are none, nor are new read-outs.
    pair = isinstance(question.readout, Grouped) and len(question.readout.labels) == 2
    if isinstance(question, Question) and (pair or isinstance(question.readout, Sign | Argmax)):
        return TwoLayerField.of(question)
    return Field(question, np.arange(len(question.x)))


@dataclass(frozen=True, eq=False)
class TwoLayerField(Field):
    """Margins of a two-layer network, computed from its pre-activations at x.

    In ℓ2 without a box δ is written in an orthonormal basis of span(W): gradients lie in it, and what lies outside
    moves no neuron and only adds length. Otherwise δ is written in the coordinates of the input.
    """

    contest: Contest
    second: Array  # (neuron,)  Σ_k |a_kj| over outputs, what a neuron adds to the terms of all margins
    constant: float  # Σ_k |c_k|
    basis: Array | None  # (axis, coordinate)  or None: the axes themselves
    weights: Array  # (neuron, coordinate)
    start: Array  # (sample, neuron)  W x + b

    exact_rays: ClassVar[bool] = True

    @classmethod
    def of(cls, question: Question) -> TwoLayerField:
        """The field of all points of a question."""
        network = question.network
        basis, weights = None, network.weights
        if question.norm == "l2" and question.box is None:
            basis, triangle = np.linalg.qr(network.weights.T)
            weights = np.ascontiguousarray(triangle.T)
        terms, constant = np.abs(network.second).sum(axis=0), float(np.abs(network.output_bias).sum())
        start = network.preactivations(question.x)
        return cls(question, np.arange(len(start)), contest_of(question), terms, constant, basis, weights, start)

    def take(self, rows: Ints | Bools) -> Self:
        """The same field at some of the samples, each as often as it is named."""
        return replace(self, rows=self.rows[rows], contest=self.contest.take(rows), start=self.start[rows])

    @property
    def at_rest(self) -> Array:
        """δ = 0: (sample, coordinate)."""
        return np.zeros((len(self), self.weights.shape[1]))

    def coordinates(self, vectors: Array) -> Array:
        """Vectors of the input space, or what the neurons see of them: (..., coordinate)."""
        return vectors if self.basis is None else vectors @ self.basis

    def points(self, delta: Array) -> Array:
        """x + δ in the input space, clipped to the box: (sample, axis)."""
        return super().points(delta if self.basis is None else delta @ self.basis.T)

    def preactivations(self, delta: Array) -> Array:
        """Z at x + δ: (sample, neuron)."""
        return self.start + delta @ self.weights.T

    def margins(self, delta: Array) -> Array:
        """m(x + δ): (sample,)."""
        return self.contest.margins(self.contest.votes(np.maximum(self.preactivations(delta), 0.0)))

    def gradients(self, delta: Array) -> tuple[Array, Array]:
        """m (sample,) and ∂m/∂δ = Σ_p ∂m/∂V_p Σ_{j: z_j >= 0} P_pj w_j (sample, coordinate), 0 where it is flat."""
        z = self.preactivations(delta)
        votes = self.contest.votes(np.maximum(z, 0.0))
        through = (self.contest.pull(votes) @ self.contest.shares) * (z >= 0)
        gradient = through @ self.weights
        steepest_possible = np.abs(self.contest.shares).sum(axis=0) @ self.norm.dual(self.weights)
        flat = self.norm.dual(gradient) <= FLAT * steepest_possible
        return self.contest.margins(votes), np.where(flat[:, None], 0.0, gradient)

    def tie(self, delta: Array) -> Array:
        """TIE · (Σ|a_j z_j| + |c|), summed over active neurons: (sample,)."""
        hidden = np.maximum(self.preactivations(delta), 0.0)
        return TIE * (hidden @ self.second + self.constant)

    def first_along(self, direction: Array, scales: Sequence[float] = (1.0,), halvings: int = HALVINGS) -> Array:
        """The δ nearest to 0 along the ray t·direction, t >= 0, that fools: (sample, coordinate), NaN if none does.

        The ray is searched as a whole, so neither `scales` nor `halvings` are needed.
        """
        known = whole_rows(direction)
        direction = np.where(known[:, None], direction, 0.0)
        if self.question.box is not None:
            return np.where(known[:, None], self._first_in_box(direction), np.nan)
        time = first_fooled(self.contest, self.start, direction @ self.weights.T)
        found = known & np.isfinite(time)
        return np.where(found[:, None], np.where(found, time, 0.0)[:, None] * direction, np.nan)

    def _first_in_box(self, direction: Array) -> Array:
        """The same along the path t ↦ clip(x + t·direction), sampled and then bisected."""
        assert self.question.box is not None
        low, high = self.question.box
        wall = np.where(direction > 0, high, low) - self.x
        exits = np.divide(wall, direction, out=np.zeros_like(wall), where=direction != 0)
        # Where the box is open the path is searched for as many sizes of the point.
        size, pace = np.abs(self.x).max(axis=1, initial=1.0), np.abs(direction).max(axis=1, initial=0.0)
        far = OPEN_SIZES * size / np.where(pace > 0, pace, 1.0)
        exits = np.where(np.isfinite(exits), exits, far[:, None])
        times = np.concatenate([[0.0], np.geomspace(1e-6, 1.0, BOX_TIMES)])[:, None] * exits.max(axis=1)
        hits = np.stack([self.fooled(self.inside(time[:, None] * direction)) for time in times])
        first, each = hits.argmax(axis=0), np.arange(len(self))
        before, after = times[np.maximum(first - 1, 0), each], times[first, each]
        time = self._bisect(direction, before, after, BOX_HALVINGS)
        return np.where(hits.any(axis=0, keepdims=True).T, self.inside(time[:, None] * direction), np.nan)

    def alike(self) -> Ints:
        """A number for each sample, the same for all of one own and one other side: (sample,)."""
        sides = np.concatenate([self.contest.own, self.contest.other], axis=1)
        return np.unique(sides, axis=0, return_inverse=True)[1].reshape(-1)

    def common_rays(self) -> list[Array]:
        """The gradient of the margin with all neurons on and all parties of a side averaged, then one per pair.

        With one output the first is y Σ_r a_r w_r; the pairs are Σ_r (P_ir − P_qr) w_r, party i own and q not.
        """
        shares, own, other = self.contest.shares, self.contest.own, self.contest.other
        sides = [side / side.sum(axis=1, keepdims=True) for side in (own, other)]
        pulls = [(sides[0] - sides[1]) @ shares]
        most_own, most_other = (int(side.sum(axis=1).max(initial=0)) for side in (own, other))
        if most_own * most_other > 1:
            pairs = [(i, q) for i in range(most_own) for q in range(most_other)]
            pulls += [shares[nth_party(own, i)] - shares[nth_party(other, q)] for i, q in pairs]
        return [self.norm.steepest(pull @ self.weights) for pull in pulls]

    def rival_rays(self) -> Array:
        """The nearest fooled point along −Σ_j c_j w_j over own rivals q, with c = P_leader − P_q and the sum over
        neurons that are on at x or would help the rival (c_j < 0): (sample, coordinate), NaN where no such ray fools.

        On an averaging network this is the universal direction, and it needs no rival neuron that is on.
        """
        contest = self.contest
        on = self.start >= 0
        votes = contest.votes(np.maximum(self.start, 0.0))
        leader = np.where(contest.own, votes, -np.inf).argmax(axis=1)
        best = self.nothing
        for number in range(int(contest.other.sum(axis=1).max(initial=0))):
            against = contest.shares[leader] - contest.shares[nth_party(contest.other, number)]
            ray = self.norm.steepest((against * (on | (against < 0))) @ self.weights)
            best = self.shorter(best, self.first_along(-ray))
        return best

    def dead_starts(self) -> Bools:
        """At which samples no neuron of any rival is on, though there are some: (sample,)."""
        rivals = self.contest.rival_neurons()
        return np.asarray(rivals.any(axis=1) & ~(rivals & (self.start >= 0)).any(axis=1))


def nth_party(side: Bools, number: int) -> Ints:
    """Party number `number` of each sample's side (sample, party), its last one if it has fewer: (sample,)."""
    order = np.argsort(~side, axis=1, kind="stable")
    return order[np.arange(len(order)), np.minimum(number, side.sum(axis=1) - 1)]
