"""Compact coordinates: a sample in an orthonormal basis of its own span, so that the dimension costs nothing.

The basis has `clusters` axes for the span of the centers, `samples` for what the noises have outside it, and
`reserve` for what initial weights have outside both. In such a basis (Gram-Schmidt, in order of drawing) a Gaussian
matrix becomes lower-triangular with independent entries: N(0, 1) below the diagonal and χ on it, with one degree of
freedom fewer for every row above (Bartlett 1933). The joint distribution of all inner products is exactly that of
the ambient sample; docs/architecture.md has the argument.
"""

from __future__ import annotations

import numpy as np

from featavg.arrays import Array
from featavg.errors import InputError


def width(clusters: int, samples: int, reserve: int) -> int:
    """Return the number of axes of the basis."""
    return clusters + samples + reserve


def pad(matrix: Array, axes: int) -> Array:
    """Append zero columns up to `axes` of them."""
    return np.pad(matrix, ((0, 0), (0, axes - matrix.shape[1])))


def noises(clusters: int, dim: int, samples: int, reserve: int, rng: np.random.Generator) -> Array:
    """`samples` independent N(0, I_dim) vectors in the compact basis that they themselves define: (sample, axis)."""
    vectors = np.zeros((samples, width(clusters, samples, reserve)))
    vectors[:, :clusters] = rng.standard_normal((samples, clusters))
    _fill_triangle(vectors[:, clusters : clusters + samples], dim - clusters, rng)
    return vectors


def initial_directions(
    clusters: int, dim: int, samples: int, reserve: int, count: int, rng: np.random.Generator
) -> Array:
    """`count` independent N(0, I_dim) vectors, drawn after the sample, in the same basis: (count, axis)."""
    if count > reserve:
        raise InputError(
            f"this compact sample has room for {reserve} neurons, got {count}; pass reserve={count} to sample_clusters"
        )
    vectors = np.zeros((count, width(clusters, samples, reserve)))
    used = clusters + samples
    vectors[:, :used] = rng.standard_normal((count, used))
    _fill_triangle(vectors[:, used : used + count], dim - used, rng)
    return vectors


def _fill_triangle(block: Array, freedom: int, rng: np.random.Generator) -> None:
    # Row by row, so that no second matrix of this size is ever held.
    for i, row in enumerate(block):
        row[:i] = rng.standard_normal(i)
        row[i] = np.sqrt(rng.chisquare(freedom - i))
