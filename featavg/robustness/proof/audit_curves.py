"""The rule of the curve in arb balls: why it holds is written in `curves.py`."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from featavg.robustness.proof.audit_place import Ball, Balls, Place, times
from featavg.robustness.proof.audit_pools import Middle, radius_of
from featavg.robustness.proof.format import Floats, Proofs

# By how much a float eigenvalue is raised before it is certified.
RAISED = 1e-13


class Curve(NamedTuple):
    """s² by neuron, and at least the largest eigenvalue of Σ_j s_j² w_j w_jᵀ."""

    squares: Balls
    most: Ball


def curve_of(desk: Place, proofs: Proofs, tree: int) -> Curve | None:
    """The curve of a tree, or None if it has none."""
    root = proofs.curve[proofs.curve_start[tree] : proofs.curve_start[tree + 1]]
    if not len(root):
        return None
    squares = [desk.ball(value) ** 2 if math.isfinite(value) else desk.ball(math.inf) for value in root.tolist()]
    return Curve(squares, _largest_eigenvalue(desk, root))


def _largest_eigenvalue(desk: Place, root: Floats) -> Ball:
    """A float a little above the one that floats find, if μI − S has a Cholesky factor in balls; else ∞."""
    used, arb = np.flatnonzero(root).tolist(), desk.flint.arb
    if not np.isfinite(root).all():
        return arb.pos_inf()
    s = {i: arb(float(root[i])) for i in used}
    inner = [[s[i] * s[j] * desk.gram[i, j] for j in used] for i in used]
    floats = np.array([[float(entry) for entry in row] for row in inner]).reshape(len(used), len(used))
    if not np.isfinite(floats).all():
        return arb.pos_inf()
    most = float(np.linalg.eigvalsh(floats).max(initial=0.0)) * (1.0 + RAISED) + 1e-300
    return (
        arb(most)
        if _is_definite([[(i == j) * most - e for j, e in enumerate(row)] for i, row in enumerate(inner)])
        else arb.pos_inf()
    )


def _is_definite(matrix: list[Balls]) -> bool:
    """Whether all pivots of Gauss' elimination are positive."""
    rows = [list(row) for row in matrix]
    for k, pivot in enumerate(rows):
        if not pivot[k] > 0:
            return False
        for row in rows[k + 1 :]:
            factor = row[k] / pivot[k]
            for j in range(k + 1, len(rows)):
                row[j] -= factor * pivot[j]
    return True


def cost_of(desk: Place, curve: Curve, rho: Ball, middle: Middle, reach: Ball) -> Ball:
    """ρμτ²; the pre-activations of the center are known as balls, so there is no doubt to pay for."""
    radius = radius_of(desk, middle, reach) if reach.is_finite() else reach
    return rho * curve.most * radius * radius


def least_curve(a: Ball, theta: Ball, low: Ball, high: Ball, bend: Ball, middle: Ball, zero: Ball) -> Ball:
    """At most the least of a ReLU(z) − θz + q(z − m)² over [low, high]."""
    left, right = (-theta, low, high.min(zero)), (a - theta, low.max(zero), high)
    if low > 0 or high < 0:
        return _least_parabola(*(right if low > 0 else left), bend, middle)
    return _least_parabola(*left, bend, middle).min(_least_parabola(*right, bend, middle))


def _least_parabola(slope: Ball, low: Ball, high: Ball, bend: Ball, middle: Ball) -> Ball:
    """f(z*) + the least of f'(z*)(z − z*); floats choose z*."""
    at = (middle - slope / (2 * bend)).mid().max(low.mid()).min(high.mid())
    steep = slope + 2 * bend * (at - middle)
    # Not a power: that of a ball around 0 is NaN.
    value = slope * at + bend * (at - middle) * (at - middle)
    return value + times(steep, low - at).min(times(steep, high - at)).min(low * 0)
