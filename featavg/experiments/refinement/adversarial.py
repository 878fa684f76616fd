"""What the loop of `featavg.refine.descent` is given beside plain labels: softened ones, summed classes, an attack."""

from __future__ import annotations

import numpy as np

from featavg.arrays import Array, Ints
from featavg.refine.descent import Attack, Derivative, State, labelled

ATTACK_STEPS = 7  # Madry et al. 2018


def smoothed(target: Ints, share: float) -> Derivative:
    """Cross-entropy of smoothed labels: softmax(F) − (1 − s) onehot(y) − s/outputs.

    >>> smoothed(np.array([0]), 0.5)(np.zeros((1, 2)), np.array([0]))
    array([[-0.25,  0.25]])
    """
    plain = labelled(target)

    def derivative(outputs: Array, rows: Ints) -> Array:
        pulled = plain(outputs, rows) - np.asarray(share / outputs.shape[1], dtype=outputs.dtype)
        pulled[np.arange(len(rows)), target[rows]] += np.asarray(share, dtype=outputs.dtype)
        return pulled

    return derivative


def summed(codes: Ints, class_of: Ints) -> Derivative:
    """−log Σ_own softmax(F): the coarse loss of a network whose classes are sums of outputs, p − p·own/Σ_own p.

    >>> summed(np.array([1]), np.array([0, 1, 1]))(np.zeros((1, 3)), np.array([0])).round(3)
    array([[ 0.333, -0.167, -0.167]])
    """

    def derivative(outputs: Array, rows: Ints) -> Array:
        own = codes[rows, None] == class_of
        shares = np.exp(outputs - outputs.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        inside = np.where(own, shares, 0)
        # An own class that has lost all of its probability is pulled alike in all its outputs.
        inside += np.finfo(shares.dtype).tiny * own
        pulled: Array = shares - inside / inside.sum(axis=1, keepdims=True)
        return pulled

    return derivative


def worst_in_ball(derivative: Derivative, reach: float) -> Attack:
    """PGD from the points themselves: 7 steps of 2.5·reach/7 up the normalised gradient of the loss, in the ℓ2 ball."""
    stride = np.float32(2.5 * reach / ATTACK_STEPS)

    def attack(state: State, batch: Array, rows: Ints) -> Array:
        w, b, second = state.weights, state.biases, state.second
        delta = np.zeros_like(batch)
        for _ in range(ATTACK_STEPS):
            z = (batch + delta) @ w.T + b
            gradient = (derivative(np.maximum(z, 0) @ second.T, rows) @ second * (z >= 0)) @ w
            delta += stride * gradient / np.maximum(_lengths(gradient), np.finfo(np.float32).tiny)
            delta *= np.minimum(np.float32(1.0), np.float32(reach) / np.maximum(_lengths(delta), np.float32(1e-30)))
        moved: Array = batch + delta
        return moved

    return attack


def _lengths(vectors: Array) -> Array:
    return np.sqrt(np.einsum("ij,ij->i", vectors, vectors))[:, None]
