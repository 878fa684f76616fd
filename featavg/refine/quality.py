"""How good a split into sub-classes is: silhouette, and whether half of the points would give the same one."""

from __future__ import annotations

import numpy as np

from featavg.arrays import Array, Ints
from featavg.refine.clustering import Method, cluster, means, nearest

MOST_POINTS = 1500  # a class is judged by so many of its points
HALVES = 4


def silhouette(points: Array, labels: Ints, codes: Ints, seed: int) -> float:
    """Return the mean silhouette of the sub-classes inside their classes, over classes with two or more of them.

    >>> round(silhouette(np.array([[0.0], [1.0], [9.0], [10.0]]), np.array([0, 0, 1, 1]), np.zeros(4), 0), 2)
    0.89
    """
    from sklearn.metrics import silhouette_score

    values = []
    for c in np.unique(codes):
        rows = _sample(np.flatnonzero(codes == c), seed)
        if 1 < len(np.unique(labels[rows])) < len(rows):
            values.append(silhouette_score(points[rows], labels[rows]))
    return float(np.mean(values)) if values else float("nan")


def stability(points: Array, class_of: Ints, codes: Ints, method: Method, seed: int) -> float:
    """Return the mean adjusted Rand index of the labels that clusterings of two halves give to the same points.

    1 for clusters that any half shows, near 0 for cuts through one cloud; over classes with two or more sub-classes.
    """
    from sklearn.metrics import adjusted_rand_score

    rng = np.random.default_rng(seed)
    values = []
    for c, count in enumerate(np.bincount(class_of).tolist()):
        rows = _sample(np.flatnonzero(codes == c), seed)
        if count < 2 or len(rows) < 4 * count:
            continue
        for _ in range(HALVES):
            halves = np.array_split(rng.permutation(rows), 2)
            pair = [means(points[half], cluster(points[half], count, method, seed)) for half in halves]
            values.append(adjusted_rand_score(*(nearest(points[rows], centers) for centers in pair)))
    return float(np.mean(values)) if values else float("nan")


def _sample(rows: Ints, seed: int) -> Ints:
    if len(rows) <= MOST_POINTS:
        return rows
    return np.random.default_rng(seed).choice(rows, MOST_POINTS, replace=False)
