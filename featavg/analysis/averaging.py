"""Does it average? Cosines to the features, and an index from 0 (decoupled) to 1 (averages) with its p-value."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincc

from featavg.arrays import Array, Ints, finite_matrix
from featavg.data import Dataset
from featavg.errors import InputError
from featavg.model import Network


def alignment(network: Network, centers: ArrayLike) -> Array:
    """Cosine of every neuron with every feature, ⟨w_r, μ_j⟩/(‖w_r‖‖μ_j‖): (neuron, cluster); 0 for a zero neuron.

    >>> import featavg as fa
    >>> data = fa.sample_clusters(clusters=4, dim=100, samples=10, seed=0)
    >>> alignment(fa.averaging_network(data), data.centers).round(3)
    array([[0.707, 0.707, 0.   , 0.   ],
           [0.   , 0.   , 0.707, 0.707]])
    """
    return cosines(network.weights, finite_matrix(centers, "centers", columns=network.weights.shape[1]))


def cosines(left: Array, right: Array) -> Array:
    """Cosines of all rows of `left` with all rows of `right`, 0 where a row is 0."""
    return _unit(left) @ _unit(right).T


def equivalent_weights(network: Network, groups: int) -> Array:
    """Mean weight of consecutive groups of neurons: (group, axis), as the paper compares wide heads with features.

    A k-class network has one group a class; a binary one is cut into `groups` equal parts, positive neurons first.
    """
    if network.output_count > 1:
        return np.stack([network.weights[network.neuron_class == j].mean(axis=0) for j in range(network.output_count)])
    if network.neurons % groups:
        raise InputError(f"{network.neurons} neurons cannot be cut into {groups} equal groups; choose a divisor")
    order = np.argsort(-network.neuron_class, kind="stable")
    return network.weights[order].reshape(groups, -1, network.weights.shape[1]).mean(axis=1)


def averaging_index(network: Network, data: Dataset) -> Array:
    """((Σ_{j in J_s} max(λ_j, 0))² / Σ_j λ_j² − 1)/(|J_s| − 1) of each neuron: 1 averages, 0 is decoupled.

    λ_j are the neuron's coefficients in μ_j/‖μ_j‖, s its coarse class; NaN where the class has a single feature or
    the neuron none at all.

    >>> import featavg as fa
    >>> data = fa.sample_clusters(clusters=6, dim=100, samples=10, seed=0)
    >>> averaging_index(fa.averaging_network(data), data).round(9)
    array([1., 1.])
    >>> averaging_index(fa.decoupled_network(data), data).round(9)
    array([0., 0., 0., 0., 0., 0.])
    """
    coefficients = _unit_coefficients(network.weights, data.centers)
    own = _coarse_class(network, data)[:, None] == data.center_labels
    size = own.sum(axis=1)
    gathered = (np.maximum(coefficients, 0.0) * own).sum(axis=1) ** 2
    total = (coefficients**2).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        index = (gathered / total - 1) / (size - 1)
    return np.where((size > 1) & (total > 0), index, np.nan)


def averaging_p_value(network: Network, data: Dataset) -> Array:
    """Chance that a random direction in the span of its class's features is as close to their average: (neuron,).

    There cos² to the average is Beta(½, (|J_s| − 1)/2), and half of all directions have a negative cosine. With two
    features a class there is little power: p < 0.05 needs a cosine above 0.988.

    >>> import featavg as fa
    >>> data = fa.sample_clusters(clusters=20, dim=100, samples=10, seed=0)
    >>> bool(averaging_p_value(fa.averaging_network(data), data).max() < 1e-6)
    True
    >>> averaging_p_value(fa.decoupled_network(data), data).round(2)[0]
    np.float64(0.17)
    """
    values = np.full(network.neurons, np.nan)
    classes = _coarse_class(network, data)
    for sign in (1, -1):
        centers = data.centers[data.center_labels == sign]
        if len(centers) < 2:
            continue
        basis = np.linalg.qr(centers.T)[0]
        inside = network.weights[classes == sign] @ basis
        average = (centers / np.linalg.norm(centers, axis=1, keepdims=True)).sum(axis=0) @ basis
        cosine = cosines(inside, average[None])[:, 0]
        farther = betaincc(0.5, (len(centers) - 1) / 2, np.minimum(cosine**2, 1.0)) / 2
        values[classes == sign] = np.where(cosine > 0, farther, 1 - farther)
    return values


def _coarse_class(network: Network, data: Dataset) -> Ints:
    if network.output_count == 1:
        return network.neuron_class
    return data.center_labels[network.neuron_class]


def _unit_coefficients(weights: Array, centers: Array) -> Array:
    """λ with the projection of w on the span of the features = Σ_j λ_j μ_j/‖μ_j‖: (neuron, cluster)."""
    solved: Array = np.linalg.lstsq(_unit(centers).T, weights.T, rcond=None)[0].T
    return solved


def _unit(rows: Array) -> Array:
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(length > 0, length, 1.0)
