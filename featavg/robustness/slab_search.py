"""Slabs for one point: the largest ball that they prove empty, by bisection."""

from __future__ import annotations

import numpy as np

from featavg.arrays import Array, Ints
from featavg.robustness.first_search import Incumbent
from featavg.robustness.relaxation import Place
from featavg.robustness.slabs import SlabProof, Slabs

# Three times what the verifier allows for.
ROUNDING = 3e-14
# The reach is known to this share of the upper bound.
STEPS = 7
# A slab thinner than this share of the reach is not split again.
THINNEST = 1 / 64


def prove_slabs(place: Place, own: Ints, rivals: Ints, point: int, incumbent: Incumbent) -> SlabProof | None:
    """The proof of the largest reach up to the incumbent, cut along it; None if there is none."""
    assert incumbent.delta is not None
    toward = incumbent.delta / np.linalg.norm(incumbent.delta)
    slabs = Slabs(place.neurons, own, rivals, place.geometry.weights, place.start, place.magnitude, toward)
    low, high, proof = 0.0, incumbent.radius, None
    for _ in range(STEPS):
        reach = 0.5 * (low + high)
        parts = _cover(slabs, reach)
        low, high = (low, reach) if parts is None else (reach, high)
        if parts is not None:
            proof = SlabProof(np.full(len(rivals), point), rivals, reach, _combination(slabs), *parts)
    return proof


def _cover(slabs: Slabs, reach: float) -> tuple[Array, Array] | None:
    """Edges and tangents of slabs that are all empty, halved where they are not; None if one stays thin and open."""
    pending, edges, tangents = [(0.0, reach), (-reach, 0.0)], [-reach], []
    while pending:
        low, high = pending.pop()
        p = slabs.tangent(max(0.5 * (low + high), 0.0))
        if slabs.empty(p, low, high, reach, ROUNDING):
            edges.append(high)
            tangents.append(p)
        elif high - low < 2 * THINNEST * reach:
            return None
        else:
            middle = 0.5 * (low + high)
            pending += [(middle, high), (low, middle)]
    return np.array(edges), np.array(tangents)


def _combination(slabs: Slabs) -> Array:
    """The direction as a combination of the neurons' weights, which does not depend on coordinates."""
    return np.asarray(np.linalg.lstsq(slabs.weights.T, slabs.direction, rcond=None)[0])
