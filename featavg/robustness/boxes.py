"""ℓ∞, and both norms under a pixel box: geometries in the coordinates of the input, where span(W) does not suffice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import daqp
import numpy as np
import scipy.optimize
from scipy import sparse

from featavg.arrays import Array
from featavg.robustness.geometry import FEASIBLE, ROUNDING, Euclidean, farkas

BISECTIONS = 200


@dataclass(frozen=True)
class Cube:
    """ℓ∞ around one point, whose coordinates may move by room = (down, up) at most; ∞ without a box."""

    weights: Array  # (neuron, axis)
    down: Array  # (axis,)  least δ, <= 0
    up: Array  # (axis,)  largest δ, >= 0

    @property
    def norms(self) -> Array:
        """‖w_j‖₁, dual to ℓ∞."""
        return np.abs(self.weights).sum(axis=1)

    @property
    def diameter(self) -> float:
        """The longest way to a side of the box."""
        return float(np.maximum(-self.down, self.up).max(initial=0.0))

    def nearest(self, normals: Array, offsets: Array) -> tuple[Array | None, Array]:
        """A linear program: min ρ subject to normals @ δ + offsets <= 0, |δ_i| <= ρ, down <= δ <= up."""
        lengths = np.maximum(np.abs(normals).sum(axis=1), 1e-300)
        unit = (offsets / lengths).max()
        size = normals.shape[1]
        if unit <= 0:
            return np.zeros(size), np.zeros(len(normals))
        eye, ones = np.eye(size), np.ones((size, 1))
        rows = np.hstack([normals / lengths[:, None], np.zeros((len(normals), 1))])
        solve: Any = scipy.optimize.linprog
        found = solve(
            np.append(np.zeros(size), 1.0),
            A_ub=sparse.csr_array(np.vstack([rows, np.hstack([eye, -ones]), np.hstack([-eye, -ones])])),
            b_ub=np.concatenate([-offsets / (lengths * unit), np.zeros(2 * size)]),
            bounds=np.column_stack([np.append(self.down / unit, 0.0), np.append(self.up / unit, np.inf)]),
            options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
        )
        if found.status == 0:
            return found.x[:-1] * unit, -found.ineqlin.marginals[: len(normals)] * unit / lengths
        return None, _farkas_in_box(normals / lengths[:, None], offsets / lengths, self.down, self.up) / lengths

    def length(self, delta: Array) -> float:
        """max |δ_i|."""
        return float(np.abs(delta).max(initial=0.0))

    def distance(self, normal: Array, offset: Array, rounding: Array) -> Array:
        """The ρ at which Σ_i |h_i| min(ρ, room_i) = offset: each coordinate goes against h as far as it may."""
        weight = np.abs(normal)
        room = np.where(normal > 0, -self.down, self.up)
        if offset <= 0:
            return np.zeros(())
        order = np.argsort(room)
        used = np.concatenate([[0.0], np.cumsum((weight * np.where(np.isfinite(room), room, 0.0))[order])])[:-1]
        rest = weight.sum() - np.concatenate([[0.0], np.cumsum(weight[order])])[:-1]
        radius = np.maximum(offset - used, 0.0) / (np.maximum(rest, 0.0) + rounding + 1e-300)
        fits = radius <= room[order]
        return np.asarray(radius[fits.argmax()] if fits.any() else np.inf)

    def cap(self, normal: Array, offset: Array, distance: Array, reach: Array) -> tuple[Array, Array]:
        """min_{s >= 0} max ⟨w − s h, δ⟩ − s·offset over the box: at a weighted median of w_i/h_i."""
        low, high = np.maximum(self.down, -reach), np.minimum(self.up, reach)
        most = box_support(self.weights, normal, float(offset), low, high)
        least = -box_support(-self.weights, normal, float(offset), low, high)
        return least, most

    def lift(self, delta: Array) -> Array:
        """δ itself."""
        return delta


@dataclass(frozen=True)
class BoxedEuclidean:
    """ℓ2 around one point whose coordinates may move between `down` and `up`."""

    weights: Array  # (neuron, axis)
    down: Array  # (axis,)
    up: Array  # (axis,)

    @property
    def norms(self) -> Array:
        """‖w_j‖."""
        return np.linalg.norm(self.weights, axis=1)

    @property
    def diameter(self) -> float:
        """From the point to the farthest corner of the box."""
        return float(np.linalg.norm(np.maximum(-self.down, self.up)))

    def nearest(self, normals: Array, offsets: Array) -> tuple[Array | None, Array]:
        """A QP in input space: min ½‖δ‖² subject to normals @ δ + offsets <= 0, down <= δ <= up."""
        lengths = np.maximum(np.linalg.norm(normals, axis=1), 1e-300)
        distances = offsets / lengths
        unit, size = distances.max(), normals.shape[1]
        if unit <= 0:
            return np.zeros(size), np.zeros(len(normals))
        delta, _, flag, info = daqp.solve(
            np.eye(size),
            np.zeros(size),
            normals / lengths[:, None],
            np.concatenate([self.up / unit, -distances / unit]),
            np.concatenate([self.down / unit, np.full(len(normals), -1e30)]),
            primal_tol=FEASIBLE,
        )
        if flag >= 1:
            return np.clip(delta * unit, self.down, self.up), info["lam"][size:] * unit / lengths
        return None, _farkas_in_box(normals / lengths[:, None], distances, self.down, self.up) / lengths

    def length(self, delta: Array) -> float:
        """‖δ‖."""
        return float(np.linalg.norm(delta))

    def distance(self, normal: Array, offset: Array, rounding: Array) -> Array:
        """The length of the shortest δ in the box with ⟨normal, δ⟩ + offset <= 0."""
        return np.asarray(self._nearest_half_space(normal, float(offset) - float(rounding) * self.diameter)[1])

    def cap(self, normal: Array, offset: Array, distance: Array, reach: Array) -> tuple[Array, Array]:
        """The cap of the half-space that touches the nearest point of the box, met with the box itself."""
        low, high = np.maximum(self.down, -reach), np.minimum(self.up, reach)
        most = box_support(self.weights, normal, float(offset), low, high)
        least = -box_support(-self.weights, normal, float(offset), low, high)
        toward, near = self._nearest_half_space(normal, float(offset))
        flat = Euclidean(np.zeros((0, 0)), self.weights, self.norms)
        round_least, round_most = flat.cap(-toward, np.array(near), np.array(min(near, float(reach))), reach)
        return np.maximum(least, round_least), np.minimum(most, round_most)

    def lift(self, delta: Array) -> Array:
        """δ itself."""
        return delta

    def _nearest_half_space(self, normal: Array, offset: float) -> tuple[Array, float]:
        """δ* = clip(−s h) with ⟨h, δ*⟩ = −offset, by bisection on s; ⟨δ*, δ⟩ >= ‖δ*‖·distance holds for any s."""
        if offset <= 0:
            return np.zeros_like(normal), 0.0
        if -np.minimum(normal * self.down, normal * self.up).sum() < offset:
            return np.zeros_like(normal), np.inf
        low, high = 0.0, 1.0
        while normal @ np.clip(-high * normal, self.down, self.up) + offset > 0 and high < 1e300:
            low, high = high, 4.0 * high
        for _ in range(BISECTIONS):
            middle = 0.5 * (low + high)
            if middle in (low, high):
                break
            below = normal @ np.clip(-middle * normal, self.down, self.up) + offset <= 0
            low, high = (low, middle) if below else (middle, high)
        delta = np.clip(-low * normal, self.down, self.up)
        squared = float(delta @ delta)
        return delta, (squared + low * (offset + float(normal @ delta))) / max(np.sqrt(squared), 1e-300)


def box_support(weights: Array, normal: Array, offset: float, low: Array, high: Array) -> Array:
    """An upper bound on max ⟨w_j, δ⟩ over low <= δ <= high, ⟨h, δ⟩ + offset <= 0: (neuron,), tight up to rounding.

    With center c and half-width r of the box it is min_{s >= 0} ⟨w − s h, c⟩ + Σ_i r_i |w_i − s h_i| − s·offset.
    """
    center, half = 0.5 * (low + high), 0.5 * (high - low)
    moving = normal != 0
    share = half[moving] * np.abs(normal[moving])
    ratios = weights[:, moving] / normal[moving]
    order = np.argsort(ratios, axis=1)
    filled = np.cumsum(share[order], axis=1)
    goal = 0.5 * (share.sum() + offset + normal @ center)
    position = np.minimum((filled < goal).sum(axis=1), max(ratios.shape[1] - 1, 0))
    best = np.zeros(len(weights))
    if ratios.shape[1] and offset > 0:
        best = np.maximum(np.take_along_axis(ratios, np.take_along_axis(order, position[:, None], 1), 1)[:, 0], 0.0)
    tilted = weights - best[:, None] * normal
    bound = tilted @ center + np.abs(tilted) @ half - best * offset
    plain = weights @ center + np.abs(weights) @ half
    size = np.abs(weights) @ (np.abs(center) + half) + best * (np.abs(normal) @ (np.abs(center) + half) + abs(offset))
    return np.asarray(np.minimum(plain, bound) + ROUNDING * size)


def _farkas_in_box(normals: Array, offsets: Array, down: Array, up: Array) -> Array:
    """Multipliers of half-spaces that have no common point in the box."""
    eye = np.eye(normals.shape[1])
    held = [(eye, -up), (-eye, down)]
    rows = [normals, *(side[np.isfinite(limit)] for side, limit in held)]
    limits = [offsets, *(limit[np.isfinite(limit)] for _, limit in held)]
    return farkas(np.vstack(rows), np.concatenate(limits))[: len(normals)]
