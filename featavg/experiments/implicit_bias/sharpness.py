"""The largest eigenvalue of the Hessian of a two-layer ReLU network under the squared loss, exactly."""

from __future__ import annotations

import numpy as np
from scipy.linalg import block_diag

from featavg.arrays import Array
from featavg.data import Dataset
from featavg.model import Network


def sharpness(network: Network, data: Dataset) -> float:
    """The largest eigenvalue of ∇²L, L = 1/(2n) Σ_i (f(x_i) − y_i)², in all parameters of a network with one output.

    >>> import featavg as fa
    >>> from featavg.data import Labels
    >>> data = Dataset(np.array([[3.0]]), Labels.of([1]))
    >>> network = fa.BinaryNetwork([[1.0]], [0.0], [[1.0]], [-2.0])  # f = 1: ∇f = (3, 1, 3, 1), and nothing else
    >>> round(sharpness(network, data), 9)
    20.0
    """
    return float(np.linalg.eigvalsh(hessian(network, data))[-1])


def hessian(network: Network, data: Dataset) -> Array:
    """∇²L = 1/n Σ_i (∇f ∇fᵀ + (f − y) ∇²f) on the linear piece that the weights lie on: (parameter, parameter).

    Parameters are w_r and b_r neuron by neuron, then the second layer, then the output bias. ReLU is straight on
    either side of its kink, so ∇²f joins a neuron's own second weight with its first ones and is 0 elsewhere. No
    difference is taken, so no kink can come between two gradients.
    """
    count, neurons = len(data.x), network.neurons
    x = np.column_stack([data.x, np.ones(count)])
    z = network.preactivations(data.x)
    on = (z > 0).astype(np.float64)
    first = (on * network.second[0])[:, :, None] * x[:, None]  # (sample, neuron, axis + 1)
    slopes = np.column_stack([first.reshape(count, -1), np.maximum(z, 0.0), np.ones(count)])
    off = network.outputs(data.x)[:, 0] - data.y
    mixed = block_diag(*np.einsum("i,ir,ia->ra", off, on, x)[:, :, None])  # (neuron · (axis + 1), neuron)
    whole, inner = slopes.T @ slopes, neurons * x.shape[1]
    whole[:inner, inner:-1] += mixed
    whole[inner:-1, :inner] += mixed.T
    return np.asarray(whole / count)
