"""The rule of summed probabilities in arb balls: why it holds is written in `pools.py`."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from featavg.robustness.proof.audit_place import TIE, Ball, Balls, Place, least_line, times

# A center this share of the interval below 0 still counts as on.
KINK = 2.0**-30
# Steps towards the eigenvector: as many as the checker makes before it measures.
STEPS = 5


class Middle(NamedTuple):
    """A ball of ℓ2 that holds a node: pre-activations at its center, and by how much its squared radius is less."""

    z: Balls
    lift: Ball


def recentered(desk: Place, middle: Middle, theta: Balls, offset: Ball) -> Middle:
    """The ball around −s h, h = Wᵀθ, of points with ⟨h,δ⟩ + β <= 0, if it is smaller: lift = 2sβ − s²‖h‖², any s."""
    arb, count = desk.flint.arb, len(theta)
    along = desk.gram * desk.flint.arb_mat(count, 1, theta)
    square = sum((t * along[j, 0] for j, t in enumerate(theta)), start=arb(0))
    if not offset > 0 or not square.mid() > 0:
        return middle
    step = (offset / square.mid()).mid()
    lift = (2 * step * offset - step * step * square).lower()
    if not lift > middle.lift:
        return middle
    return Middle([z0 - step * along[j, 0] for j, z0 in enumerate(desk.z0)], lift)


def radius_of(desk: Place, middle: Middle, reach: Ball) -> Ball:
    """τ² = R² − lift, with R²·axes for ℓ∞."""
    axes = 1 if desk.euclidean else desk.problem.x.shape[1]
    return (reach * reach * axes - middle.lift).upper().max(desk.flint.arb(0)).sqrt()


def excess(desk: Place, rows: list[tuple[Balls, Ball]], middle: Middle, reach: Ball, low: Balls, high: Balls) -> Ball:
    """Ψ >= log Σ_r exp E_r over the node, E_r = Σ_j a_j ReLU(z_j) + c given by (a, c)."""
    zero = desk.flint.arb(0)
    if not reach.is_finite():
        return desk.flint.arb.pos_inf()
    radius = radius_of(desk, middle, reach)
    sloped, level = ([_line(a, c, middle.z, low, high, zero, tie) for a, c in rows] for tie in (-TIE, TIE))
    found = _above(desk, sloped, radius)
    # Neither way of deciding a tie is always the better one.
    tied = any(one[2] != other[2] for one, other in zip(sloped, level, strict=True))
    return found.min(_above(desk, level, radius)) if tied else found


def _above(desk: Place, lines: list[tuple[Ball, Ball, list[float]]], radius: Ball) -> Ball:
    """Ψ from e, ceiling and slopes of every row."""
    flint, zero, neurons = desk.flint, desk.flint.arb(0), len(desk.z0)
    tilt = flint.arb_mat(len(lines), neurons, [t for _, _, line in lines for t in line])
    inner = tilt * desk.gram * tilt.transpose()
    level = [line[0] for line in lines]
    farthest = []
    for r, (start, ceiling, _) in enumerate(lines):
        length = inner[r, r].upper().max(zero).sqrt()
        farthest.append((length * radius).min(ceiling - start).max(zero).upper())
    if not all(value.is_finite() for value in level + farthest):
        return flint.arb.pos_inf()
    whole = sum(((start + far).exp() for start, far in zip(level, farthest, strict=True)), start=zero)
    mass = [start.exp() for start in level]
    pull = flint.arb_mat(1, len(lines), mass) * tilt
    drift = (pull * desk.gram * pull.transpose())[0, 0].upper().max(zero).sqrt()
    bend = [(m * _curvature(far)).sqrt() for m, far in zip(mass, farthest, strict=True)]
    together = sum(mass, start=zero) + drift * radius + _perron(bend, inner, zero) * radius * radius
    return whole.min(together).log().upper() if together.is_finite() else whole.log().upper()


def _line(
    a: Balls, c: Ball, z: Balls, low: Balls, high: Balls, zero: Ball, tie: float
) -> tuple[Ball, Ball, list[float]]:
    """e, the ceiling, and the slopes of lines above a ReLU; of the two bounds the lower one serves as e.

    A ceiling needs no slopes. It serves up to a share `tie` of the terms above the other bound, or below it.
    """
    level = ceiling = c
    tilt, size = [], abs(float(c.mid()))
    for slope, at, one, other in zip(a, z, low, high, strict=True):
        least, most = (float(end.mid()) for end in (one, other))
        t = 0.0 if most <= 0 else float(slope.mid())
        if least < 0 < most:
            t *= most / (most - least) if t > 0 else float(float(at.mid()) > KINK * (least - most))
        t = t if math.isfinite(t) else 0.0
        tilt.append(t)
        moved, lift = t * at, -least_line(-slope, zero - t, one, other, zero)
        level += moved + lift
        size += abs(float(moved.mid())) + abs(float(lift.mid()))
        ceiling += times(slope, one.max(zero)).max(times(slope, other.max(zero)))
    if float(ceiling.mid()) <= float(level.mid()) + tie * size:
        return ceiling, ceiling, [0.0] * len(tilt)
    return level, ceiling, tilt


def _curvature(most: Ball) -> Ball:
    if most <= 1:
        return 0.5 + most / 6 + most * most / (24 - 24 * most / 5)
    return (most.exp() - 1 - most) / (most * most)


def _perron(bend: Balls, inner: Ball, zero: Ball) -> Ball:
    """max_r (Mx)_r/x_r for the absolute values of bend_r bend_s⟨v_r,v_s⟩; floats choose x > 0."""
    count = len(bend)
    matrix = [[(bend[r] * bend[s] * abs(inner[r, s])).upper() for s in range(count)] for r in range(count)]
    floats, x = np.array([[float(entry) for entry in row] for row in matrix]), np.ones(count)
    for _ in range(STEPS if np.isfinite(floats).all() else 0):
        x = floats @ x
        x = x / x.max() + 1e-6 if x.max() > 0 else np.ones(count)
    most = zero
    for row, own in zip(matrix, x.tolist(), strict=True):
        image = sum((entry * value for entry, value in zip(row, x.tolist(), strict=True)), start=zero)
        most = most.max(image / own)
    return most
