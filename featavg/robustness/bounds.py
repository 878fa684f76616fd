"""Named lower bounds of the radius: cheap certificates without search, valid in every box too.

Both look at pairs of an own output i and another q with gap G(u) = Σ_j c_j ReLU(z_j) + c_0: the decision is lost only
where, for some q, the gaps of all own i are closed (`proof/regions.py` lists them for every read-out).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from featavg.arrays import Array, Ints
from featavg.model import readouts
from featavg.robustness.bracket import RadiusBracket
from featavg.robustness.proof.format import Problem
from featavg.robustness.proof.margins import float_margins
from featavg.robustness.proof.regions import rivals, rows
from featavg.robustness.question import Box, Norm, Question, Readout, ask
from featavg.robustness.status import Status

# Share of the terms of a sum that its rounding may hide, for sums of up to 10⁴ terms.
ROUNDING = 1e-13


def lipschitz_bound(
    model: Any,
    x: ArrayLike,
    y: ArrayLike,
    *,
    norm: Norm = "l2",
    readout: Readout | readouts.Readout | None = None,
    box: Box | None = None,
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
    readout: Readout | readouts.Readout | None = None,
    box: Box | None = None,
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
    return _bracket(question, np.maximum(_nearest(scene, scene.linear_reach), _lipschitz(scene)))


@dataclass(frozen=True)
class _Scene:
    """Sizes that all bounds need; c (row, neuron) are the coefficients of a rival's gaps."""

    problem: Problem
    weights: Array  # (neuron, coordinate)  in an orthonormal basis of their span in ℓ2
    start: Array  # (sample, neuron)  z
    norms: Array  # (neuron,)  ‖w_j‖_*
    magnitude: Array  # (sample, neuron)  ‖w_j‖‖x‖ + |b_j|, the terms that z_j is made of
    spectral: float  # ‖W‖₂, ∞ in ℓ∞

    @classmethod
    def of(cls, question: Question) -> _Scene:
        problem, network = question.checkable(), question.network
        lengths = np.linalg.norm(network.weights, axis=1)
        weights = np.linalg.qr(network.weights.T)[1].T if question.norm == "l2" else network.weights
        magnitude = np.linalg.norm(question.x, axis=1, keepdims=True) * lengths + np.abs(network.biases)
        start = network.preactivations(question.x)
        norms = np.abs(network.weights).sum(axis=1) if question.norm == "linf" else lengths
        spectral = float(np.linalg.norm(weights, 2)) if question.norm == "l2" else np.inf
        return cls(problem, weights, start, norms, magnitude, spectral)

    def size(self, vectors: Array) -> Array:
        """Dual norms over the last axis."""
        return np.linalg.norm(vectors, ord=2 if self.problem.norm == "l2" else 1, axis=-1)

    def gaps(self) -> Iterator[tuple[Ints, Array, Array]]:
        """For each label and rival: the samples of the label, c (row, neuron) and the gaps (sample, row) there.

        log Σ exp of q outputs is at most their maximum + log q, and that of the own ones at least their maximum: for
        summed probabilities a rival output is that of the maximum, with log q taken off its gaps.
        """
        decision, (_, _, outputs, constants) = self.problem.decision, self.problem.neurons
        soft = decision.kind == "probabilities"
        plain = decision._replace(kind="maximum") if soft else decision
        for label in np.unique(self.problem.labels).tolist():
            of = np.flatnonzero(self.problem.labels == label)
            hidden = np.maximum(self.start[of], 0.0)
            for rival in rivals(plain, label, len(constants)).tolist():
                signs = rows(plain, label, rival, len(constants))
                c, offset = signs @ outputs, signs @ constants
                company = np.count_nonzero(decision.class_of == decision.class_of[rival]) if soft else 1
                hidden_by_rounding = ROUNDING * (self.magnitude[of] @ np.abs(c).T + np.abs(signs) @ np.abs(constants))
                yield of, c, hidden @ c.T + offset - np.log(company) - hidden_by_rounding

    def steepness(self, c: Array) -> Array:
        """β of every row: (row,)."""
        apart = np.minimum(np.abs(c) @ self.norms, self.spectral * np.maximum(np.linalg.norm(c, axis=1), 1e-300))
        return (self.size(c @ self.weights) + apart) / 2

    def linear_reach(self, of: Ints, c: Array, gap: Array) -> Array:
        """The distances (sample, row) within which gaps stay open by the linear piece around x."""
        z = self.start[of]
        switch = np.divide(np.abs(z), self.norms, out=np.full(z.shape, np.inf), where=self.norms > 0)
        order = np.argsort(switch, axis=1)
        reach = np.empty(gap.shape)
        for row, slopes in enumerate(c):
            down = np.maximum(-slopes, 0.0)
            gradient = self.size((slopes * (z > 0)) @ self.weights)
            heights = _running(gap[:, row], np.take_along_axis(down * np.abs(z), order, axis=1))
            rates = _running(gradient, (down * self.norms)[order])
            reach[:, row] = _distance(heights, rates).min(axis=1)
        return reach


def _running(first: Array, more: Array) -> Array:
    """first, first + more_1, first + more_1 + more_2, ...: (sample, 1 + neuron)."""
    return np.concatenate([first[:, None], more], axis=1).cumsum(axis=1)


def _nearest(scene: _Scene, reach: Callable[[Ints, Array, Array], Array]) -> Array:
    """Min over rivals of max over rows of the reach: (sample,)."""
    least = np.full(len(scene.start), np.inf)
    for of, c, gap in scene.gaps():
        least[of] = np.minimum(least[of], reach(of, c, gap).max(axis=1))
    return least


def _lipschitz(scene: _Scene) -> Array:
    if scene.problem.decision.kind != "probabilities":
        return _nearest(scene, lambda of, c, gap: _distance(gap, scene.steepness(c)))
    # The gradient of a difference of logsumexps is an average over pairs, so the steepest pair bounds it.
    steepest = np.zeros(len(scene.start))
    for of, c, _ in scene.gaps():
        steepest[of] = np.maximum(steepest[of], scene.steepness(c).max())
    _, _, outputs, constants = scene.problem.neurons
    everything = scene.magnitude @ np.abs(outputs).sum(axis=0) + np.abs(constants).sum()
    return _distance(float_margins(scene.problem, scene.problem.x) - ROUNDING * everything, steepest)


def _distance(gap: Array, rate: Array) -> Array:
    """gap/rate rounded down; 0 where the gap is closed, inf where nothing closes it."""
    open_gap = np.maximum(gap, 0.0)
    far = np.where(open_gap > 0, np.inf, 0.0)
    return np.divide(open_gap, rate, out=far, where=np.broadcast_to(rate > 0, far.shape)) * (1 - ROUNDING)


def _bracket(question: Question, lower: Array) -> RadiusBracket:
    count = len(question.x)
    return RadiusBracket(
        lower=lower,
        upper=np.full(count, np.inf),
        witness=np.full(question.x.shape, np.nan),
        status=(Status.CERTIFICATE_ONLY,) * count,
        question=question,
    )
