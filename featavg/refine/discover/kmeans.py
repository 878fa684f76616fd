"""Clusters inside one class: where they are looked for, how they are found, and what happens to tiny ones."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from featavg.arrays import Array, Ints
from featavg.errors import InputError
from featavg.refine.discover.mixture import mixture

Method = Literal["k-means", "gaussian-mixture"]
METHODS: tuple[Method, ...] = ("k-means", "gaussian-mixture")
Space = Literal["inputs", "pca"]
SPACES: tuple[Space, ...] = ("inputs", "pca")
AXES = 50  # of the PCA: enough for fifty directions of sub-classes, and twenty times cheaper than pixels
RESTARTS = 5
# From so many points times clusters on, k-means learns from batches: the spread is a percent larger, at a fifth of
# the time.
BATCHED = 200_000
BATCH = 2048


def embed(features: Array, space: Space, seed: int) -> Array:
    """Return the points in which clusters are looked for: the features, or their first 50 principal axes.

    >>> embed(np.eye(60), "pca", seed=0).shape
    (60, 50)
    """
    if space not in SPACES:
        raise InputError(f"space must be inputs or pca, got {space!r}")
    if space == "inputs" or features.shape[1] <= AXES or len(features) <= AXES:
        return features
    from sklearn.decomposition import PCA

    # Single precision: half the time, and clusters are not decided in the seventh digit.
    found: Array = PCA(AXES, svd_solver="covariance_eigh", random_state=seed).fit_transform(features.astype(np.float32))
    return found.astype(np.float64)


def cluster(points: Array, count: int, method: Method, seed: int, weights: Array | None = None) -> Ints:
    """Split points (sample, axis) into at most `count` clusters: (sample,), 0 ... found − 1.

    >>> cluster(np.array([[0.0], [0.1], [9.0]]), 2, "k-means", seed=0)[1:].tolist() in ([0, 1], [1, 0])
    True
    """
    if method not in METHODS:
        raise InputError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
    # Equal points cannot be told apart, and clusters without a point have no center.
    count = min(count, len(np.unique(points, axis=0)) if count * 20 > len(points) else count)
    if count <= 1:
        return np.zeros(len(points), dtype=np.int64)
    found = k_means(points, count, seed, weights=weights)
    return consecutive(found.labels_ if method == "k-means" else mixture(points, found.cluster_centers_, seed))


def k_means(points: Array, count: int, seed: int, restarts: int = RESTARTS, weights: Array | None = None) -> Any:
    """Return the fitted k-means of scikit-learn: the best of a few starts where that is cheap, else from batches."""
    from sklearn.cluster import KMeans, MiniBatchKMeans

    if len(points) * count > BATCHED:
        model = MiniBatchKMeans(count, n_init=1, batch_size=BATCH, random_state=seed)
    else:
        model = KMeans(count, n_init=restarts, random_state=seed)
    return model.fit(points, sample_weight=weights)


def nearest(points: Array, centers: Array) -> Ints:
    """Return the center (sample,) that each point is nearest to.

    >>> nearest(np.array([[0.0], [4.0]]), np.array([[1.0], [5.0]]))
    array([0, 1])
    """
    return np.argmin((centers**2).sum(axis=1) - 2 * points @ centers.T, axis=1)


def means(points: Array, labels: Ints, weights: Array | None = None) -> Array:
    """Return the mean of each cluster: (cluster, axis).

    >>> means(np.array([[0.0], [2.0], [5.0]]), np.array([0, 0, 1]))
    array([[1.],
           [5.]])
    """
    from scipy.sparse import csr_array

    shares = np.ones(len(points)) if weights is None else weights
    member = csr_array((shares, (labels, np.arange(len(points)))), shape=(int(labels.max()) + 1, len(points)))
    return np.asarray(member @ points) / np.bincount(labels, shares)[:, None]


def merge_tiny(points: Array, labels: Ints, smallest: int) -> Ints:
    """Give the points of clusters below `smallest` to the nearest other center, the tiniest cluster first.

    >>> merge_tiny(np.array([[0.0], [0.0], [5.0], [5.0], [1.0]]), np.array([0, 0, 1, 1, 2]), smallest=2)
    array([0, 0, 1, 1, 0])
    """
    sizes = np.bincount(labels)
    while len(sizes) > 1 and sizes.min() < smallest:
        tiniest = int(np.argmin(sizes))
        left, gone = np.delete(np.arange(len(sizes)), tiniest), labels == tiniest
        labels = labels.copy()
        labels[gone] = left[nearest(points[gone], means(points, labels)[left])]
        labels = consecutive(labels)
        sizes = np.bincount(labels)
    return labels


def consecutive(labels: Ints) -> Ints:
    """The same clusters, numbered 0 ... without gaps in the order of their first point."""
    _, first, codes = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(first))
    return rank[codes].astype(np.int64)
