"""The convex relaxation of a fooled set over intervals low <= z <= high of the pre-activations, and its dual cuts.

A neuron with low >= 0 is on (ReLU(z) = z), with high <= 0 off (0). Between, a positive coefficient keeps its ReLU,
which is convex, and a negative one takes the chord, which lies above: ReLU(z) <= slope·z + lift on [low, high].

A cut is a weighted sum of the rows, λ >= 0, with one slope θ_j for each neuron: every fooled point has

    Σ_j θ_j z_j + λ·(c − tie) − Σ_j a⁻_j lift_j <= 0        a⁺ = λ·max(A, 0),  a⁻ = λ·max(−A, 0)

for every θ_j <= a⁺ − a⁻ (on), θ_j >= 0 (off), −a⁻ slope <= θ_j <= a⁺ − a⁻ slope (between).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from featavg.arrays import Array, Bools, Ints
from featavg.robustness.geometry import ROUNDING, Geometry
from featavg.robustness.region import Neurons

# A row that is violated by less than this share of the distance counts as satisfied: no further cut.
SATISFIED = 1e-11
MOST_CUTS = 200


@dataclass(frozen=True)
class Place:
    """One rival's set, seen from one point x."""

    neurons: Neurons
    geometry: Geometry
    start: Array  # (neuron,)  z0 = W x + b
    rows: Array  # (row, neuron)  A
    constants: Array  # (row,)  c
    magnitude: Array  # (neuron,)  ‖w‖·‖x‖ + |b|, the terms that z0 is made of

    def values(self, delta: Array) -> Array:
        """Σ_j A_mj ReLU(z_j) + c_m at x + δ: (row,)."""
        return self.rows @ np.maximum(self.start + self.geometry.weights @ delta, 0.0) + self.constants


class Relaxed(NamedTuple):
    """Rows linear·z + convex·ReLU(z) + constant <= 0 (convex >= 0), all of which hold at every fooled point."""

    linear: Array  # (row, neuron)
    convex: Array  # (row, neuron)
    constant: Array  # (row,)
    on: Bools  # (neuron,)  z >= 0 at every fooled point
    off: Bools  # (neuron,)  z <= 0 at every fooled point


class Seeds(NamedTuple):
    """Linear pieces of a relaxation: of row `owner`, with slopes in [0, 1] of its convex ReLUs, or of a sign (−1)."""

    owner: Ints  # (piece,)
    slopes: Array  # (piece, neuron)


class Solution(NamedTuple):
    """What the relaxation's dual proves, and where its primal ends."""

    distance: float  # every point of the relaxation is at least this far
    rows: Array  # λ
    slopes: Array  # θ
    normal: Array  # h = Wᵀθ
    offset: float  # β
    delta: Array | None  # the nearest point, None where there is none
    seeds: Seeds  # the pieces that carry the bound


def chords(low: Array, high: Array) -> tuple[Bools, Bools, Array, Array]:
    """Which neurons are on, which lie between, and slope and lift of the chords of those."""
    on = low >= 0
    between = ~on & (high > 0)
    slope = np.where(between, high, 0.0) / np.where(between, high - low, 1.0)
    return on, between, slope, np.where(between, -low * slope, 0.0)


def relax(place: Place, low: Array, high: Array) -> Relaxed:
    """Replace each ReLU by what holds over [low, high]."""
    on, between, slope, lift = chords(low, high)
    negative = np.minimum(place.rows, 0.0)
    return Relaxed(
        linear=place.rows * on + negative * slope,
        convex=np.maximum(place.rows, 0.0) * between,
        constant=place.constants - place.neurons.tie(high) + negative @ lift,
        on=on,
        off=~(on | between),
    )


def nearest_point(place: Place, relaxed: Relaxed, reach: float, seeds: Seeds) -> Solution:
    """The point of a relaxation nearest to x, by cutting planes: a linear piece is added once it is violated.

    The pieces are those of the rows, and z_j >= 0 or z_j <= 0 for neurons that are on or off. Cuts end early when the
    distance passes `reach`.
    """
    geometry, start = place.geometry, place.start
    pieces = seeds
    theta, offsets = _half_spaces(place, relaxed, pieces)
    normals = theta @ geometry.weights
    delta: Array | None = None
    for _ in range(MOST_CUTS):
        delta, multipliers = geometry.nearest(normals, offsets)
        if delta is None or geometry.length(delta) >= reach:
            break
        fresh = _violated(place, relaxed, start + geometry.weights @ delta, geometry.length(delta))
        if not len(fresh.owner):
            break
        more, constants = _half_spaces(place, relaxed, fresh)
        pieces = Seeds(*(np.concatenate(pair) for pair in zip(pieces, fresh, strict=True)))
        theta, offsets = np.concatenate([theta, more]), np.concatenate([offsets, constants])
        normals = np.concatenate([normals, more @ geometry.weights])
    multipliers = np.maximum(np.concatenate([multipliers, np.zeros(len(theta) - len(multipliers))]), 0.0)
    return _dual(place, relaxed, theta, pieces, multipliers, delta)


def _half_spaces(place: Place, relaxed: Relaxed, pieces: Seeds) -> tuple[Array, Array]:
    """Slopes θ (piece, neuron) and values at x (piece,) of linear pieces."""
    row = np.maximum(pieces.owner, 0)
    theta = np.where(
        pieces.owner[:, None] < 0, pieces.slopes, relaxed.linear[row] + relaxed.convex[row] * pieces.slopes
    )
    return theta, theta @ place.start + np.where(pieces.owner < 0, 0.0, relaxed.constant[row])


def _violated(place: Place, relaxed: Relaxed, z: Array, length: float) -> Seeds:
    """The pieces that are violated at z: of rows, and signs of neurons that are on or off."""
    slopes = relaxed.linear + relaxed.convex * (z > 0)
    tolerance = SATISFIED * length
    rows = np.flatnonzero(slopes @ z + relaxed.constant > tolerance * (np.abs(slopes) @ place.geometry.norms))
    against = np.where(relaxed.on, -1.0, 1.0) * (relaxed.on | relaxed.off)
    signs = np.flatnonzero(against * z > tolerance * place.geometry.norms)
    owner = np.concatenate([rows, np.full(len(signs), -1)])
    active = np.zeros((len(owner), len(z)))
    active[: len(rows)] = z > 0
    active[np.arange(len(rows), len(owner)), signs] = against[signs]
    return Seeds(owner, active)


def _dual(
    place: Place, relaxed: Relaxed, theta: Array, pieces: Seeds, multipliers: Array, delta: Array | None
) -> Solution:
    """Sum the half-spaces with their multipliers: one half-space, whose distance bounds all."""
    of_rows = pieces.owner >= 0
    rows: Array = np.zeros(len(relaxed.constant))
    np.add.at(rows, pieces.owner[of_rows], multipliers[of_rows])
    scale = rows.sum() or multipliers.sum() or 1.0
    rows, slopes = rows / scale, (multipliers / scale) @ theta
    distance, normal, offset = bound(place, relaxed, rows, slopes)
    useful = multipliers > 0
    useful[0] |= not useful.any()
    return Solution(
        float(distance), rows, slopes, normal, float(offset), delta, Seeds(pieces.owner[useful], pieces.slopes[useful])
    )


def bound(place: Place, relaxed: Relaxed, rows: Array, slopes: Array) -> tuple[Array, Array, Array]:
    """Distance, normal and offset of the half-space with these multipliers, rounded down."""
    normal = slopes @ place.geometry.weights
    offset = (slopes * place.start).sum(axis=-1) + (rows * relaxed.constant).sum(axis=-1)
    size = np.abs(slopes)
    offset -= ROUNDING * ((size * place.magnitude).sum(axis=-1) + (rows * np.abs(relaxed.constant)).sum(axis=-1))
    return place.geometry.distance(normal, offset, ROUNDING * (size @ place.geometry.norms)), normal, offset
