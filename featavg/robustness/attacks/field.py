"""The decision's margin as a function of the perturbations δ, in the coordinates in which they are cheapest."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from featavg.arrays import Array, Bools, Ints
from featavg.robustness.attacks.balls import BALLS, Ball
from featavg.robustness.attacks.contest import Contest, contest_of
from featavg.robustness.attacks.rays import first_fooled
from featavg.robustness.question import TIE, Question

# A gradient below this share of the largest possible one is zero.
FLAT = 1e-12
# How finely the bent path of a ray in a box is sampled, and then bisected.
BOX_TIMES, BOX_HALVINGS = 64, 50


@dataclass(frozen=True)
class Field:
    """Margins m(x_i + δ_i) and their gradients; row i of every δ belongs to sample i.

    In ℓ2 without a box δ is written in an orthonormal basis of span(W): gradients lie in it, and what lies outside
    moves no neuron and only adds length. Otherwise δ is written in the coordinates of the input.
    """

    question: Question  # about all points
    rows: Ints  # (sample,)  which of them; a point may occur more than once
    contest: Contest
    ball: Ball
    basis: Array | None  # (axis, coordinate)  or None: the axes themselves
    weights: Array  # (neuron, coordinate)
    start: Array  # (sample, neuron)  W x + b

    @classmethod
    def of(cls, question: Question) -> Field:
        """The field of a question.

        >>> from featavg.robustness.question import ask
        >>> field = Field.of(ask(([[3.0, 4.0]], [0.0], [[1.0]], [-1.0]), [[1.0, 1.0]], [1]))
        >>> field.weights.shape, field.margins(field.at_rest)
        ((1, 1), array([6.]))
        """
        network = question.network
        basis, weights = None, network.weights
        if question.norm == "l2" and question.box is None:
            basis, triangle = np.linalg.qr(network.weights.T)
            weights = np.ascontiguousarray(triangle.T)
        start = network.preactivations(question.x)
        rows = np.arange(len(question.x))
        return cls(question, rows, contest_of(question), BALLS[question.norm], basis, weights, start)

    def __len__(self) -> int:
        return len(self.start)

    def take(self, rows: Ints) -> Field:
        """The same field at some of the samples, each as often as it is named."""
        return replace(self, rows=self.rows[rows], contest=self.contest.take(rows), start=self.start[rows])

    @property
    def asked(self) -> Question:
        """The question about these samples alone."""
        whole, rows = self.question, self.rows
        rival = None if whole.rival is None else whole.rival[rows]
        return replace(whole, x=self.x, y=whole.y[rows], rival=rival)

    @property
    def x(self) -> Array:
        """The points of these samples: (sample, axis)."""
        return self.question.x[self.rows]

    @property
    def at_rest(self) -> Array:
        """δ = 0: (sample, coordinate)."""
        return np.zeros((len(self), self.weights.shape[1]))

    @property
    def size(self) -> Array:
        """‖x‖ as far as the neurons see it: (sample,)."""
        return self.ball.norm(self.coordinates(self.x))

    def coordinates(self, vectors: Array) -> Array:
        """Vectors of the input space, or what the neurons see of them: (..., coordinate)."""
        return vectors if self.basis is None else vectors @ self.basis

    def points(self, delta: Array) -> Array:
        """x + δ in the input space: (sample, axis)."""
        points = self.x + (delta if self.basis is None else delta @ self.basis.T)
        # δ was clipped already, but x + δ may pass the border of the box by a rounding.
        return points if self.question.box is None else np.clip(points, *self.question.box)

    def inside(self, delta: Array) -> Array:
        """δ after clipping x + δ to the box, if there is one."""
        if self.question.box is None:
            return delta
        x = self.x
        return np.clip(x + delta, *self.question.box) - x

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
        steepest_possible = np.abs(self.contest.shares).sum(axis=0) @ self.ball.dual_norm(self.weights)
        flat = self.ball.dual_norm(gradient) <= FLAT * steepest_possible
        return self.contest.margins(votes), np.where(flat[:, None], 0.0, gradient)

    def fooled(self, delta: Array) -> Bools:
        """Whether x + δ is misclassified or tied: (sample,)."""
        return self.margins(delta) <= self.tie(delta)

    def tie(self, delta: Array) -> Array:
        """The largest margin that counts as a tie: (sample,)."""
        network = self.question.network
        hidden = np.maximum(self.preactivations(delta), 0.0)
        return TIE * (hidden @ np.abs(network.second).sum(axis=0) + np.abs(network.output_bias).sum())

    def first_along(self, direction: Array) -> Array:
        """The δ nearest to 0 along the ray t·direction, t >= 0, that fools: (sample, coordinate), NaN if none does."""
        if self.question.box is not None:
            return self._first_in_box(direction)
        time = first_fooled(self.contest, self.start, direction @ self.weights.T)
        found = np.isfinite(time)
        return np.where(found[:, None], np.where(found, time, 0.0)[:, None] * direction, np.nan)

    def _first_in_box(self, direction: Array) -> Array:
        """The same along the path t ↦ clip(x + t·direction), sampled and then bisected."""
        assert self.question.box is not None
        low, high = self.question.box
        wall = np.where(direction > 0, high, low) - self.x
        exits = np.divide(wall, direction, out=np.zeros_like(wall), where=direction != 0)
        times = np.concatenate([[0.0], np.geomspace(1e-6, 1.0, BOX_TIMES)])[:, None] * exits.max(axis=1)
        hits = np.stack([self.fooled(self.inside(time[:, None] * direction)) for time in times])
        first, each = hits.argmax(axis=0), np.arange(len(self))
        before, after = times[np.maximum(first - 1, 0), each], times[first, each]
        for _ in range(BOX_HALVINGS):
            middle = (before + after) / 2
            fooled = self.fooled(self.inside(middle[:, None] * direction))
            before, after = np.where(fooled, before, middle), np.where(fooled, middle, after)
        return np.where(hits.any(axis=0, keepdims=True).T, self.inside(after[:, None] * direction), np.nan)
