"""How many clusters: as many as stand out most against one Gaussian of the same covariance.

The gap of Tibshirani, Walther & Hastie (2001) with another reference: not a uniform box but the null that matters here,
a class without sub-classes. W(k) is the sum of squared distances to the nearest of k centers.

    gap(k) = mean log W(k)/W(1) of Gaussian samples with the class's covariance − log W(k)/W(1) of the class

One Gaussian has gap 0 at every k, whatever its shape; separate clusters have the largest gap at their true number:
below it W holds distances between clusters, beyond it the Gaussian profits at least as much from one more center. In
few axes it profits just as much, so the smallest number within one deviation of the largest gap is taken.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from featavg.arrays import Array, Ints
from featavg.refine.discover.kmeans import k_means

REFERENCES = 6
STARTS = 3  # of k-means, the best of which counts
MOST_POINTS = 1500  # a class is judged by so many of its points
# A gap must exceed this many standard deviations of the reference: the largest of about ten normals rarely does.
DEVIATIONS = 4.0
LEAST_GAP = 0.01  # of log W: a gap of less than 1 % of the spread is no structure worth a label


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
    sample = points if len(points) <= MOST_POINTS else points[rng.choice(len(points), MOST_POINTS, replace=False)]
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
