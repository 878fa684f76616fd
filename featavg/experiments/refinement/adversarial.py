"""Adversarial training of networks in the frame: where a batch is moved before each step."""

from __future__ import annotations

import numpy as np

from featavg.arrays import Array, Ints
from featavg.training import Iterate, Perturb

ATTACK_STEPS = 7  # Madry et al. 2018


def worst_in_ball(reach: float) -> Perturb:
    """PGD from the points themselves: 7 steps of 2.5·reach/7 up the normalised gradient of the loss, in the ℓ2 ball."""
    stride = np.float32(2.5 * reach / ATTACK_STEPS)

    def moved(at: Iterate, rows: Ints | None) -> Array:
        x = at.problem.first.x
        points = x if rows is None else x[rows]
        delta = np.zeros_like(points)
        for _ in range(ATTACK_STEPS):
            gradient = at.on(rows, points + delta).input_gradient
            gradient[:, -1] = 0  # the constant that biases are weights of
            delta += stride * gradient / np.maximum(_lengths(gradient), np.finfo(np.float32).tiny)
            delta *= np.minimum(np.float32(1.0), np.float32(reach) / np.maximum(_lengths(delta), np.float32(1e-30)))
        return points + delta

    return moved


def _lengths(vectors: Array) -> Array:
    return np.sqrt(np.einsum("ij,ij->i", vectors, vectors))[:, None]
