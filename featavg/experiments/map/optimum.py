"""The most robust rule there is for clusters: the class of the nearest center, as a network with exact radii."""

from __future__ import annotations

import numpy as np

from featavg.arrays import Array
from featavg.data import Coordinates, Dataset, Names
from featavg.model import MulticlassNetwork, Network
from featavg.robustness import robust_radius


def nearest_center_network(centers: Array, labels: Names, coordinates: Coordinates = "ambient") -> Network:
    """f_j(x) = ⟨μ_j, x⟩ − ‖μ_j‖²/2 for centers (cluster, axis), whose maximum is the nearest center.

    A constant above all f_j, added to each, keeps every neuron on; it changes no decision. At a center the radius is at
    most half the distance to the nearest center of another class, and exactly that where no third center is nearer to
    the middle of the two.

    >>> network = nearest_center_network(np.diag([3.0, 4.0]), np.array([1, -1]))
    >>> network.predict_binary([[3.0, 0.0], [0.0, 4.0]], readout="maximum")
    array([ 1, -1])
    """
    squares = (centers**2).sum(axis=1)
    count = len(centers)
    return MulticlassNetwork(
        weights=centers,
        biases=8 * squares.max() - squares / 2,
        second=np.eye(count),
        output_bias=np.zeros(count),
        class_labels=labels,
        coordinates=coordinates,
    )


def optimal_radius(data: Dataset, test: Dataset, centers: Array | None = None, labels: Names | None = None) -> float:
    """The median exact radius of the nearest-center rule at fresh points; the centers are α μ_j unless given."""
    found = (data.signal * data.centers, data.center_labels) if centers is None else (centers, labels)
    network = nearest_center_network(found[0], np.asarray(found[1]), data.coordinates)
    return float(np.median(robust_radius(network, test.x, test.y, readout="maximum", proofs=False).upper))
