"""Networks built by hand: what training approaches, and what it could have found instead."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from featavg.arrays import Array
from featavg.data import Dataset
from featavg.model.network import Network
from featavg.model.two_layer import BinaryNetwork, MulticlassNetwork


def averaging_network(data: Dataset, biases: ArrayLike = 0.0) -> Network:
    """The feature-averaging network: w_s = Σ_{j in J_s} μ_j/‖μ_j‖², one neuron per class, any biases.

    At a center, with orthogonal centers of norm √d and no biases, its ℓ2 radius is √(d/k).

    >>> from featavg import sample_clusters
    >>> data = sample_clusters(clusters=4, dim=400, samples=10, seed=0)
    >>> averaging_network(data).score(data.centers).round(12)
    array([ 1.,  1., -1., -1.])
    """
    dual = _dual(data)
    classes = np.stack([dual[data.center_labels == sign].sum(axis=0) for sign in (1, -1)])
    return BinaryNetwork(
        weights=classes,
        biases=np.broadcast_to(np.asarray(biases, dtype=np.float64), 2).copy(),
        second=np.array([[1.0, -1.0]]),
        output_bias=np.zeros(1),
        coordinates=data.coordinates,
    )


def decoupled_network(data: Dataset) -> Network:
    """The feature-decoupled network: f_j(x) = ReLU(⟨μ_j, x⟩/‖μ_j‖²), one neuron per feature."""
    return MulticlassNetwork(
        weights=_dual(data),
        biases=np.zeros(data.clusters),
        second=np.eye(data.clusters),
        output_bias=np.zeros(data.clusters),
        class_labels=data.center_labels,
        coordinates=data.coordinates,
    )


def filtered_network(data: Dataset, threshold: float = 0.25) -> Network:
    """The robust network of the talks, whose biases filter noise out: f(x) = Σ_j y_j ReLU(⟨μ_j, x⟩/‖μ_j‖² − θ).

    With orthogonal centers of norm √d its radius at a center is √d·min(1−θ, min_p (1+(p−1)θ)/√(p+1)), p up to the
    number of rival centers; the best, √(d/2), is reached for θ between √1.5 − 1 and 1 − 1/√2.
    """
    return BinaryNetwork(
        weights=_dual(data),
        biases=np.full(data.clusters, -threshold),
        second=data.center_labels[None].astype(np.float64),
        output_bias=np.zeros(1),
        coordinates=data.coordinates,
    )


def _dual(data: Dataset) -> Array:
    return data.centers / (data.centers**2).sum(axis=1, keepdims=True)
