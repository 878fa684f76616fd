"""The rule of the cap: a half-space ⟨h,δ⟩ + β <= 0 cuts a cap off the ball, over which undecided neurons move less.

For any t >= 0 and every δ in ball, box and half-space

    ⟨w,δ⟩ = ⟨w − t h,δ⟩ + t⟨h,δ⟩ <= S(w − t h) − tβ,    S(v) >= max of ⟨v,δ⟩ over ball and box,

and −⟨w,δ⟩ likewise. ℓ2: S(v) = R‖v‖, and the half-space is the one that the box left, ⟨h − q,δ⟩ + β' <= 0; ℓ∞: S is
exact for ball and box. Neurons whose sign is decided are left alone: a cut with the right θ pays nothing for them.
"""

from __future__ import annotations

import math

import numpy as np

from featavg.robustness.proof.arithmetic import U, dot, norm_up, product_down, product_up, up
from featavg.robustness.proof.compiled import borrowing
from featavg.robustness.proof.desk import Desk, Halfspace
from featavg.robustness.proof.format import Floats
from featavg.robustness.proof.frames import Frame
from featavg.robustness.proof.halfspace import gram_share
from featavg.robustness.proof.intervals import tighten
from featavg.robustness.proof.support import ball_in_box, l2_support, linf_multiplier, linf_support, slid


@borrowing
def within_box(frame: Frame, desk: Desk, reach: float, low: Floats, high: Floats) -> None:
    """What ball and box together leave of the interval of every undecided neuron: ±⟨w_j,δ⟩ <= S(±w_j)."""
    bounds = (0.0, 0.0)
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
def cap(frame: Frame, desk: Desk, halfspace: Halfspace, reach: float, low: Floats, high: Floats) -> None:
    """Tighten the interval of every undecided neuron: ±⟨w_j,δ⟩ <= S(±w_j − t h) − tβ."""
    terms, length = halfspace.terms, halfspace.length
    away = halfspace.offset_in_box / length if terms else np.inf
    if not away < reach < np.inf:
        return
    lean = lean_of(away, reach)
    normal = desk.remainder if frame.euclidean and len(desk.box_low) else desk.direction
    size = 0.0 if len(frame.gram) else norm_up(normal, frame.euclidean)
    if not frame.euclidean:
        ball_in_box(reach, desk.box_low, desk.box_high, desk.direction_low, desk.remainder)
        # A ball of ℓ∞ is to sums of many axes what a ball of radius R‖h‖_1/‖h‖_2 is in ℓ2: good for a guess.
        length = norm_up(normal, True)
        lean = lean_of(halfspace.offset / length, reach * size / length)
    bounds = (0.0, 0.0)
    for j in range(len(low)):
        if not low[j] < 0.0 < high[j]:
            continue
        norm = frame.norm[j]
        along = desk.seen[j] if len(frame.gram) else dot(frame.vectors[j], normal)
        part = along / length
        leaning = math.sqrt(max(0.0, frame.square[j] - part * part)) * lean
        for sign in (1.0, -1.0):
            offset = halfspace.offset_in_box
            t = multiplier(sign * part, leaning, length)
            if len(frame.gram):
                doubt = up(gram_share(frame.gram_error, terms) * halfspace.weight * norm)
                far = gram_distance(norm, sign * along - doubt, length, t)
                value = up(up(far + up(frame.residual[j] + product_up(t, halfspace.slip))) * reach)
            elif frame.euclidean:
                slid(frame.vectors[j], sign, normal, t, desk.direction_low)
                value = up(up(frame.stretch * norm_up(desk.direction_low, True)) * reach)
                value = up(value + _allowance(frame, j, t, size, halfspace.slip, reach))
            else:
                vector, least, most, offset = frame.vectors[j], desk.direction_low, desk.remainder, halfspace.offset
                guess = t if t > 0.0 else norm / size
                t, value = linf_multiplier(vector, sign, desk.direction, guess, offset, least, most)
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
