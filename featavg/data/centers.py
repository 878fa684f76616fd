"""Cluster centers μ_j: their Gram matrix, and where they are placed in the ambient space."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from featavg.arrays import Array, finite_matrix
from featavg.errors import InputError

Placement = Literal["random", "axes", "signs"]


def center_gram(clusters: int, norms: ArrayLike, correlation: ArrayLike) -> Array:
    """Gram matrix ⟨μ_i, μ_j⟩ = ‖μ_i‖ ‖μ_j‖ ρ_ij of centers with given norms and correlations.

    >>> center_gram(2, norms=2.0, correlation=0.5)
    array([[4., 2.],
           [2., 4.]])
    """
    length = np.asarray(norms, dtype=np.float64)
    if length.shape not in ((), (clusters,)):
        raise InputError(f"norms must be one number or {clusters} of them, got shape {length.shape}")
    length = np.broadcast_to(length, clusters)
    rho = np.asarray(correlation, dtype=np.float64)
    if rho.ndim == 0:
        rho = np.full((clusters, clusters), rho)
        np.fill_diagonal(rho, 1.0)
    if rho.shape != (clusters, clusters) or not np.allclose(rho, rho.T) or not np.allclose(np.diag(rho), 1.0):
        raise InputError(f"correlation must be a number or a symmetric {clusters} x {clusters} matrix with diagonal 1")
    if not (np.isfinite(length).all() and (length > 0).all()):
        raise InputError(f"center norms must be positive, got {length.tolist()}")
    gram: Array = length[:, None] * rho * length
    return gram


def factor(gram: Array) -> Array:
    """Lower-triangular L with L Lᵀ = gram: the centers in a basis of their own span."""
    try:
        return np.linalg.cholesky(gram)
    except np.linalg.LinAlgError:
        raise InputError(
            "the centers must be linearly independent; lower their correlation, or pass fewer, or place them yourself "
            'with centers= and coordinates="ambient"'
        ) from None


def place(gram: Array, dim: int, placement: Placement, rng: np.random.Generator) -> Array:
    """Centers (cluster, dim) with the given Gram matrix: along the axes, randomly rotated, or as rows of ±1.

    In ℓ2 all placements are equivalent; in ℓ∞ they are not, so the placement belongs to the result.
    """
    clusters = len(gram)
    if placement == "signs":
        return _sign_rows(gram, dim, rng)
    frame = np.eye(clusters, dim)
    if placement == "random":
        frame = np.linalg.qr(rng.standard_normal((dim, clusters)))[0].T
    elif placement != "axes":
        raise InputError(f"placement must be random, axes or signs, got {placement!r}")
    return factor(gram) @ frame


def _sign_rows(gram: Array, dim: int, rng: np.random.Generator) -> Array:
    # Late, because `featavg list` imports this room and must not wait for scipy.linalg.
    from scipy.linalg import hadamard

    clusters = len(gram)
    order = dim & -dim  # largest power of two that divides dim
    if not np.allclose(gram, dim * np.eye(clusters)):
        raise InputError('placement="signs" needs orthogonal centers of norm √dim; drop norms= and correlation=')
    if order < clusters:
        raise InputError(
            f"±1 centers need a power of two >= {clusters=} that divides dim, got {dim=}; choose such a dim"
        )
    # Random rows: the first ones are Walsh functions whose sums vanish nearly everywhere, which no other choice does.
    rows = rng.choice(order, clusters, replace=False)
    return np.tile(hadamard(order, dtype=np.float64)[rows], dim // order)


def given_centers(centers: ArrayLike, dim: int, clusters: int) -> Array:
    """Check centers that a user placed himself: one row of length `dim` a cluster."""
    matrix = finite_matrix(centers, "centers", columns=dim)
    if len(matrix) != clusters:
        raise InputError(f"centers must have one row for each of {clusters=}, got {len(matrix)} rows")
    return matrix
