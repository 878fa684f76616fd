"""Array types, and the checks that every room makes at its border."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from featavg.errors import InputError

Array = NDArray[np.floating[Any]]  # float64, or float32 where a user asks for it
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


def finite_matrix(values: ArrayLike, name: str, columns: int | None = None) -> Array:
    """Return `values` as a finite float64 matrix (row, column), or say in one sentence why that cannot be.

    >>> finite_matrix([[1, 2]], "x", columns=2).shape
    (1, 2)
    """
    try:
        matrix = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be numbers in a matrix, got {error}; pass a 2-d array") from None
    if matrix.ndim != 2:
        raise InputError(f"{name} must have 2 axes, got shape {matrix.shape}; pass one row per point")
    if columns is not None and matrix.shape[1] != columns:
        raise InputError(
            f"{name} must have {columns} columns, got {matrix.shape[1]}; use points of the same coordinates"
        )
    _all_finite(matrix, name)
    return matrix


def finite_vector(values: ArrayLike, name: str, length: int | None = None) -> Array:
    """Return `values` as a finite float64 vector, or say in one sentence why that cannot be."""
    vector = np.asarray(values, dtype=np.float64)
    if vector.ndim != 1 or (length is not None and len(vector) != length):
        raise InputError(f"{name} must be a vector of length {length or 'n'}, got shape {vector.shape}")
    _all_finite(vector, name)
    return vector


def labels_among(values: ArrayLike, allowed: Iterable[int], count: int, name: str = "y") -> Ints:
    """Return `values` as `count` integer labels, every one of them `allowed`.

    >>> labels_among([1, -1], (-1, 1), count=2)
    array([ 1, -1])
    """
    labels = np.asarray(values)
    if labels.shape != (count,):
        raise InputError(f"{name} must hold one label for each of {count} points, got shape {labels.shape}")
    known = np.asarray(sorted(allowed))
    unknown = np.setdiff1d(labels, known)
    if len(unknown):
        found = unknown.tolist()[0]
        raise InputError(f"{name} must be labels among {known.tolist()}, got {found!r}; map your labels to these")
    return labels.astype(np.int64)


def _all_finite(values: Array, name: str) -> None:
    bad = values.size - np.count_nonzero(np.isfinite(values))
    if bad:
        raise InputError(f"{name} must be finite, got {bad} NaN or infinite values; remove or impute them first")
