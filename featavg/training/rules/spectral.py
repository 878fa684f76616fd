"""Spectral steps, as Muon's: every singular value of a step is the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from featavg.arrays import Array
from featavg.training.iterate import Iterate, Vector
from featavg.training.rules.base import FixedSteps

# Singular values below this share of the largest are taken for zero: neurons of equal patterns make G singular.
RANK = 1e-7


@dataclass(frozen=True, kw_only=True)
class SpectralDescent(FixedSteps):
    """W ← W − η (G Gᵀ)^(−1/2) G for every layer with gradient G, a pseudo-inverse root; biases: b ← b − η g/‖g‖."""

    step_size: float | None = 1e-3  # η; 3.072/dim if None

    def step(self, at: Iterate, state: Any) -> tuple[Iterate, Any]:
        """W ← W − η (G Gᵀ)^(−1/2) G, by the gradient of log L, which has the same singular vectors."""
        gradient = at.log_gradient
        squares = at.inner(gradient, gradient)
        direction = {name: _times(inverse_root(squares[name]), block) for name, block in gradient.blocks.items()}
        return at.move(Vector(direction), -self.eta(at)), state


def inverse_root(square: Array) -> Array:
    """S^(−1/2) of positive semi-definite S (..., row, row) on its range, zero outside.

    >>> inverse_root(np.diag([4.0, 0.0]))
    array([[0.5, 0. ],
           [0. , 0. ]])
    """
    values, vectors = np.linalg.eigh(square)
    # S = G Gᵀ: its eigenvalues are squares of singular values, and of that no more digits are left than of S.
    least = np.maximum(RANK**2, np.finfo(square.dtype).eps * square.shape[-1]) * values[..., -1:]
    roots = np.where(values > least, 1 / np.sqrt(np.maximum(values, np.finfo(square.dtype).tiny)), 0)
    return (vectors * roots[..., None, :]) @ np.swapaxes(vectors, -1, -2)


def _times(root: Array, block: Array) -> Array:
    """root · block for a matrix of weights; a vector of biases is one row."""
    return root[..., 0] * block if root.shape[-1] == 1 and block.ndim < root.ndim else root @ block
