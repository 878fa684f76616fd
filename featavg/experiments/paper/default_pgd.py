"""ℓ2 PGD as a widely used attack library runs it when nothing is set: our own code with foolbox's default settings.

`L2PGD()` there takes 50 steps of 0.025 of the radius along the normalised gradient of the cross-entropy, from one point
drawn uniformly in the ball, and only the last point counts. Like every attack it is an upper bound.

In many dimensions nearly all of the start is of no use, and the ball is full: what a step adds along the gradient, the
projection takes from both. The share s of the radius along a constant gradient goes to (s + η)/√((s + η)² + 1 − s²),
which is s′ = 1 − s² for small η: after t steps it is tanh(ηt), whatever the radius.
"""

from __future__ import annotations

import numpy as np

from featavg.arrays import Array, Ints
from featavg.model import Network

STEPS, RELATIVE_STEP = 50, 0.025
REACH = float(np.tanh(STEPS * RELATIVE_STEP))  # 0.85 of the radius


def default_pgd(network: Network, x: Array, classes: Ints, radius: float, dim: int, rng: np.random.Generator) -> Array:
    """Where the attack ends, in the coordinates of x: (sample, axis).

    δ ← project(δ + 0.025·radius·∇/‖∇‖), ∇ of the cross-entropy of `classes` at x + δ. What of δ lies outside span(W)
    is not seen by the network and only ever shrinks as a whole: its length is kept as one more axis, and the rest of
    the `dim` axes costs nothing. A network of one output f has the logits 0 and f.

    >>> from featavg.model import Layer
    >>> ramp = Network((Layer(np.array([[1.0]]), np.zeros(1)), Layer(np.array([[1.0]]), np.array([-2.0]))))
    >>> default_pgd(ramp, np.array([[9.0]]), np.array([1]), 8.0, dim=3072, rng=np.random.default_rng(0)).round(1)
    array([[2.2]])
    """
    basis = np.linalg.qr(network.weights.T)[0]  # (axis, seen)
    weights, hidden = network.weights @ basis, network.preactivations(x)
    one = network.output_count == 1
    second = np.vstack([np.zeros(network.neurons), network.second]) if one else network.second
    bias = np.append(0.0, network.output_bias) if one else network.output_bias
    own = np.eye(len(second))[classes]
    delta = radius * _uniform(len(x), basis.shape[1], dim, rng)
    for _ in range(STEPS):
        here = hidden + delta[:, :-1] @ weights.T
        logits = np.maximum(here, 0.0) @ second.T + bias
        shares = np.exp(logits - logits.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        delta[:, :-1] += RELATIVE_STEP * radius * _normalised(((shares - own) @ second * (here > 0)) @ weights)
        delta *= np.minimum(1.0, radius / np.linalg.norm(delta, axis=1, keepdims=True))
    ends: Array = x + delta[:, :-1] @ basis.T
    return ends


def _uniform(points: int, seen: int, dim: int, rng: np.random.Generator) -> Array:
    """Points of the unit ball in `dim` dimensions: their first `seen` coordinates, and the length of the rest."""
    towards = rng.standard_normal((points, seen + 1))
    towards[:, -1] = np.sqrt(rng.chisquare(dim - seen, points))
    return rng.random((points, 1)) ** (1 / dim) * _normalised(towards)


def _normalised(vectors: Array) -> Array:
    """Vectors (sample, axis) of length 1; 0 stays 0."""
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    normalised: Array = vectors / np.where(length > 0, length, 1.0)
    return normalised
