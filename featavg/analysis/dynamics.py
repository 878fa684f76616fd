"""What happens during training: activations, balance of the loss derivatives, gradients."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from featavg.arrays import Array
from featavg.model import Network
from featavg.training import LOSSES, Trajectory


def activation_stability(trajectory: Trajectory) -> tuple[Array, Array]:
    """Share of (neuron, point) pairs that are on, own class (Lemma 3: all) and other class: two (time,)."""
    network = trajectory.initial
    own = network.targets(trajectory.data)[:, None] == network.neuron_class
    active = [trajectory.active(t) for t in range(len(trajectory))]
    return np.array([a[own].mean() for a in active]), np.array([a[~own].mean() for a in active])


def derivative_balance(trajectory: Trajectory) -> Array:
    """max_i |ℓ'_i| / min_i |ℓ'_i| over the training points: (time,). Bounded by a constant in the paper's Lemmas.

    For one output |ℓ'| = σ(−y f); for several it is 1 − softmax_y.
    """
    return np.array([_spread(trajectory, t) for t in range(len(trajectory))])


def _spread(trajectory: Trajectory, t: int) -> float:
    network, data = trajectory.at(t), trajectory.data
    if network.output_count == 1:
        slopes = expit(-trajectory.margins[t])
    else:
        derivative = LOSSES["cross-entropy"].derivative(network.outputs(data.x), data.cluster)
        slopes = -derivative[np.arange(len(data)), data.cluster]
    return float(slopes.max() / max(slopes.min(), np.finfo(np.float64).tiny))


def gradient_norms(network: Network, x: ArrayLike) -> Array:
    """‖∇f(x)‖ / |f(x)|, the gradient of the network rescaled to equal margin 1 at each point: (sample,).

    Its inverse is the distance to the boundary if f were linear: the larger, the more fragile; infinite at a tie.
    """
    slopes = (network.active(x) * network.second[0]) @ network.weights
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.linalg.norm(slopes, axis=1) / np.abs(network.score(x))
