"""Norms as objects: what a method must know of the ball it moves in. A new norm is one class here, no new attack."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from featavg.arrays import Array
from featavg.robustness.question import Norm


class Ball(Protocol):
    """The ball {‖δ‖ <= radius} of a norm; vectors lie along the last axis."""

    def norm(self, delta: Array) -> Array:
        """‖δ‖: (...,)."""

    def dual_norm(self, w: Array) -> Array:
        """max ⟨w, δ⟩ over ‖δ‖ <= 1: (...,)."""

    def steepest(self, gradient: Array) -> Array:
        """The δ of that maximum, 0 where the gradient is 0: (..., axis)."""

    def project(self, delta: Array, radius: Array | float) -> Array:
        """The ball's nearest point: (..., axis)."""

    def random(self, rng: np.random.Generator, shape: tuple[int, int], radius: Array | float) -> Array:
        """Points drawn uniformly from the ball: (sample, axis)."""


@dataclass(frozen=True)
class Euclidean:
    """ℓ2, its own dual."""

    def norm(self, delta: Array) -> Array:
        """√Σδ²."""
        return np.linalg.norm(delta, axis=-1)

    def dual_norm(self, w: Array) -> Array:
        """√Σw²."""
        return np.linalg.norm(w, axis=-1)

    def steepest(self, gradient: Array) -> Array:
        """g/‖g‖."""
        length = np.linalg.norm(gradient, axis=-1, keepdims=True)
        return gradient / np.where(length > 0, length, 1.0)

    def project(self, delta: Array, radius: Array | float) -> Array:
        """δ·min(1, radius/‖δ‖)."""
        length = np.linalg.norm(delta, axis=-1)
        return delta * np.minimum(1.0, radius / np.where(length > 0, length, np.inf))[..., None]

    def random(self, rng: np.random.Generator, shape: tuple[int, int], radius: Array | float) -> Array:
        """A Gaussian direction, a length of radius·U^(1/axes)."""
        length = radius * rng.random(shape[0]) ** (1.0 / max(shape[1], 1))
        return self.steepest(rng.standard_normal(shape)) * np.asarray(length)[:, None]


@dataclass(frozen=True)
class Chebyshev:
    """ℓ∞, dual to ℓ1."""

    def norm(self, delta: Array) -> Array:
        """max|δ|."""
        return np.abs(delta).max(axis=-1, initial=0.0)

    def dual_norm(self, w: Array) -> Array:
        """Σ|w|."""
        return np.abs(w).sum(axis=-1)

    def steepest(self, gradient: Array) -> Array:
        """sgn g."""
        return np.sign(gradient)

    def project(self, delta: Array, radius: Array | float) -> Array:
        """Each coordinate clipped to ±radius."""
        reach = np.asarray(radius, dtype=np.float64)[..., None]
        return np.clip(delta, -reach, reach)

    def random(self, rng: np.random.Generator, shape: tuple[int, int], radius: Array | float) -> Array:
        """Each coordinate uniform in ±radius."""
        return rng.uniform(-1.0, 1.0, shape) * np.broadcast_to(radius, shape[:1])[:, None]


BALLS: dict[Norm, Ball] = {"l2": Euclidean(), "linf": Chebyshev()}
