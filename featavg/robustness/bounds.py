"""Named lower bounds of the radius: cheap certificates without search, valid in every box too.

Both look at pairs of an own party i and another q with gap G(u) = Σ_j c_j ReLU(z_j) + c_0, c = P_i − P_q: the decision
is lost only where, for some q, the gaps of all own i are closed. A gap within the tie tolerance is closed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from featavg.arrays import Array
from featavg.robustness.attacks.two_layer import TwoLayerField, nth_party
from featavg.robustness.bracket import RadiusBracket
from featavg.robustness.question import TIE, Norm, Question, Readout, ask

# Share of the terms of a sum that its rounding may hide, for sums of up to 10⁴ terms.
ROUNDING = 1e-13


def lipschitz_bound(
    model: Any,
    x: ArrayLike,
    y: ArrayLike,
    *,
    norm: Norm = "l2",
    readout: Readout | None = None,
    box: tuple[float, float] | None = None,
) -> RadiusBracket:
    """The margin over its Lipschitz constant, q/β with β = ½(‖Σ_j c_j w_j‖_* + min(Σ_j |c_j|‖w_j‖_*, ‖W‖·‖c‖)).

    A gradient is a sum over active neurons, half the sum over all plus half a sum with signs, hence β; the second
    form in the minimum (ℓ2 only) is the spectral one.

    >>> lipschitz_bound(([[3.0, 4.0]], [0.0], [[1.0]], [-2.0]), [[1.0, 1.0]], [1]).lower.round(6)
    array([1.])
    """
    question = ask(model, x, y, norm=norm, readout=readout, box=box)
    return _bracket(question, _lipschitz(_Scene.of(question)))


def local_bound(
    model: Any,
    x: ArrayLike,
    y: ArrayLike,
    *,
    norm: Norm = "l2",
    readout: Readout | None = None,
    box: tuple[float, float] | None = None,
) -> RadiusBracket:
    """The better of `lipschitz_bound` and of what the linear piece around x guarantees, exact if that piece is large.

    A neuron with c_j > 0 that switches only raises the gap above its linear piece, one with c_j < 0 lowers it by at
    most |c_j|(‖w_j‖_* s − |z_j|)₊ at distance s; so with g the gradient at x the gap stays open up to

        min_S (G(x) + Σ_{j in S} |c_j z_j|) / (‖g‖_* + Σ_{j in S} |c_j|‖w_j‖_*)

    over sets S of neurons with c_j < 0; the worst S are those nearest to switching.

    >>> two = ([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0], [[1.0, -1.0]], [0.0])
    >>> local_bound(two, [[4.0, -9.0]], [1]).lower.round(6), lipschitz_bound(two, [[4.0, -9.0]], [1]).lower.round(6)
    (array([4.]), array([2.828427]))
    """
    question = ask(model, x, y, norm=norm, readout=readout, box=box)
    scene = _Scene.of(question)
    # log Σ exp of q votes is at most their maximum + log q; the own side is at least its maximum.
    excess = np.log(scene.field.contest.other.sum(axis=1)) if scene.field.contest.soft else 0.0
    near = scene.worst_rival(lambda c, gap: scene.linear_reach(c, gap - excess))
    return _bracket(question, np.maximum(near, _lipschitz(scene)))


@dataclass(frozen=True)
class _Scene:
    """Sizes that all bounds need; c is (sample, neuron), the coefficients of one pair at each sample."""

    field: TwoLayerField
    norms: Array  # (neuron,)  ‖w_j‖_*
    magnitude: Array  # (sample, neuron)  ‖w_j‖‖x‖ + |b_j|, the terms that z_j is made of
    spectral: float | None  # ‖W‖₂, in ℓ2
    tie: Array  # (sample,)  what counts as a tie at x
    tie_rate: float  # by how much that grows at most per unit of distance

    @classmethod
    def of(cls, question: Question) -> _Scene:
        field, network = TwoLayerField.of(question), question.network
        norms = field.norm.dual(field.weights)
        lengths = np.linalg.norm(network.weights, axis=1)
        return cls(
            field=field,
            norms=norms,
            magnitude=np.linalg.norm(question.x, axis=1, keepdims=True) * lengths + np.abs(network.biases),
            spectral=float(np.linalg.norm(network.weights, 2)) if question.norm == "l2" else None,
            tie=field.tie(field.at_rest),
            tie_rate=float(TIE * np.abs(network.second).sum(axis=0) @ norms),
        )

    def worst_rival(self, reach: Callable[[Array, Array], Array]) -> Array:
        """min over rivals q of max over own i of reach(c, gap): (sample,)."""
        contest = self.field.contest
        hidden = np.maximum(self.field.start, 0.0)
        least = np.full(len(self.field), np.inf)
        for q in range(int(contest.other.sum(axis=1).max(initial=0))):
            other = nth_party(contest.other, q)
            farthest = np.zeros(len(self.field))
            for i in range(int(contest.own.sum(axis=1).max(initial=0))):
                own = nth_party(contest.own, i)
                c = contest.shares[own] - contest.shares[other]
                constant = contest.constants[own] - contest.constants[other]
                gap = (c * hidden).sum(axis=1) + constant - self.rounding(c, constant)
                farthest = np.maximum(farthest, reach(c, gap))
            least = np.minimum(least, farthest)
        return least

    def rounding(self, c: Array, constant: Array) -> Array:
        """What the rounding of a gap may hide: (sample,)."""
        return ROUNDING * ((np.abs(c) * self.magnitude).sum(axis=1) + np.abs(constant))

    def steepness(self, c: Array) -> Array:
        """β of each sample's pair: (sample,)."""
        together = self.field.norm.dual(c @ self.field.weights)
        apart = np.abs(c) @ self.norms
        if self.spectral is not None:
            apart = np.minimum(apart, self.spectral * np.linalg.norm(c, axis=1))
        return (together + apart) / 2

    def linear_reach(self, c: Array, gap: Array) -> Array:
        """The distance (sample,) within which a gap stays open by the linear piece around x."""
        z, down = self.field.start, np.maximum(-c, 0.0)
        gradient = self.field.norm.dual((c * (z > 0)) @ self.field.weights)
        switch = np.divide(np.abs(z), self.norms, out=np.full(z.shape, np.inf), where=self.norms > 0)
        order = np.argsort(switch, axis=1)
        sums = [
            np.concatenate([first[:, None], np.take_along_axis(more, order, axis=1)], axis=1).cumsum(axis=1)
            for first, more in ((gap - self.tie, down * np.abs(z)), (gradient + self.tie_rate, down * self.norms))
        ]
        return np.asarray(_distance(*sums).min(axis=1))


def _lipschitz(scene: _Scene) -> Array:
    contest = scene.field.contest
    if not contest.soft:
        return scene.worst_rival(lambda c, gap: _distance(gap - scene.tie, scene.steepness(c) + scene.tie_rate))
    # The gradient of a difference of logsumexps is an average over pairs, so the steepest pair bounds it.
    steepest = np.zeros(len(scene.field))

    def note(c: Array, gap: Array) -> Array:
        np.maximum(steepest, scene.steepness(c), out=steepest)
        return gap

    scene.worst_rival(note)
    everything, constants = np.abs(contest.shares).sum(axis=0), np.abs(contest.constants).sum(keepdims=True)
    margin = scene.field.margins(scene.field.at_rest) - scene.rounding(everything[None], constants) - scene.tie
    return _distance(margin, steepest + scene.tie_rate)


def _distance(gap: Array, rate: Array) -> Array:
    """gap/rate rounded down; 0 where the gap is closed, inf where nothing closes it."""
    open_gap = np.maximum(gap, 0.0)
    far = np.where(open_gap > 0, np.inf, 0.0)
    return np.divide(open_gap, rate, out=far, where=rate > 0) * (1 - ROUNDING)


def _bracket(question: Question, lower: Array) -> RadiusBracket:
    count = len(question.x)
    return RadiusBracket(
        lower=lower,
        upper=np.full(count, np.inf),
        witness=np.full(question.x.shape, np.nan),
        status=("certificate only",) * count,
        question=question,
    )
