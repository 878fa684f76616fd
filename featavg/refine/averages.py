"""Do the weights hold averages of sub-classes? Cosines, index, p-value and share, for any rows of weights.

Features need not be centred: the mean of all points is subtracted from the mean of each sub-class. Then the features of
all sub-classes are linearly dependent, so a row is written in those of its own class alone:

    w projected on span{μ_j : j in J_s}  =  Σ_j λ_j μ_j/‖μ_j‖
    index = ((Σ_j max(λ_j, 0))² / Σ_j λ_j² − 1)/(|J_s| − 1)

1 if the row holds all features of its class alike, 0 if it holds one. The null of the p-value: the row is a random
direction in that span, where cos² to the average is Beta(½, (|J_s| − 1)/2), one-sided. Rows of one classifier depend on
each other, so they are not pooled: p = 2·median, which is valid under any dependence (Rüger 1978). A row that holds one
feature of n is at cosine 1/√n from their average and has p near 0.17, so decoupled rows are not called averaging.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betaincc

from featavg.analysis.averaging import cosines
from featavg.arrays import Array, Ints
from featavg.refine.clustering import means

# Rows below this share of the most important one cannot move a decision.
IMPORTANT = 0.01


@dataclass(frozen=True)
class Averages:
    """How rows of weights (row, feature) relate to sub-classes."""

    alignment: Array  # (row, subclass)  cosine with the centred mean of each sub-class
    index: Array  # (row,)  1 averages, 0 decoupled; NaN where the class has one sub-class
    p_values: Array  # (row,)
    share: float  # of the squared length of all rows that lies in the span of the class averages and the mean
    chance_share: float  # the same for random directions in the span of all sub-classes

    @property
    def median_index(self) -> float:
        """Of the rows whose class has two or more sub-classes; NaN if there are none."""
        known = self.index[np.isfinite(self.index)]
        return float(np.median(known)) if len(known) else float("nan")

    @property
    def p_value(self) -> float:
        """min(1, 2·median p), NaN if no class has two sub-classes."""
        known = self.p_values[np.isfinite(self.p_values)]
        return min(1.0, 2.0 * float(np.median(known))) if len(known) else float("nan")


def averages(
    rows: Array, row_class: Ints, importance: Array, centers: Array, class_of: Ints, mean: Array | None = None
) -> Averages:
    """Measure rows of weights against centred means (subclass, feature) of sub-classes and the `mean` of all points.

    >>> found = averages(np.array([[1.0, 1.0, 0.0]]), np.array([0]), np.ones(1), np.eye(3), np.array([0, 0, 1]))
    >>> found.index, found.alignment.round(2)
    (array([1.]), array([[0.71, 0.71, 0.  ]]))
    """
    kept = importance > IMPORTANT * importance.max()
    rows, row_class, importance = rows[kept], row_class[kept], importance[kept]
    index, p_values = np.full(len(rows), np.nan), np.full(len(rows), np.nan)
    for c in np.unique(row_class):
        own = centers[class_of == c]
        if len(own) > 1:
            index[row_class == c], p_values[row_class == c] = _against(rows[row_class == c], own)
    # Neurons on points away from the origin hold averages that are not centred: the mean of all points is one of them.
    origin = np.zeros((1, centers.shape[1])) if mean is None else mean[None]
    classes = np.vstack([*(_average(centers[class_of == c]) for c in np.unique(class_of)), origin])
    share = _share(rows, importance, classes)
    chance = np.linalg.matrix_rank(classes) / max(np.linalg.matrix_rank(np.vstack([centers, origin])), 1)
    return Averages(cosines(rows, centers), index, p_values, share, float(chance))


def centred_means(features: Array, labels: Ints) -> Array:
    """Mean features of each sub-class minus the mean of all points: (subclass, feature)."""
    return means(features, labels) - features.mean(axis=0)


def _against(rows: Array, own: Array) -> tuple[Array, Array]:
    units = own / np.linalg.norm(own, axis=1, keepdims=True)
    coefficients = np.linalg.lstsq(units.T, rows.T, rcond=None)[0].T
    total = (coefficients**2).sum(axis=1)
    gathered = np.maximum(coefficients, 0.0).sum(axis=1) ** 2
    index = (gathered / np.where(total > 0, total, np.nan) - 1) / (len(own) - 1)
    inside = (units.T @ coefficients.T).T
    cosine = cosines(inside, units.sum(axis=0)[None])[:, 0]
    farther = betaincc(0.5, (len(own) - 1) / 2, np.minimum(cosine**2, 1.0)) / 2
    return index, np.where(cosine > 0, farther, 1 - farther)


def _average(centers: Array) -> Array:
    average: Array = (centers / np.maximum(np.linalg.norm(centers, axis=1, keepdims=True), 1e-300)).sum(axis=0)
    return average


def _share(rows: Array, importance: Array, classes: Array) -> float:
    _, sizes, axes = np.linalg.svd(classes, full_matrices=False)
    basis = axes[sizes > 1e-9 * sizes.max(initial=1e-300)]
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return float(importance**2 @ ((units @ basis.T) ** 2).sum(axis=1) / (importance**2).sum())
