"""ℓ2, the Euclidean norm: its own dual."""

from __future__ import annotations

import numpy as np

from featavg.arrays import Array
from featavg.robustness.norms.base import Norm


class Euclidean(Norm):
    """‖δ‖ = √Σδ².

    >>> NORM.foot(np.array([[3.0, 4.0]]), np.array([10.0]))
    array([[-1.2, -1.6]])
    """

    def length(self, delta: Array) -> Array:
        """√Σδ²."""
        return np.linalg.norm(delta, axis=-1)

    def dual(self, w: Array) -> Array:
        """√Σw²."""
        return np.linalg.norm(w, axis=-1)

    def steepest(self, gradient: Array) -> Array:
        """g/‖g‖."""
        length = np.linalg.norm(gradient, axis=-1, keepdims=True)
        return gradient / np.where(length > 0, length, 1.0)

    def project(self, delta: Array, radius: Array | float) -> Array:
        """δ·min(1, radius/‖δ‖)."""
        length = self.length(delta)
        share = np.divide(radius, length, out=np.ones_like(length), where=length > radius)
        return delta * share[..., None]

    def random(self, rng: np.random.Generator, shape: tuple[int, int], radius: Array | float) -> Array:
        """A Gaussian direction, a length of radius·U^(1/axes)."""
        length = radius * rng.random(shape[0]) ** (1.0 / max(shape[1], 1))
        return self.steepest(rng.standard_normal(shape)) * np.asarray(length)[:, None]


NORM = Euclidean()
