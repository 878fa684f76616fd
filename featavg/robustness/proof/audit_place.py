"""One point's view of network, norm and box, in arb balls; the rules of the audit are in `audit.py`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from featavg.robustness.proof.format import Floats, Problem

Ball = Any  # flint.arb, which has no type information
Balls = list[Any]
# Sums that differ by less than this share of their terms are a tie, which floats decide either way.
TIE = 2.0**-40


class Place:
    """The network seen from one point."""

    def __init__(self, problem: Problem, point: int, flint: Any) -> None:
        self.problem, self.flint = problem, flint
        weights = problem.neurons.weights
        self.w = [[flint.arb(value) for value in row] for row in weights.tolist()]
        column = flint.arb_mat(weights.shape[1], 1, problem.x[point].tolist())
        moved = flint.arb_mat(*weights.shape, weights.ravel().tolist()) * column if weights.size else None
        biases = problem.neurons.biases.tolist()
        self.z0 = [flint.arb(b) + (moved[j, 0] if moved is not None else 0) for j, b in enumerate(biases)]
        # Summed probabilities need intervals of decided neurons as well.
        tie = TIE if problem.decision.kind == "probabilities" else 0.0
        with np.errstate(over="ignore"):
            sizes = np.abs(weights) @ np.abs(problem.x[point]) + np.abs(problem.neurons.biases)
        self.hair = [flint.arb(size) * tie for size in np.nan_to_num(sizes).tolist()]
        self.outputs = [[flint.arb(value) for value in row] for row in problem.neurons.outputs.tolist()]
        self.constants = [flint.arb(value) for value in problem.neurons.constants.tolist()]
        x = [flint.arb(value) for value in problem.x[point].tolist()]
        boxed = problem.low is not None and problem.high is not None
        low = problem.low.tolist() if problem.low is not None else [-math.inf] * len(x)
        high = problem.high.tolist() if problem.high is not None else [math.inf] * len(x)
        self.low = [self.ball(value) - xi for value, xi in zip(low, x, strict=True)]
        self.high = [self.ball(value) - xi for value, xi in zip(high, x, strict=True)]
        self.boxed, self.euclidean = boxed, problem.norm == "l2"
        self.norms = [self.norm(w) for w in self.w]
        self._gram: Any = None

    def may_switch(self, j: int, low: Balls, high: Balls) -> bool:
        """Whether neuron j is undecided, or decided by so little that floats cannot tell."""
        return bool(low[j] < self.hair[j] and -self.hair[j] < high[j])

    def may_be_on(self, j: int, high: Balls) -> bool:
        """Whether neuron j is on or undecided, or off by so little that floats cannot tell."""
        return bool(-self.hair[j] < high[j])

    @property
    def gram(self) -> Any:
        """⟨w_i,w_j⟩ as a matrix of balls."""
        if self._gram is None:
            weights = self.problem.neurons.weights
            matrix = self.flint.arb_mat(*weights.shape, weights.ravel().tolist())
            self._gram = matrix * matrix.transpose()
        return self._gram

    def ball(self, value: float) -> Ball:
        """A float, infinite ones too, as an exact ball."""
        arb = self.flint.arb
        return arb(value) if math.isfinite(value) else arb.pos_inf() if value > 0 else arb.neg_inf()

    def norm(self, vector: Balls) -> Ball:
        """The dual norm: ℓ2 of ℓ2, ℓ1 of ℓ∞."""
        zero = self.flint.arb(0)
        if not self.euclidean:
            return sum((abs(v) for v in vector), start=zero)
        square = sum((v * v for v in vector), start=zero)
        return square.sqrt() if square > 0 else square.upper().max(zero).sqrt().union(zero)

    def combine(self, factors: Balls) -> Balls:
        """Σ_j factor_j w_j."""
        used = [(f, w) for f, w in zip(factors, self.w, strict=True) if not f.is_zero()]
        axes = self.problem.x.shape[1]
        return [sum((f * w[i] for f, w in used), start=self.flint.arb(0)) for i in range(axes)]

    def support(self, v: Balls, reach: Ball) -> Ball:
        """At least max ⟨v,δ⟩ over ball and box; in an ℓ2 box by q = v − clip(τv)/τ, any τ."""
        zero = self.flint.arb(0)
        if not self.euclidean:
            ends = zip(v, self.low, self.high, strict=True)
            return sum(((vi * low.max(-reach)).max(vi * high.min(reach)) for vi, low, high in ends), start=zero)
        floats, unit = in_units(v)
        if not self.boxed or not reach > 0 or unit.is_zero():
            return reach * self.norm(v)
        low, high = (np.array([float((end / reach).mid()) for end in ends]) for ends in (self.low, self.high))
        tau = (clipping(floats, low, high) * reach / unit).mid()
        kept, clipped = [], zero
        for vi, low, high in zip(v, self.low, self.high, strict=True):
            room = high if vi.mid() > 0 else low
            inside = abs(room.mid()) >= abs(tau * vi.mid()) if room.is_finite() else True
            q = zero if inside else vi - room / tau
            kept.append(vi - q)
            clipped += (q * room) if not inside else 0
        return reach * self.norm(kept) + clipped

    def farthest(self) -> float:
        """At least the distance of every point of the box."""
        if not self.boxed or not all(end.is_finite() for end in self.low + self.high):
            return math.inf
        rooms = [(-low).max(high) for low, high in zip(self.low, self.high, strict=True)]
        if self.euclidean:
            return math.nextafter(float(self.norm(rooms).upper()), math.inf)
        return math.nextafter(max(float(room.upper()) for room in rooms), math.inf)


def in_units(vector: Balls) -> tuple[Floats, Ball]:
    """The vector in units of its largest entry, as floats to choose numbers by, which cannot overflow; and the unit."""
    largest = vector[0].mid() * 0
    for value in vector:
        largest = largest.max(abs(value.mid()))
    return np.array([0.0 if largest.is_zero() else float((value / largest).mid()) for value in vector]), largest


def clipping(v: Floats, low: Floats, high: Floats) -> float:
    """τ such that clip(τv) is about as long as 1; very large where the whole box is within reach."""
    tau = 1.0 / float(np.linalg.norm(v))
    for _ in range(8):
        inside = np.clip(tau * v, low, high)
        free = inside == tau * v
        left, square = 1.0 - (inside[~free] ** 2).sum(), (v[free] ** 2).sum()
        if left > 0:
            tau = max(tau, math.sqrt(left / square)) if square > 0 else 2.0**100
    return tau


def times(a: Ball, b: Ball) -> Ball:
    """a·b with 0·∞ = 0."""
    return a if a.is_zero() else b if b.is_zero() else a * b


def least_line(a: Ball, theta: Ball, low: Ball, high: Ball, zero: Ball) -> Ball:
    """The least of a ReLU(z) − θz over [low, high]: at the ends, or at 0 unless it is certainly outside."""
    steeper = a - theta
    ends = [times(steeper, z.max(zero)) + times(-theta, z.min(zero)) for z in (low, high)]
    least = ends[0].min(ends[1])
    return least if low > 0 or high < 0 else least.min(zero)
