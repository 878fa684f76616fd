"""What a norm must know: the nearest point of half-spaces' intersection, and how far a neuron moves in a cap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import daqp
import numpy as np
import scipy.optimize

from featavg.arrays import Array

# Share of a sum's terms that its rounding may hide; the verifier allows for a third of it.
ROUNDING = 3e-15
# Feasibility of the QP solver, in units of the distance.
FEASIBLE = 1e-11


class Geometry(Protocol):
    """A norm on the perturbations δ, in coordinates of its own choice; every method takes leading batch axes."""

    @property
    def weights(self) -> Array:
        """(neuron, coordinate): z = z0 + weights @ δ."""

    @property
    def norms(self) -> Array:
        """(neuron,): dual norms, the largest change of z_j at distance 1."""

    @property
    def diameter(self) -> float:
        """No allowed δ is longer than this: ∞ without a box."""

    def nearest(self, normals: Array, offsets: Array) -> tuple[Array | None, Array]:
        """The shortest δ with normals @ δ + offsets <= 0, None if there is none, and its multipliers."""

    def length(self, delta: Array) -> float:
        """The norm of δ."""

    def distance(self, normal: Array, offset: Array, rounding: Array) -> Array:
        """A lower bound on the length of every δ with ⟨normal, δ⟩ + offset <= 0."""

    def cap(self, normal: Array, offset: Array, distance: Array, reach: Array) -> tuple[Array, Array]:
        """Bounds on ⟨w_j, δ⟩ over the cap ‖δ‖ <= reach, ⟨normal, δ⟩ + offset <= 0, which begins at `distance`."""

    def lift(self, delta: Array) -> Array:
        """δ in the coordinates of the input."""


@dataclass(frozen=True)
class Euclidean:
    """ℓ2 in an orthonormal basis of span(W), since nothing else moves a neuron: Wᵀ = basis · weightsᵀ."""

    basis: Array  # (axis, coordinate)
    weights: Array  # (neuron, coordinate)
    norms: Array  # (neuron,)  ‖w_j‖

    @classmethod
    def spanned_by(cls, weights: Array) -> Euclidean:
        """The geometry of networks with these first-layer weights (neuron, axis)."""
        basis, triangle = np.linalg.qr(weights.T)
        reduced = np.ascontiguousarray(triangle.T)
        return cls(basis, reduced, np.linalg.norm(reduced, axis=1))

    @property
    def diameter(self) -> float:
        """∞."""
        return np.inf

    def nearest(self, normals: Array, offsets: Array) -> tuple[Array | None, Array]:
        """A least-distance QP: min ½‖δ‖² subject to normals @ δ + offsets <= 0, in units of the farthest half-space."""
        lengths = np.sqrt(np.einsum("ij,ij->i", normals, normals))
        lengths[lengths == 0] = 1.0
        distances = offsets / lengths
        unit, size = distances.max(), normals.shape[1]
        if unit <= 0:
            return np.zeros(size), np.zeros(len(normals))
        if size == 0:
            return None, np.eye(len(normals))[distances.argmax()]
        unit_normals = normals / lengths[:, None]
        solution, _, flag, info = daqp.solve(
            np.eye(size), np.zeros(size), unit_normals, -distances / unit, primal_tol=FEASIBLE
        )
        if flag >= 1:
            return solution * unit, info["lam"] * unit / lengths
        return None, farkas(unit_normals, distances / unit) / lengths

    def length(self, delta: Array) -> float:
        """‖δ‖."""
        return float(np.sqrt(delta @ delta))

    def distance(self, normal: Array, offset: Array, rounding: Array) -> Array:
        """offset / ‖normal‖, rounded down; 0 if the half-space holds the origin."""
        length = np.sqrt((normal * normal).sum(axis=-1)) + rounding
        return np.maximum(offset, 0.0) / np.maximum(length, 1e-300)

    def cap(self, normal: Array, offset: Array, distance: Array, reach: Array) -> tuple[Array, Array]:
        """max ⟨w,δ⟩: ‖w‖·reach if the cap holds that point, else ⟨w,e⟩·distance + ‖w⊥‖·√(reach² − distance²)."""
        length = np.sqrt((normal * normal).sum(axis=-1, keepdims=True))
        along = -(normal @ self.weights.T) / np.maximum(length, 1e-300)
        across = np.sqrt(np.maximum((1.0 + ROUNDING) * self.norms**2 - along**2, 0.0))
        near, far = np.asarray(distance)[..., None], np.asarray(reach)[..., None]
        rim = across * np.sqrt(np.maximum(far**2 - near**2, 0.0))
        most, floor = self.norms * far, self.norms * near
        # A half-space that holds x takes nothing off the ball: its distance, 0, says too little about it.
        high = np.where((near <= 0) | (along * far >= floor), most, along * near + rim)
        low = np.where((near <= 0) | (-along * far >= floor), -most, along * near - rim)
        return low, high

    def lift(self, delta: Array) -> Array:
        """basis @ δ."""
        return delta @ self.basis.T


def farkas(normals: Array, offsets: Array) -> Array:
    """Multipliers u >= 0 with Σ u normals ≈ 0 and Σ u offsets ≈ 1, which no δ survives (Lawson and Hanson, LDP)."""
    goal = np.zeros(normals.shape[1] + 1)
    goal[-1] = 1.0
    return np.asarray(scipy.optimize.nnls(np.vstack([normals.T, offsets]), goal)[0])
