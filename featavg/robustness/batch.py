"""The first node of the search for all points at once: on small networks nearly every point is closed by it.

Only sets with one row are treated here. All arrays have one line for each pair of a point and a rival of it.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np

from featavg.arrays import Array, Bools, Ints
from featavg.robustness.first_proof import Cut, Node, Proof
from featavg.robustness.first_search import OUTWARD
from featavg.robustness.geometry import ROUNDING, Euclidean
from featavg.robustness.region import Neurons
from featavg.robustness.relaxation import chords

DESCENTS = 6
ROUNDS = 6
TINY = 1e-290


@dataclass(frozen=True)
class Pairs:
    """One row Σ_j A_j ReLU(z_j) + c <= 0 for each pair of a point and a rival."""

    points: Ints  # (pair,)
    rivals: Ints  # (pair,)
    start: Array  # (pair, neuron)  z0
    rows: Array  # (pair, neuron)  A
    constants: Array  # (pair,)  c
    magnitude: Array  # (pair, neuron)

    def take(self, chosen: Bools) -> Pairs:
        """The chosen pairs."""
        return replace(self, **{part.name: getattr(self, part.name)[chosen] for part in fields(self)})


def descend(pairs: Pairs, neurons: Neurons, geometry: Euclidean) -> tuple[Array, Array]:
    """Radius (pair,) and δ (pair, coordinate) of a fooled point, ∞ where none was found.

    From all neurons on, and from those on at x: walk to the boundary of the linear piece, take the piece found there,
    until the pieces repeat. The first start is the direction that feature averaging makes universal.
    """
    radius = np.full(len(pairs.points), np.inf)
    best = np.zeros((len(radius), geometry.weights.shape[1]))
    for first in (pairs.rows, pairs.rows * (pairs.start > 0)):
        slopes = first
        for _ in range(DESCENTS):
            normal = slopes @ geometry.weights
            offset = (slopes * pairs.start).sum(axis=1) + pairs.constants
            delta = -(offset / np.maximum((normal * normal).sum(axis=1), TINY))[:, None] * normal
            z = pairs.start + delta @ geometry.weights.T
            length = np.sqrt((delta * delta).sum(axis=1))
            value = (pairs.rows * np.maximum(z, 0.0)).sum(axis=1) + pairs.constants
            allowed = neurons.tie(z) + 1e-10 * length * (np.abs(pairs.rows) @ geometry.norms)
            better = (value <= allowed) & (length < radius)
            radius[better], best[better] = length[better], delta[better]
            following = pairs.rows * (z > 0)
            if np.array_equal(following, slopes):
                break
            slopes = following
    return radius, best


def close(pairs: Pairs, reach: Array, neurons: Neurons, geometry: Euclidean) -> tuple[list[Proof], Bools]:
    """Prove for as many pairs as one node can that nothing within reach (pair,) is fooled; which are left is returned.

    Relax, take the cap, relax again (`search.explore`), with one linear piece in place of the nearest point.
    """
    proofs: list[Proof] = []
    left = np.ones(len(reach), dtype=bool)
    index = np.flatnonzero(left)
    low, high = np.full(pairs.rows.shape, -np.inf), np.full(pairs.rows.shape, np.inf)
    active = np.ones(pairs.rows.shape, dtype=bool)
    ball = geometry.norms * reach[:, None]
    low, high = _tighten(pairs, reach, geometry, low, high, -ball, ball)
    cuts: list[Cut] = []
    for _ in range(ROUNDS):
        slopes, normal, distance, active = _best_piece(pairs, neurons, geometry, low, high, active)
        cuts.append(Cut(reach, np.ones((len(reach), 1)), slopes))
        done = distance >= reach
        if done.any():
            kept = [Cut(*(part[done] for part in cut)) for cut in cuts]
            proofs.append(Proof(pairs.points[done], pairs.rivals[done], Node(kept)))
            left[index[done]] = False
        if done.all():
            break
        go = ~done
        pairs, reach, index, active = pairs.take(go), reach[go], index[go], active[go]
        cuts = [Cut(*(part[go] for part in cut)) for cut in cuts]
        caps = geometry.cap(normal[go], distance[go], distance[go], reach)
        low, high = _tighten(pairs, reach, geometry, low[go], high[go], *caps)
    return proofs, left


def _best_piece(
    pairs: Pairs, neurons: Neurons, geometry: Euclidean, low: Array, high: Array, active: Bools
) -> tuple[Array, Array, Array, Bools]:
    """Slopes, normal and distance of one linear piece of the relaxation, and the pattern at its nearest point."""
    on, between, slope, lift = chords(low, high)
    negative = np.minimum(pairs.rows, 0.0)
    linear, convex = pairs.rows * on + negative * slope, np.maximum(pairs.rows, 0.0) * between
    constant = pairs.constants - neurons.tie(high) + (negative * lift).sum(axis=1)
    for _ in range(2):
        slopes = linear + convex * active
        normal = slopes @ geometry.weights
        offset = (slopes * pairs.start).sum(axis=1) + constant
        squared = np.maximum((normal * normal).sum(axis=1), TINY)
        z = pairs.start - (offset / squared)[:, None] * (normal @ geometry.weights.T)
        used, active = active, z > 0
        if np.array_equal(used, active):
            break
    size = np.abs(slopes)
    offset -= ROUNDING * ((size * pairs.magnitude).sum(axis=1) + np.abs(constant))
    return slopes, normal, geometry.distance(normal, offset, ROUNDING * (size @ geometry.norms)), active


def _tighten(
    pairs: Pairs, reach: Array, geometry: Euclidean, low: Array, high: Array, least: Array, most: Array
) -> tuple[Array, Array]:
    slack = OUTWARD * (pairs.magnitude + reach[:, None] * geometry.norms)
    return np.maximum(low, pairs.start + least - slack), np.minimum(high, pairs.start + most + slack)
