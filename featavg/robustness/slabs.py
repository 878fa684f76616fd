"""A bound for summed probabilities with many sub-classes: slabs of the ball, and a quadratic above the exponentials.

For a distribution p on the own classes I, logsumexp_I(f) >= p·f + H(p), so every fooled δ has

    Σ_j exp(f_j − p·f − H(p)) >= exp(−tie)        j over the other side J

Over a slab s₁ <= ⟨e,δ⟩ <= s₂ of the ball ‖δ‖ <= ρ the exponent of j has a linear upper bound b_j + α_j s + ⟨r_j,t⟩ with
δ = s e + t, t ⟂ e, ‖t‖ <= τ (exact where no neuron can switch; chords above and lines below elsewhere). On [−T, T]

    exp(v) <= 1 + v + C v²,  C = (exp(T) − 1 − T)/T²,        T_j = ‖r_j‖τ,  v_j = ⟨r_j,t⟩

and with w_j = exp(b_j + max(α_j s₁, α_j s₂)) and λ the largest eigenvalue of Σ_j w_j C_j r_j r_jᵀ the sum is at most

    Σ_j w_j + ‖Σ_j w_j r_j‖τ + λτ².

Below exp(−tie) the slab holds no fooled point. Rivals that cannot grow together are not added up, which is what makes
a hundred of them bearable; one eigenvalue a slab replaces a tree for each rival.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from featavg.arrays import Array, Ints
from featavg.robustness.region import Neurons


@dataclass(frozen=True)
class SlabProof:
    """The slabs of one ball around one point, with a tangent of the own side for each."""

    points: Ints  # (rival,)  the point, once for each rival
    rivals: Ints  # (rival,)  all of the other side
    reach: float  # ρ
    direction: Array  # (neuron,)  e is parallel to Σ_j direction_j w_j
    edges: Array  # (slab + 1,)  rising from −ρ to ρ
    tangents: Array  # (slab, own)  p


@dataclass(frozen=True)
class Slabs:
    """One point's own and other classes, and a direction e to cut the ball along."""

    neurons: Neurons
    own: Ints
    rivals: Ints
    weights: Array  # (neuron, coordinate)
    start: Array  # (neuron,)  z0
    magnitude: Array  # (neuron,)  the terms that z0 is made of
    direction: Array  # (coordinate,)  e, of length 1

    def tangent(self, s: float) -> Array:
        """The p (own,) at which the bound of the own side touches it at δ = s e."""
        own = self.neurons.outputs[self.own] @ np.maximum(self.start + s * self.weights @ self.direction, 0.0)
        own += self.neurons.constants[self.own]
        share = np.exp(own - own.max())
        return np.asarray(share / share.sum())

    def empty(self, p: Array, low: float, high: float, reach: float, rounding: float) -> bool:
        """Whether low <= ⟨e,δ⟩ <= high, ‖δ‖ <= reach is shown to hold no fooled point; all terms rounded upward."""
        near = 0.0 if low <= 0.0 <= high else min(abs(low), abs(high))
        across = np.sqrt(max(reach**2 - near**2, 0.0)) * (1.0 + rounding)
        slopes, offsets, tie = self._exponents(p, low, high, across, rounding)
        along = slopes @ self.direction
        rest = slopes - along[:, None] * self.direction
        reach_of = np.linalg.norm(rest, axis=1) * across
        with np.errstate(over="ignore"):
            weights = np.exp(offsets + np.maximum(along * low, along * high))
            bends = weights * (np.expm1(reach_of) - reach_of)  # w_j C_j T_j²
        total = weights.sum() + np.linalg.norm(weights @ rest) * across
        limit = np.exp(-tie) * (1.0 - rounding * len(bends) ** 2)
        if not (total < limit and np.isfinite(bends).all()):
            return False
        if total + bends.sum() < limit:  # the trace: no eigenvalue is needed
            return True
        units = rest * (np.sqrt(bends) / np.maximum(reach_of, 1e-300))[:, None] * across
        return bool(total + np.linalg.eigvalsh(units @ units.T)[-1] < limit)

    def _exponents(
        self, p: Array, low: float, high: float, across: float, rounding: float
    ) -> tuple[Array, Array, float]:
        """u (rival, coordinate), b (rival,) with f_j − logsumexp_I(f) <= b_j + ⟨u_j,δ⟩ in the slab, and the tie."""
        least, most = self._intervals(low, high, across, rounding)
        neurons, size = self.neurons, np.maximum(np.abs(least), np.abs(most))
        rows = neurons.outputs[self.rivals] - p @ neurons.outputs[self.own]
        entropy = -float(p @ np.log(np.maximum(p, 1e-300)))
        constants = neurons.constants[self.rivals] - p @ neurons.constants[self.own] - entropy
        bent = (least < 0) & (most > 0)
        above = np.where(bent, most / np.where(bent, most - least, 1.0), most > 0)
        below = np.where(bent, self.start > 0, most > 0)
        up, down = np.maximum(rows, 0.0), np.minimum(rows, 0.0)
        slopes = up * above + down * below
        offsets = slopes @ self.start + up @ np.where(bent, -least * above, 0.0) + constants
        offsets += rounding * (np.abs(rows) @ (self.magnitude + size) + np.abs(constants) + entropy)
        return slopes @ self.weights, offsets, float(neurons.tie(most))

    def _intervals(self, low: float, high: float, across: float, rounding: float) -> tuple[Array, Array]:
        along = self.weights @ self.direction
        norms = np.linalg.norm(self.weights, axis=1)
        rim = np.sqrt(np.maximum(norms**2 - along**2, 0.0) + rounding * norms**2) * across
        slack = rounding * (self.magnitude + norms * max(abs(low), abs(high)))
        moved = np.stack([along * low, along * high])
        return self.start + moved.min(axis=0) - rim - slack, self.start + moved.max(axis=0) + rim + slack
