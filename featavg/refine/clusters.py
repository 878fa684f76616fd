"""Clusters inside one class: where they are looked for, how they are found, what happens to tiny ones, how many.

As many as stand out most against one Gaussian of the same covariance: the gap of Tibshirani, Walther & Hastie (2001)
with another reference, not a uniform box but the null that matters here, a class without sub-classes. W(k) is the sum
of squared distances to the nearest of k centers.

    gap(k) = mean log W(k)/W(1) of Gaussian samples with the class's covariance − log W(k)/W(1) of the class

One Gaussian has gap 0 at every k, whatever its shape; separate clusters have the largest gap at their true number:
below it W holds distances between clusters, beyond it the Gaussian profits at least as much from one more center. In
few axes it profits just as much, so the smallest number within one deviation of the largest gap is taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from featavg.arrays import Array, Ints
from featavg.data import split
from featavg.errors import InputError

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
HALVES = 4  # pairs of halves of which the stability is a mean
REFERENCES = 6
STARTS = 3  # of k-means, the best of which counts
MOST_POINTS = 1500  # a class is judged by so many of its points
# A gap must exceed this many standard deviations of the reference: the largest of about ten normals rarely does.
DEVIATIONS = 4.0
LEAST_GAP = 0.01  # of log W: a gap of less than 1 % of the spread is no structure worth a label


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


def mixture(points: Array, centers: Array, seed: int) -> Ints:
    """The likeliest component (sample,) of each point, in a mixture that starts at centers (component, axis).

    >>> mixture(np.array([[0.0], [0.1], [9.0], [9.1]]), np.array([[1.0], [8.0]]), seed=0)
    array([0, 0, 1, 1])
    """
    from sklearn.mixture import GaussianMixture

    # Diagonal: in fifty axes a full covariance has more numbers than a small cluster has points.
    spread = float(points.var(axis=0).mean()) or 1.0
    model = GaussianMixture(
        len(centers), covariance_type="diag", means_init=centers, reg_covar=1e-3 * spread, random_state=seed,
        init_params="random_from_data", max_iter=200, tol=1e-2,
    )  # fmt: skip
    return np.asarray(model.fit(points).predict(points), dtype=np.int64)


@dataclass(frozen=True)
class Count:
    """The chosen number of clusters of one class, and the curve it was read from."""

    chosen: int
    tried: Ints  # (tried,)
    gaps: Array  # (tried,)
    deviations: Array  # (tried,)  standard deviation of the reference


def choose_count(points: Array, low: int, high: int, seed: int) -> Count:
    """Return the number of clusters in low ... high with the largest gap, `low` if none stands out.

    >>> rng = np.random.default_rng(0)
    >>> choose_count(rng.normal(size=(300, 3)), 1, 4, seed=0).chosen
    1
    >>> choose_count(rng.normal(size=(300, 3)) + 9 * rng.integers(2, size=(300, 1)), 1, 4, seed=0).chosen
    2
    """
    rng = np.random.default_rng(seed)
    sample = points[some(np.arange(len(points)), rng)]
    tried = _grid(low, min(high, max(low, len(sample) // 5)))
    if len(tried) == 1 or not sample.var(axis=0).any():
        return Count(int(tried[0]), tried[:1], np.zeros(1), np.zeros(1))
    references = [_like(sample, rng) for _ in range(REFERENCES)]
    # As many starts for both: the best of more would make any sample look more clustered than its reference.
    real, *null = np.array([[_log_spread(one, int(k), seed) for k in tried] for one in (sample, *references)])
    gaps, deviations = np.mean(null, axis=0) - real, np.std(null, axis=0, ddof=1) * np.sqrt(1 + 1 / REFERENCES)
    best = int(np.argmax(gaps))
    stands_out = gaps[best] > max(DEVIATIONS * deviations[best], LEAST_GAP)
    enough = int(np.argmax(gaps >= gaps[best] - deviations[best]))
    return Count(int(tried[enough]) if stands_out else int(tried[0]), tried, gaps, deviations)


def some(rows: Ints, rng: np.random.Generator) -> Ints:
    """All rows of a class, or as many as it is judged by."""
    return rows if len(rows) <= MOST_POINTS else rng.choice(rows, MOST_POINTS, replace=False)


def _grid(low: int, high: int) -> Ints:
    """Every number up to 12, then steps of a fifth: beyond, one cluster more or less is not seen."""
    numbers, k = [low], low
    while k < high:
        k = min(high, max(k + 1, int(k * 1.2)) if k >= 12 else k + 1)
        numbers.append(k)
    return np.array(numbers, dtype=np.int64)


def _like(sample: Array, rng: np.random.Generator) -> Array:
    """A Gaussian sample with the mean and covariance of another of the same size."""
    centred = sample - sample.mean(axis=0)
    _, sizes, axes = np.linalg.svd(centred, full_matrices=False)
    scales = sizes / np.sqrt(max(len(sample) - 1, 1))
    return np.asarray(rng.standard_normal((len(sample), len(scales))) * scales @ axes)


def _log_spread(sample: Array, count: int, seed: int) -> float:
    """log W(k)/W(1); the quotient, since sizes of samples vary more than their shapes."""
    if count == 1:
        return 0.0
    whole = ((sample - sample.mean(axis=0)) ** 2).sum()
    return float(np.log(max(k_means(sample, count, seed, STARTS).inertia_ / whole, 1e-300)))


def silhouette(points: Array, labels: Ints, codes: Ints, seed: int) -> float:
    """Return the mean silhouette of the sub-classes inside their classes, over classes with two or more of them.

    >>> round(silhouette(np.array([[0.0], [1.0], [9.0], [10.0]]), np.array([0, 0, 1, 1]), np.zeros(4), 0), 2)
    0.89
    """
    from sklearn.metrics import silhouette_score

    values = []
    for c in np.unique(codes):
        rows = some(np.flatnonzero(codes == c), np.random.default_rng(seed))
        if 1 < len(np.unique(labels[rows])) < len(rows):
            values.append(silhouette_score(points[rows], labels[rows]))
    return float(np.mean(values)) if values else float("nan")


def stability(points: Array, class_of: Ints, codes: Ints, method: Method, seed: int) -> float:
    """Return the mean adjusted Rand index of the labels that clusterings of two halves give to the same points.

    1 for clusters that any half shows, near 0 for cuts through one cloud; over classes with two or more sub-classes.
    """
    from sklearn.metrics import adjusted_rand_score

    values = []
    for c, count in enumerate(np.bincount(class_of).tolist()):
        rows = some(np.flatnonzero(codes == c), np.random.default_rng(seed))
        if count < 2 or len(rows) < 4 * count:
            continue
        for turn in range(HALVES):
            halves = (rows[part] for part in split(codes[rows], (1, 1), seed + turn))
            pair = [means(points[half], cluster(points[half], count, method, seed)) for half in halves]
            values.append(adjusted_rand_score(*(nearest(points[rows], centers) for centers in pair)))
    return float(np.mean(values)) if values else float("nan")
