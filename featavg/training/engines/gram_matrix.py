"""K = X Xᵀ, at less than half the price where the points are triangular, as those of a compact sample are."""

from __future__ import annotations

import numpy as np

from featavg.arrays import Array

# Columns at a time: fewer skip more zeros, and make more passes over K.
PANEL = 128


def gram_matrix(x: Array) -> Array:
    """K (..., sample, sample) = X Xᵀ.

    >>> gram_matrix(np.array([[1.0, 0.0], [2.0, 1.0]]))
    array([[1., 2.],
           [2., 5.]])
    """
    if x.ndim > 2:
        return np.stack([gram_matrix(points) for points in x])
    first = _before_triangle(x)
    if first is None:
        return x @ x.T
    gram = x[:, :first] @ x[:, :first].T
    for start in range(0, len(x), PANEL):
        # Above the diagonal of a triangle there is nothing to multiply.
        panel = x[start:, first + start : first + min(start + PANEL, len(x))]
        gram[start:, start:] += panel @ panel.T
    return gram


def _before_triangle(x: Array) -> int | None:
    """The number of columns before a square lower-triangular rest of X, or None if there is no such rest."""
    samples, axes = x.shape
    ends = np.flatnonzero(x[0])
    # The first row ends on the diagonal, so only one place has to be tried.
    first = int(ends[-1]) if len(ends) else 0
    if first + samples > axes or x[:, first + samples :].any():
        return None
    for start in range(0, samples, PANEL):
        if x[:start, first + start : first + start + PANEL].any():
            return None
    return first
