"""Does it average? Cosines to the features, and an index from 0 (decoupled) to 1 (averages) with its p-value.

A row of weights w of class s is written in features μ_j, w projected on their span = Σ_j λ_j μ_j/‖μ_j‖, and

    index = ((Σ_{j in J_s} max(λ_j, 0))² / Σ_j λ_j² − 1)/(|J_s| − 1)

is 1 if it holds all features of its class alike and 0 if it holds one. There are two variants, which differ:

    against="all"   λ over the features of all classes, as the paper writes weights; weight on others lowers the index
    against="own"   λ over the features of the own class alone: for centred features, which are linearly dependent

The null of the p-value: the row is a random direction in the span of its class's features, where cos² to their average
is Beta(½, (|J_s| − 1)/2), and half of all directions have a negative cosine. Rows of one classifier depend on each
other, so they are not pooled: p = 2·median, which is valid under any dependence (Rüger 1978). A row that holds one
feature of n is at cosine 1/√n from their average and has p near 0.17, so decoupled rows are not called averaging. With
two features per class there is little power: p < 0.05 needs a cosine above 0.988.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincc

from featavg.arrays import Array, Ints, finite_matrix
from featavg.data import Dataset
from featavg.errors import InputError
from featavg.model import Network

Against = Literal["all", "own"]
# Rows below this share of the most important one cannot move a decision.
IMPORTANT = 0.01


@dataclass(frozen=True)
class Averaging:
    """How rows of weights (row, axis) relate to features."""

    alignment: Array  # (row, feature)  cosines
    index: Array  # (row,)  1 averages, 0 decoupled; NaN where the class has one feature, or the row is 0
    p_values: Array  # (row,)  NaN where the class has one feature

    @property
    def median_index(self) -> float:
        """Of the rows whose class has two or more features; NaN if there are none."""
        known = self.index[np.isfinite(self.index)]
        return float(np.median(known)) if len(known) else float("nan")

    @property
    def p_value(self) -> float:
        """min(1, 2·median p), NaN if no class has two features."""
        known = self.p_values[np.isfinite(self.p_values)]
        return min(1.0, 2.0 * float(np.median(known))) if len(known) else float("nan")


def averaging(rows: Array, row_class: Any, features: Array, class_of: Any, against: Against = "all") -> Averaging:
    """Measure rows of weights (row, axis) of known class against features (feature, axis) of known class.

    >>> found = averaging(np.array([[1.0, 1.0, 0.0]]), np.array([0]), np.eye(3), np.array([0, 0, 1]))
    >>> found.index, found.alignment.round(2)
    (array([1.]), array([[0.71, 0.71, 0.  ]]))
    """
    index, p_values = np.full(len(rows), np.nan), np.full(len(rows), np.nan)
    everywhere = _unit_coefficients(rows, features) if against == "all" else None
    for c in np.unique(row_class):
        own, of_class = np.flatnonzero(class_of == c), row_class == c
        if len(own) < 2:
            continue
        inside = _unit_coefficients(rows[of_class], features[own])
        if everywhere is None:
            index[of_class] = _index(inside, inside)
        else:
            index[of_class] = _index(everywhere[of_class][:, own], everywhere[of_class])
        p_values[of_class] = _p_values(inside, _unit(features[own]))
    return Averaging(cosines(rows, features), index, p_values)


@dataclass(frozen=True)
class Averages(Averaging):
    """How rows of weights relate to sub-classes, and how much of the weights that explains."""

    share: float  # of the squared length of all rows that lies in the span of the class averages and the mean
    chance_share: float  # the same for random directions in the span of all sub-classes


def averages(
    rows: Array, row_class: Ints, importance: Array, centers: Array, class_of: Ints, mean: Array | None = None
) -> Averages:
    """Measure rows of weights against centred means (subclass, feature) of sub-classes and the `mean` of all points.

    >>> found = averages(np.array([[1.0, 1.0, 0.0]]), np.array([0]), np.ones(1), np.eye(3), np.array([0, 0, 1]))
    >>> found.index, found.alignment.round(2)
    (array([1.]), array([[0.71, 0.71, 0.  ]]))
    """
    matters = importance > IMPORTANT * importance.max()
    rows, row_class, importance = rows[matters], row_class[matters], importance[matters]
    found = averaging(rows, row_class, centers, class_of, against="own")
    # Neurons on points away from the origin hold averages that are not centred: the mean of all points is one of them.
    origin = np.zeros((1, centers.shape[1])) if mean is None else mean[None]
    classes = np.vstack([*(_average(centers[class_of == c]) for c in np.unique(class_of)), origin])
    share = _share(rows, importance, classes)
    chance = np.linalg.matrix_rank(classes) / max(np.linalg.matrix_rank(np.vstack([centers, origin])), 1)
    return Averages(found.alignment, found.index, found.p_values, share, float(chance))


def alignment(network: Network, centers: ArrayLike) -> Array:
    """Cosine of every neuron with every feature, ⟨w_r, μ_j⟩/(‖w_r‖‖μ_j‖): (neuron, cluster); 0 for a zero neuron.

    >>> import featavg as fa
    >>> data = fa.sample_clusters(clusters=4, dim=100, samples=10, seed=0)
    >>> alignment(fa.averaging_network(data), data.centers).round(3)
    array([[0.707, 0.707, 0.   , 0.   ],
           [0.   , 0.   , 0.707, 0.707]])
    """
    return cosines(network.weights, finite_matrix(centers, "centers", columns=network.inputs))


def averaging_index(network: Network, data: Dataset, *, against: Against = "all", centred: bool = False) -> Array:
    """The averaging index of each neuron against the centers of the data: 1 averages, 0 is decoupled.

    NaN where the class has a single feature or the neuron none at all. `centred` takes the mean of all points from the
    centers first, for features that share a large mean; it needs against="own".

    >>> import featavg as fa
    >>> data = fa.sample_clusters(clusters=6, dim=100, samples=10, seed=0)
    >>> averaging_index(fa.averaging_network(data), data).round(9)
    array([1., 1.])
    >>> averaging_index(fa.decoupled_network(data), data).round(9)
    array([0., 0., 0., 0., 0., 0.])
    """
    return _of_network(network, data, against, centred).index


def averaging_p_value(network: Network, data: Dataset) -> Array:
    """Chance that a random direction in the span of its class's features is as close to their average: (neuron,).

    >>> import featavg as fa
    >>> data = fa.sample_clusters(clusters=20, dim=100, samples=10, seed=0)
    >>> bool(averaging_p_value(fa.averaging_network(data), data).max() < 1e-6)
    True
    >>> averaging_p_value(fa.decoupled_network(data), data).round(2)[0]
    np.float64(0.17)
    """
    return _of_network(network, data, "all", False).p_values


def equivalent_weights(network: Network, groups: int) -> Array:
    """Mean weight of consecutive groups of neurons: (group, axis), as the paper compares wide heads with features.

    A k-class network has one group per class; a binary one is cut into `groups` equal parts, positive neurons first.
    """
    if network.output_count > 1:
        return np.stack([network.weights[network.neuron_class == j].mean(axis=0) for j in range(network.output_count)])
    if network.neurons % groups:
        raise InputError(f"{network.neurons} neurons cannot be cut into {groups} equal groups; choose a divisor")
    order = np.argsort(-network.neuron_class, kind="stable")
    return network.weights[order].reshape(groups, -1, network.inputs).mean(axis=1)


def cosines(left: Array, right: Array) -> Array:
    """Cosines of all rows of `left` with all rows of `right`, 0 where a row is 0."""
    return _unit(left) @ _unit(right).T


def coarse_class(network: Network, data: Dataset) -> Ints:
    """The coarse label that each neuron speaks for: (neuron,)."""
    return network.neuron_class if network.output_count == 1 else data.center_labels[network.neuron_class]


def _of_network(network: Network, data: Dataset, against: Against, centred: bool) -> Averaging:
    if against not in ("all", "own") or (centred and against == "all"):
        raise InputError(f"against must be all or own, and own for centred features, got {against!r} and {centred=}")
    features = data.centers - data.x.mean(axis=0) if centred else data.centers
    return averaging(network.weights, coarse_class(network, data), features, data.center_labels, against)


def _average(centers: Array) -> Array:
    average: Array = (centers / np.maximum(np.linalg.norm(centers, axis=1, keepdims=True), 1e-300)).sum(axis=0)
    return average


def _share(rows: Array, importance: Array, classes: Array) -> float:
    _, sizes, axes = np.linalg.svd(classes, full_matrices=False)
    basis = axes[sizes > 1e-9 * sizes.max(initial=1e-300)]
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return float(importance**2 @ ((units @ basis.T) ** 2).sum(axis=1) / (importance**2).sum())


def _index(own: Array, every: Array) -> Array:
    """((Σ max(λ_own, 0))² / Σ λ² − 1)/(|J_s| − 1): (row,); NaN for a row without features."""
    total = (every**2).sum(axis=1)
    gathered = np.maximum(own, 0.0).sum(axis=1) ** 2
    return (gathered / np.where(total > 0, total, np.nan) - 1) / (own.shape[1] - 1)


def _p_values(coefficients: Array, units: Array) -> Array:
    """One-sided p-value of the cosine between Σ_j λ_j μ_j/‖μ_j‖ and Σ_j μ_j/‖μ_j‖: (row,)."""
    cosine = cosines(coefficients @ units, units.sum(axis=0)[None])[:, 0]
    farther = betaincc(0.5, (len(units) - 1) / 2, np.minimum(cosine**2, 1.0)) / 2
    return np.where(cosine > 0, farther, 1 - farther)


def _unit_coefficients(weights: Array, features: Array) -> Array:
    """λ with the projection of w on the span of the features = Σ_j λ_j μ_j/‖μ_j‖: (row, feature)."""
    solved: Array = np.linalg.lstsq(_unit(features).T, weights.T, rcond=None)[0].T
    return solved


def _unit(rows: Array) -> Array:
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(length > 0, length, 1.0)
