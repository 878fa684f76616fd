"""What the weights are made of: features and noises of the training points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from featavg.arrays import Array
from featavg.data import Dataset
from featavg.errors import InputError
from featavg.training import Trajectory


@dataclass(frozen=True)
class Decomposition:
    """w_r(t) − w_r(0) = Σ_j λ_rj μ_j/‖μ_j‖² + Σ_i σ_ri ξ_i/‖ξ_i‖²."""

    feature: Array  # (time, neuron, cluster)  λ
    noise: Array  # (time, neuron, sample)  σ


def decompose(trajectory: Trajectory, data: Dataset) -> Decomposition:
    """Read the paper's coefficients off a run: λ_rj = α‖μ_j‖² Σ_i S_ij C_ir and σ_ri = ‖ξ_i‖² C_ir.

    (S_ij says whether sample i carries feature j.) A primal run has no coefficients C; it is decomposed by least
    squares, as `decompose_weights` does.

    >>> import featavg as fa
    >>> data = fa.sample_clusters(clusters=4, dim=10**6, samples=100, seed=0)
    >>> run = fa.train(fa.BinaryNetwork.random(data, neurons_per_class=2, seed=1), data, fa.GradientDescent(steps=10))
    >>> fa.decompose(run, data).feature.shape
    (11, 4, 4)
    """
    if trajectory.coefficients is None:
        return decompose_weights(trajectory.growth, data)
    coefficients = np.swapaxes(trajectory.coefficients, 1, 2)  # (time, neuron, sample)
    feature = data.signal * _square_norms(data.centers) * (coefficients @ data.membership)
    return Decomposition(feature, _square_norms(data.noise) * coefficients)


def decompose_weights(growth: Array, data: Dataset) -> Decomposition:
    """Solve for λ and σ from the growth of the weights (..., neuron, axis) alone, by least squares.

    Unique while centers and noises are linearly independent: dim >= clusters + samples, noise > 0.
    """
    if not data.complete:
        raise InputError("compact test points are stored in part and cannot be decomposed in; pass the training data")
    directions = np.concatenate([data.centers, data.noise])
    if data.noise_scale == 0 or len(directions) > directions.shape[1]:
        raise InputError(
            f"weights split uniquely in features and noises only if noise > 0 and dim >= clusters + samples = "
            f"{len(directions)}, got dim = {data.dim} and noise = {data.noise_scale}; raise dim"
        )
    flat = growth.reshape(-1, growth.shape[-1])
    scaled = directions / _square_norms(directions)[:, None]
    solved: Array = np.linalg.lstsq(scaled.T, flat.T, rcond=None)[0].T.reshape(*growth.shape[:-1], -1)
    return Decomposition(solved[..., : data.clusters], solved[..., data.clusters :])


def reconstruct(parts: Decomposition, data: Dataset) -> Array:
    """Σ_j λ_j μ_j/‖μ_j‖² + Σ_i σ_i ξ_i/‖ξ_i‖²: (time, neuron, axis)."""
    noise = data.noise
    features = parts.feature @ (data.centers / _square_norms(data.centers)[:, None])
    return features + parts.noise @ (noise / _square_norms(noise)[:, None])


def _square_norms(rows: Array) -> Array:
    return np.einsum("ij,ij->i", rows, rows)
