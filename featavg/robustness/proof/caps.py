"""The rule of the cap: a half-space ⟨h,δ⟩ + β <= 0 cuts a cap off the ball, over which undecided neurons move less.

For any t >= 0 and every δ in ball, box and half-space

    ⟨w,δ⟩ = ⟨w − t h,δ⟩ + t⟨h,δ⟩ <= S(w − t h) − tβ,    S(v) >= max of ⟨v,δ⟩ over ball and box,

and −⟨w,δ⟩ likewise. ℓ2: S(v) = R‖v‖, and the half-space is the one that the box left, ⟨h − q,δ⟩ + β' <= 0; ℓ∞: S is
exact for ball and box. Neurons whose sign is decided are left alone: a cut with the right θ pays nothing for them. But
for probabilities the interval of a neuron that is on still matters.
"""

from __future__ import annotations

import math

import numpy as np

from featavg.robustness.proof.arithmetic import SMALL, U, dot, gamma, norm_up, product_down, product_up, up
from featavg.robustness.proof.compiled import borrowing
from featavg.robustness.proof.desk import Desk, Halfspace
from featavg.robustness.proof.format import Floats
from featavg.robustness.proof.frames import Frame
from featavg.robustness.proof.halfspace import gram_share
from featavg.robustness.proof.intervals import tighten
from featavg.robustness.proof.support import ball_in_box, is_open, l2_support, linf_multiplier, linf_support, slid

# Of ‖w‖: a distance that is shorter has lost digits if it comes from inner products.
CANCELS = 1e-3


@borrowing
def within_box(frame: Frame, desk: Desk, reach: float, low: Floats, high: Floats) -> None:
    """What ball and box together leave of the interval of every undecided neuron: ±⟨w_j,δ⟩ <= S(±w_j)."""
    bounds = (0.0, 0.0)
    if not frame.euclidean and is_open(desk.box_low, desk.box_high):
        return
    if not frame.euclidean:
        ball_in_box(reach, desk.box_low, desk.box_high, desk.direction_low, desk.remainder)
    for j in range(len(low)):
        if low[j] < 0.0 < high[j]:
            vector = frame.vectors[j]
            for sign in (1.0, -1.0):
                if frame.euclidean:
                    value = l2_support(vector, sign, reach, desk.box_low, desk.box_high)
                else:
                    value, _ = linf_support(vector, sign, desk.direction, 0.0, desk.direction_low, desk.remainder)
                bounds = (bounds[1], up(value + up(frame.residual[j] * reach)))
            tighten(low, high, j, desk.center[j], desk.slack[j], bounds[0], bounds[1])


@borrowing
def cap(frame: Frame, desk: Desk, halfspace: Halfspace, reach: float, low: Floats, high: Floats, also_on: bool) -> None:
    """Tighten the interval of every undecided neuron, or of those that are on too: ±⟨w_j,δ⟩ <= S(±w_j − t h) − tβ."""
    away = halfspace.offset_in_box / halfspace.length if halfspace.terms else np.inf
    if not away < reach < np.inf:
        return
    if frame.euclidean:
        _cap_of_ball(frame, desk, halfspace, reach, low, high, also_on)
    else:
        _cap_of_cube(frame, desk, halfspace, reach, low, high, also_on)


@borrowing
def _cap_of_ball(
    frame: Frame, desk: Desk, halfspace: Halfspace, reach: float, low: Floats, high: Floats, also_on: bool
) -> None:
    """Of ℓ2: from inner products where the frame has them, or where vectors, in a box the weights, do not cancel."""
    length, offset, in_box = halfspace.length, halfspace.offset_in_box, len(desk.box_low) > 0
    lean = lean_of(offset / length, reach)
    normal = desk.remainder if in_box else desk.direction
    whole, multiplies = len(frame.gram) > 0, in_box and not frame.compensated
    size = 0.0 if whole else norm_up(normal, True)
    doubt = gamma(len(normal) + 4.0) * length  # of w·h, as a share of ‖w‖
    if whole:
        doubt = gram_share(frame.gram_error, halfspace.terms) * halfspace.weight
    bounds = (0.0, 0.0)
    for j in range(len(low)):
        if not high[j] > 0.0 or (low[j] >= 0.0 and not also_on):
            continue
        norm, residual = frame.norm[j], frame.residual[j]
        along = desk.seen[j] if whole else dot(frame.vectors[j], normal)
        part, far = along / length, 0.0
        leaning = math.sqrt(max(0.0, frame.square[j] - part * part)) * lean
        for sign in (1.0, -1.0):
            t = multiplier(sign * part, leaning, length)
            if whole or multiplies:
                far = gram_distance(norm, sign * along - up(doubt * norm + SMALL), length, t)
            if whole or far > CANCELS * norm:
                value = up(up(far + up(residual + product_up(t, halfspace.slip))) * reach)
            else:
                slid(frame.vectors[j], sign, normal, t, desk.direction_low)
                value = up(up(frame.stretch * norm_up(desk.direction_low, True)) * reach)
                value = up(value + _allowance(frame, j, t, size, halfspace.slip, reach))
            bounds = (bounds[1], up(value - product_down(t, offset)))
        tighten(low, high, j, desk.center[j], desk.slack[j], bounds[0], bounds[1])


@borrowing
def _cap_of_cube(
    frame: Frame, desk: Desk, halfspace: Halfspace, reach: float, low: Floats, high: Floats, also_on: bool
) -> None:
    """Of ℓ∞: S is exact for ball and box, t is looked for."""
    normal, offset, least, most = desk.direction, halfspace.offset, desk.direction_low, desk.remainder
    size, length, bounds = norm_up(normal, False), norm_up(normal, True), (0.0, 0.0)
    ball_in_box(reach, desk.box_low, desk.box_high, least, most)
    # A ball of ℓ∞ is to sums of many axes what a ball of radius R‖h‖_1/‖h‖_2 is in ℓ2: good for a guess.
    lean = lean_of(offset / length, reach * size / length)
    for j in range(len(low)):
        if not high[j] > 0.0 or (low[j] >= 0.0 and not also_on):
            continue
        vector, norm = frame.vectors[j], frame.norm[j]
        part = dot(vector, normal) / length
        leaning = math.sqrt(max(0.0, frame.square[j] - part * part)) * lean
        for sign in (1.0, -1.0):
            t = multiplier(sign * part, leaning, length)
            t, value = linf_multiplier(vector, sign, normal, t if t > 0.0 else norm / size, offset, least, most)
            value = up(value + _allowance(frame, j, t, size, halfspace.slip, reach))
            bounds = (bounds[1], up(value - product_down(t, offset)))
        tighten(low, high, j, desk.center[j], desk.slack[j], bounds[0], bounds[1])


@borrowing
def lean_of(away: float, reach: float) -> float:
    """d/√(R² − d²), −∞ for half-spaces that hold the whole ball, 0 beyond it."""
    if not -reach < away < reach:
        return -np.inf if away <= -reach else 0.0
    return away / (math.sqrt(reach - away) * math.sqrt(reach + away))


@borrowing
def multiplier(part: float, leaning: float, length: float) -> float:
    """The t that is best in ℓ2: (A + C·d/√(R² − d²))/‖h‖ with A = w·h/‖h‖, C² = ‖w‖² − A²; any other is valid too."""
    t = (part + leaning) / length
    return t if 0.0 < t < np.inf else 0.0


@borrowing
def gram_distance(norm: float, inner: float, length: float, t: float) -> float:
    """‖w − t h‖² = ‖w‖² − 2t w·h + t²‖h‖², from ‖w‖ <= norm, w·h >= inner and ‖h‖ <= length, rounded up."""
    most, far = norm * norm, (t * length) * (t * length)
    square = most - 2.0 * t * inner + far
    square += 16.0 * U * (most + 2.0 * t * abs(inner) + far)
    return up(math.sqrt(square)) if square >= 0.0 else np.inf


@borrowing
def _allowance(frame: Frame, j: int, t: float, size: float, slip: float, reach: float) -> float:
    """What S(sign·w_j − t h) may exceed S(sign·v_j − t·normal) by, where ‖normal‖_* <= size.

    h = normal within `slip`, w_j = v_j within its residual, and the computed sign·v_j − t·normal is within
    4u·(t|normal_i| + |v_ji|) of the exact one, entry by entry.
    """
    rounding = up(frame.stretch * 1.02 * (4.0 * U * (up(t * size) + frame.norm[j])))
    return up(up(up(product_up(t, slip) + frame.residual[j]) + rounding) * reach)
