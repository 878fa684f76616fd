"""ℓ∞, the largest change of a coordinate: dual to ℓ1."""

from __future__ import annotations

import numpy as np

from featavg.arrays import Array
from featavg.robustness.norms.base import Norm


class Chebyshev(Norm):
    """‖δ‖ = max|δ|.

    >>> NORM.foot(np.array([[3.0, -4.0]]), np.array([7.0]))
    array([[-1.,  1.]])
    """

    def length(self, delta: Array) -> Array:
        """max|δ|."""
        return np.abs(delta).max(axis=-1, initial=0.0)

    def dual(self, w: Array) -> Array:
        """Σ|w|."""
        return np.abs(w).sum(axis=-1)

    def steepest(self, gradient: Array) -> Array:
        """sgn g."""
        return np.sign(gradient)

    def project(self, delta: Array, radius: Array | float) -> Array:
        """Each coordinate clipped to ±radius."""
        reach = np.asarray(radius, dtype=delta.dtype)[..., None]
        return np.clip(delta, -reach, reach)

    def random(self, rng: np.random.Generator, shape: tuple[int, int], radius: Array | float) -> Array:
        """Each coordinate uniform in ±radius."""
        return rng.uniform(-1.0, 1.0, shape) * np.broadcast_to(radius, shape[:1])[:, None]


NORM = Chebyshev()
