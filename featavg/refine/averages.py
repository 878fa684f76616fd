"""Do the weights of a classifier hold averages of sub-classes? The averaging index of its rows, and their share.

Features need not be centred: the mean of all points is subtracted from the mean of each sub-class, and the index is the
one against the own class (`featavg.analysis.averaging`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from featavg.analysis import Averaging, averaging
from featavg.arrays import Array, Ints
from featavg.refine.discover import means

# Rows below this share of the most important one cannot move a decision.
IMPORTANT = 0.01


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


def centred_means(features: Array, labels: Ints) -> Array:
    """Mean features of each sub-class minus the mean of all points: (subclass, feature)."""
    return means(features, labels) - features.mean(axis=0)


def _average(centers: Array) -> Array:
    average: Array = (centers / np.maximum(np.linalg.norm(centers, axis=1, keepdims=True), 1e-300)).sum(axis=0)
    return average


def _share(rows: Array, importance: Array, classes: Array) -> float:
    _, sizes, axes = np.linalg.svd(classes, full_matrices=False)
    basis = axes[sizes > 1e-9 * sizes.max(initial=1e-300)]
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return float(importance**2 @ ((units @ basis.T) ** 2).sum(axis=1) / (importance**2).sum())
