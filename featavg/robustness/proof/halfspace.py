"""Rules about the half-space ⟨h,δ⟩ + β <= 0, h = Wᵀθ: its normal enclosed, what a box takes of it, its distance."""

from __future__ import annotations

import math

import numpy as np

from featavg.arrays import Ints
from featavg.robustness.proof.arithmetic import (
    SMALL,
    TINY,
    U,
    clear,
    dot,
    down,
    gamma,
    norm_up,
    two_product,
    two_sum,
    up,
)
from featavg.robustness.proof.compiled import borrowing
from featavg.robustness.proof.desk import Desk, Halfspace
from featavg.robustness.proof.format import Floats
from featavg.robustness.proof.frames import Frame
from featavg.robustness.proof.intervals import support_of, weighted


@borrowing
def halfspace_of(frame: Frame, desk: Desk, offset: float, box_step: float) -> Halfspace:
    """⟨h,δ⟩ + offset <= 0 with h = Wᵀθ, from inner products where the frame has them."""
    count = support_of(desk.theta, frame.norm, desk.support)
    weight = weighted(desk.theta, frame.norm)
    lost = weighted(desk.theta, frame.residual)
    if len(frame.gram):
        look(frame.gram, desk.theta, desk.support, count, desk.seen)
        length = gram_length(frame.gram_error, desk.theta, desk.seen, count, weight)
        return Halfspace(offset, offset, up(length + lost), lost, weight, count)
    if frame.compensated:
        fine_direction(frame.vectors, desk.theta, desk.support, count, desk.direction, desk.direction_low)
        share = 2.0 * gamma(count + 2.0) ** 2
        rounding = up(U * 1.01 * norm_up(desk.direction, frame.euclidean))
    else:
        look(frame.vectors, desk.theta, desk.support, count, desk.direction)
        share, rounding = gamma(count + 1.0), 0.0
    slip = up(up(1.01 * share * weight) + rounding + 16.0 * count * len(desk.direction) * SMALL)
    slip = up(up(frame.stretch * slip) + lost)
    if len(desk.box_low):
        taken = take_box(frame.euclidean, desk.direction, desk.box_low, desk.box_high, box_step, desk.remainder)
        length = up(norm_up(desk.remainder, frame.euclidean) * (1.0 + 4.0 * U) + slip)
        return Halfspace(offset, down(offset + taken), length, slip, weight, count)
    length = up(up(frame.stretch * norm_up(desk.direction, frame.euclidean)) + slip)
    return Halfspace(offset, offset, length, slip, weight, count)


@borrowing
def gram_length(gram_error: float, theta: Floats, seen: Floats, count: int, weight: float) -> float:
    """‖h‖² = θᵀGθ; with T = Σ|θ|‖w‖ the computed Gθ is within share·‖w_j‖·T and θᵀGθ within 2·share·T².

    All but `count` of the products are exactly 0.
    """
    square = up(dot(theta, seen) + up(2.0 * gram_share(gram_error, count) * weight) * weight + TINY)
    # An overflow makes the sum NaN: the length is then unknown, not 0.
    return up(math.sqrt(square)) if square >= 0.0 else np.inf


@borrowing
def gram_share(gram_error: float, count: int) -> float:
    """Relative error of (Gθ)_j: that of the Gram matrix and of a sum of `count` products."""
    return 1.01 * (gram_error + gamma(count + 4.0))


@borrowing
def look(gram: Floats, theta: Floats, support: Ints, count: int, seen: Floats) -> None:
    """Write Gθ, nearly w_j·h for every neuron j, or h from vectors: within gamma(n + 1)·Σ|θ_j||g_ji|, n = `count`.

    Four rows at a time.
    """
    clear(seen)
    whole = count - count % 4
    for k in range(0, whole, 4):
        first, second = gram[support[k]], gram[support[k + 1]]
        third, fourth = gram[support[k + 2]], gram[support[k + 3]]
        a, b, c, d = theta[support[k]], theta[support[k + 1]], theta[support[k + 2]], theta[support[k + 3]]
        for j in range(len(seen)):
            seen[j] += (a * first[j] + b * second[j]) + (c * third[j] + d * fourth[j])
    for k in range(whole, count):
        last, factor = gram[support[k]], theta[support[k]]
        for j in range(len(seen)):
            seen[j] += factor * last[j]


@borrowing
def fine_direction(vectors: Floats, theta: Floats, support: Ints, count: int, high: Floats, low: Floats) -> None:
    """h in double-double, rounded to floats: relative error u beside 2·gamma(n + 2)²·Σ|θ_j||v_ji| (Dot2)."""
    clear(high)
    clear(low)
    for k in range(count):
        factor, vector = theta[support[k]], vectors[support[k]]
        for i in range(len(high)):
            p, e = two_product(factor, vector[i])
            s, f = two_sum(high[i], p)
            high[i] = s
            low[i] += e + f
    for i in range(len(high)):
        high[i] += low[i]


@borrowing
def take_box(euclidean: bool, h: Floats, low: Floats, high: Floats, step: float, remainder: Floats) -> float:
    """For any q: ⟨h,δ⟩ >= ⟨h − q,δ⟩ + Σ_i min(q_i low_i, q_i high_i) in the box; that sum, rounded down.

    ℓ2: q = h + clip(−t h, low, high)/t, so that h − q = −δ/t at the nearest point δ. ℓ∞: q_i = h_i where the room
    against h_i is less than t. t = 0: q = 0. Where q_i h_i > 0 and low <= 0 <= high, the minimum is q_i times the
    room against h_i. The remainder h − q is written.
    """
    total, size = 0.0, 0.0
    plain = not 0.0 < step < np.inf
    for i in range(len(h)):
        remainder[i] = h[i]
        if plain or h[i] == 0.0:
            continue
        room = low[i] if h[i] > 0.0 else high[i]
        if abs(room) < (step * abs(h[i]) if euclidean else step):
            q = h[i] + room / step if euclidean else h[i]
            if q * h[i] > 0.0:
                remainder[i] = h[i] - q
                total += q * room
                size += abs(q * room)
    return down(total - up(size * gamma(len(h) + 4.0)) - len(h) * SMALL)


@borrowing
def distance(halfspace: Halfspace) -> float:
    """Every δ of the half-space has ‖δ‖ >= β/‖h‖_*, and none is there if h = 0 and β > 0."""
    if not halfspace.offset_in_box > 0.0:
        return 0.0
    if halfspace.terms == 0:
        return np.inf
    least = down(halfspace.offset_in_box / halfspace.length)
    return least if least > 0.0 else 0.0
