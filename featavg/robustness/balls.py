"""Balls and their caps for the verifier: slow, simple, and valid whatever the numerical search inside them finds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from featavg.arrays import Array, Ints
from featavg.robustness.question import Question

ROUNDING = 1e-15
# Numbers held at once when the parts of all neurons across a normal are computed.
CHUNK = 2_000_000
TRIALS = 80


class Ball(Protocol):
    """The perturbations of some points, up to a reach; leading axis: the points."""

    @property
    def weights(self) -> Array:
        """(neuron, coordinate)."""

    @property
    def norms(self) -> Array:
        """(neuron,): how much z_j changes at distance 1."""

    @property
    def diameter(self) -> Array:
        """(point,): no perturbation is longer than this."""

    def distance(self, normal: Array, offset: Array, rounding: Array) -> Array:
        """A lower bound (point,) on the length of δ with ⟨normal, δ⟩ + offset <= 0."""

    def extent(self, normal: Array, offset: Array, distance: Array, reach: Array) -> tuple[Array, Array]:
        """Least and most (point, neuron) of ⟨w_j, δ⟩ over those δ, up to the reach."""


def ball_of(question: Question, weights: Array, points: Ints) -> Ball:
    """The ball around these points of a question."""
    if question.norm == "l2" and question.box is None:
        return Round(np.linalg.qr(weights.T)[1].T)
    x = question.x[points]
    low, high = (-np.inf, np.inf) if question.box is None else question.box
    kind = Clipped if question.norm == "l2" else Square
    return kind(weights, low - x, high - x)


@dataclass(frozen=True)
class Round:
    """ℓ2, in an orthonormal basis of span(W)."""

    weights: Array

    @property
    def norms(self) -> Array:
        """‖w_j‖."""
        return np.linalg.norm(self.weights, axis=1)

    @property
    def diameter(self) -> Array:
        """∞."""
        return np.array([np.inf])

    def distance(self, normal: Array, offset: Array, rounding: Array) -> Array:
        """offset / ‖normal‖."""
        return np.maximum(offset, 0.0) / np.maximum(np.linalg.norm(normal, axis=1) + rounding, 1e-300)

    def extent(self, normal: Array, offset: Array, distance: Array, reach: Array) -> tuple[Array, Array]:
        """With e = −h/‖h‖: ⟨w,e⟩ t + ‖w⊥‖ √(reach² − t²) is largest at t = distance, or at the ball's own end."""
        length = np.linalg.norm(normal, axis=1)
        unit = -normal / np.where(length > 0, length, 1.0)[:, None]
        along, norms = unit @ self.weights.T, self.norms
        step = max(1, CHUNK // max(self.weights.size, 1))
        parts = [
            np.linalg.norm(self.weights - along[k : k + step, :, None] * unit[k : k + step, None, :], axis=2)
            for k in range(0, len(unit), step)
        ]
        across = np.concatenate(parts)
        near, far = np.minimum(distance, reach)[:, None], reach[:, None]
        width = np.sqrt((far - near) * (far + near))
        taken = ((length > 0) & (distance > 0))[:, None]
        most = np.where(taken & (along * far < norms * near), along * near + across * width, norms * far)
        least = np.where(taken & (-along * far < norms * near), along * near - across * width, -norms * far)
        return least, most


@dataclass(frozen=True)
class Square:
    """ℓ∞, with or without a box."""

    weights: Array
    down: Array  # (point, axis)  least δ
    up: Array  # (point, axis)  largest δ

    @property
    def norms(self) -> Array:
        """‖w_j‖₁."""
        return np.abs(self.weights).sum(axis=1)

    @property
    def diameter(self) -> Array:
        """The longest side of the box."""
        return np.maximum(-self.down, self.up).max(axis=1)

    def distance(self, normal: Array, offset: Array, rounding: Array) -> Array:
        """By bisection on ρ: Σ_i |h_i| min(ρ, room_i) < offset means that no δ so short reaches the half-space."""
        room = np.where(normal > 0, -self.down, self.up)
        weight = np.abs(normal)

        def short(radius: Array) -> Array:
            moved = (weight * np.minimum(radius[:, None], room)).sum(axis=1) + rounding * radius
            return moved * (1.0 + 10 * ROUNDING) < offset

        low, high = np.zeros(len(offset)), np.full(len(offset), 1e-12)
        for _ in range(100):
            low, high = np.where(short(high), high, low), np.where(short(high), 2.0 * high, high)
        for _ in range(TRIALS):
            middle = 0.5 * (low + high)
            low, high = np.where(short(middle), middle, low), np.where(short(middle), high, middle)
        return low

    def extent(self, normal: Array, offset: Array, distance: Array, reach: Array) -> tuple[Array, Array]:
        """Weak duality, neuron by neuron: `_box_most`."""
        low, high = np.maximum(self.down, -reach[:, None]), np.minimum(self.up, reach[:, None])
        lines = list(zip(normal, offset, low, high, strict=True))
        most = np.stack([_box_most(self.weights, *line) for line in lines])
        least = -np.stack([_box_most(-self.weights, *line) for line in lines])
        return least, most


@dataclass(frozen=True)
class Clipped:
    """ℓ2 in a box."""

    weights: Array
    down: Array
    up: Array

    @property
    def norms(self) -> Array:
        """‖w_j‖."""
        return np.linalg.norm(self.weights, axis=1)

    @property
    def diameter(self) -> Array:
        """From the point to the farthest corner."""
        return np.linalg.norm(np.maximum(-self.down, self.up), axis=1)

    def distance(self, normal: Array, offset: Array, rounding: Array) -> Array:
        """The best of `_touching` over its multiplier."""
        offset = offset - rounding * self.diameter
        return np.array([_touching(*line)[1] for line in zip(normal, offset, self.down, self.up, strict=True)])

    def extent(self, normal: Array, offset: Array, distance: Array, reach: Array) -> tuple[Array, Array]:
        """What both the box and the cap of the touching half-space allow."""
        low, high = Square(self.weights, self.down, self.up).extent(normal, offset, distance, reach)
        for p, line in enumerate(zip(normal, offset, self.down, self.up, strict=True)):
            toward, near = _touching(*line)
            if np.isfinite(near):
                here = np.array([near])
                least, most = Round(self.weights).extent(-toward[None], here, here, reach[p : p + 1])
                low[p], high[p] = np.maximum(low[p], least[0]), np.minimum(high[p], most[0])
        return low, high


def _box_most(weights: Array, normal: Array, offset: float, low: Array, high: Array) -> Array:
    """min over trials s >= 0 of max_{low <= δ <= high} ⟨w − s h, δ⟩ − s·offset: each trial bounds ⟨w, δ⟩ on the cap."""

    def trial(s: Array) -> Array:
        tilted = weights - s[:, None] * normal
        return np.maximum(tilted * low, tilted * high).sum(axis=1) - s * offset

    left = np.zeros(len(weights))
    best = trial(left)
    if offset <= 0 or not normal.any():
        return best
    right = np.full(len(weights), 2.0 * np.abs(weights).max() / np.abs(normal).max())
    for _ in range(60):
        right = np.where(trial(2.0 * right) < trial(right), 2.0 * right, right)
    right = 2.0 * right
    for _ in range(TRIALS):
        a, b = left + (right - left) / 3.0, right - (right - left) / 3.0
        at_a, at_b = trial(a), trial(b)
        best = np.minimum(best, np.minimum(at_a, at_b))
        left, right = np.where(at_a > at_b, a, left), np.where(at_a > at_b, right, b)
    return best


def _touching(normal: Array, offset: float, down: Array, up: Array) -> tuple[Array, float]:
    """A point δ* = clip(−s h) of the box, and how far along it every δ of the box with ⟨h, δ⟩ + offset <= 0 lies.

    ⟨δ*, δ⟩ >= ‖δ*‖² + s (offset + ⟨h, δ*⟩)        for every s >= 0
    """
    if offset <= 0:
        return np.zeros_like(normal), 0.0
    if np.minimum(normal * down, normal * up).sum() + offset > 0:
        return np.zeros_like(normal), np.inf
    low, high = 0.0, 1.0
    for _ in range(1000):
        if normal @ np.clip(-high * normal, down, up) + offset <= 0:
            break
        low, high = high, 2.0 * high
    for _ in range(TRIALS):
        middle = 0.5 * (low + high)
        enough = normal @ np.clip(-middle * normal, down, up) + offset <= 0
        low, high = (low, middle) if enough else (middle, high)
    delta = np.clip(-low * normal, down, up)
    length = float(np.linalg.norm(delta))
    return delta, (length**2 + low * (offset + float(normal @ delta))) / max(length, 1e-300)
