"""Clusters inside one class: how they are found, and what happens to tiny ones."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from featavg.arrays import Array, Ints
from featavg.errors import InputError

Method = Literal["k-means", "gaussian-mixture"]
METHODS: tuple[Method, ...] = ("k-means", "gaussian-mixture")
Space = Literal["inputs", "pca"]
SPACES: tuple[Space, ...] = ("inputs", "pca")
AXES = 50  # of the PCA: enough for fifty directions of sub-classes, and twenty times cheaper than pixels
RESTARTS = 5


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
    if method == "gaussian-mixture":
        return _consecutive(_mixture(points, count, seed).predict(points))
    return _consecutive(k_means(points, count, seed, weights=weights).labels_)


def k_means(points: Array, count: int, seed: int, restarts: int = RESTARTS, weights: Array | None = None) -> Any:
    """Return the fitted k-means of scikit-learn, the best of a few starts where that is cheap."""
    from sklearn.cluster import KMeans

    many = len(points) * count > 200_000
    model = KMeans(count, n_init=1 if many else restarts, max_iter=50 if many else 300, random_state=seed)
    return model.fit(points, sample_weight=weights)


def nearest(points: Array, centers: Array) -> Ints:
    """Return the center (sample,) that each point is nearest to.

    >>> nearest(np.array([[0.0], [4.0]]), np.array([[1.0], [5.0]]))
    array([0, 1])
    """
    return np.argmin((centers**2).sum(axis=1) - 2 * points @ centers.T, axis=1)


def means(points: Array, labels: Ints, weights: Array | None = None) -> Array:
    """Return the mean of each cluster: (cluster, axis)."""
    member = labels[:, None] == np.arange(labels.max() + 1)
    shares = member * (1.0 if weights is None else weights[:, None])
    return (shares.T @ points) / shares.sum(axis=0)[:, None]


def merge_tiny(points: Array, labels: Ints, smallest: int) -> Ints:
    """Give the points of clusters below `smallest` to the nearest other center, the tiniest cluster first.

    >>> merge_tiny(np.array([[0.0], [0.0], [5.0], [5.0], [1.0]]), np.array([0, 0, 1, 1, 2]), smallest=2)
    array([0, 0, 1, 1, 0])
    """
    sizes = np.bincount(labels)
    while len(sizes) > 1 and sizes.min() < smallest:
        tiniest = int(np.argmin(sizes))
        centers = means(points, labels)
        centers[tiniest] = np.inf
        gone = labels == tiniest
        distances = ((points[gone][:, None] - np.delete(centers, tiniest, axis=0)) ** 2).sum(axis=2)
        left = np.delete(np.arange(len(sizes)), tiniest)
        labels = labels.copy()
        labels[gone] = left[distances.argmin(axis=1)]
        labels = _consecutive(labels)
        sizes = np.bincount(labels)
    return labels


def _mixture(points: Array, count: int, seed: int) -> Any:
    from sklearn.mixture import GaussianMixture

    start = k_means(points, count, seed)
    # Diagonal: in fifty axes a full covariance has more numbers than a small cluster has points.
    spread = float(points.var(axis=0).mean()) or 1.0
    model = GaussianMixture(
        count, covariance_type="diag", means_init=start.cluster_centers_, reg_covar=1e-3 * spread, random_state=seed,
        init_params="random_from_data", max_iter=200, tol=1e-2,
    )  # fmt: skip
    return model.fit(points)


def _consecutive(labels: Ints) -> Ints:
    """The same clusters, numbered 0 ... without gaps in the order of their first point."""
    _, first, codes = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(first))
    return rank[codes].astype(np.int64)
