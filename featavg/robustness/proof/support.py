"""How far a linear function rises over ball and box: S(v) >= max ⟨v,δ⟩, ‖δ‖ <= R, low <= δ <= high (0 is inside)."""

from __future__ import annotations

import math

import numpy as np

from featavg.robustness.proof.arithmetic import SMALL, gamma, norm_up, up
from featavg.robustness.proof.compiled import borrowing, summing
from featavg.robustness.proof.format import Floats

# A search for a good number that is free ends after so many steps, or when it moves by less than this share.
MOST_STEPS, STEADY = 8, 1e-4
# In ℓ∞: what may be missing of the best bound, by what factor a step goes where no end is known, and how that grows.
CLOSE, LEAP, FASTER = 1e-2, 1.6, 1.5


@borrowing
def less(value: float, sign: float, step: float, t: float) -> float:
    """sign·v − t h of one axis; no sum, so the compiler leaves it as it is."""
    return sign * value - t * step


@borrowing
def slid(vector: Floats, sign: float, direction: Floats, t: float, out: Floats) -> None:
    """Write sign·v − t h; each entry is within 3u·(t|h_i| + |result|) of the exact one."""
    for i in range(len(vector)):
        out[i] = less(vector[i], sign, direction[i], t)


@borrowing
def ball_in_box(reach: float, low: Floats, high: Floats, least: Floats, most: Floats) -> None:
    """Write [low, high] ∩ [−R, R]: all that δ can be in ℓ∞."""
    for i in range(len(low)):
        least[i] = max(low[i], -reach)
        most[i] = min(high[i], reach)


@borrowing
def is_open(low: Floats, high: Floats) -> bool:
    """Whether there is no box."""
    ends = False
    for i in range(len(low)):
        ends = ends or low[i] > -np.inf or high[i] < np.inf
    return not ends


@borrowing
def linf_support(
    vector: Floats, sign: float, direction: Floats, t: float, least: Floats, most: Floats
) -> tuple[float, float]:
    """ℓ∞: Σ_i max(c_i least_i, c_i most_i) for the floats c = sign·v − t h.

    All terms are >= 0, so the sum is relatively exact. The second number is ⟨h,δ⟩ at its maximiser δ, for a search.
    """
    total, along = linf_sums(vector, sign, direction, t, least, most)
    return up(total * (1.0 + gamma(len(vector) + 16.0)) + len(vector) * SMALL), 0.5 * along


@summing
def linf_sums(
    vector: Floats, sign: float, direction: Floats, t: float, least: Floats, most: Floats
) -> tuple[float, float]:
    """Σ max(c_i least_i, c_i most_i) and 2⟨h,δ⟩, without a branch: 2δ = (least + most) ± (most − least)."""
    total, along = 0.0, 0.0
    for i in range(len(vector)):
        lower, upper = least[i], most[i]
        c = less(vector[i], sign, direction[i], t)
        total += max(c * lower, c * upper)
        along += direction[i] * (lower + upper + math.copysign(upper - lower, c))
    return total, along


@borrowing
def l2_support(vector: Floats, sign: float, reach: float, low: Floats, high: Floats) -> float:
    """ℓ2: for any q, ⟨v,δ⟩ <= R‖v − q‖ + Σ_i max(q_i low_i, q_i high_i); here for sign·v.

    Best is q = v − clip(τv, low, high)/τ with ‖clip(τv)‖ = R; τ is found by repeating R² = τ²·(free) + (clipped).
    """
    tau = clipping(vector, sign, reach, low, high)
    kept, clipped = l2_sums(vector, sign, tau, low, high)
    grown = 1.0 + gamma(len(vector) + 8.0)
    inside = up(math.sqrt(up(kept * grown + len(vector) * SMALL)))
    return up(up(up(reach * inside) + clipped * grown) + len(vector) * SMALL)


@summing
def l2_sums(vector: Floats, sign: float, tau: float, low: Floats, high: Floats) -> tuple[float, float]:
    """Σ (v_i − q_i)² and Σ q_i room_i."""
    kept, clipped = 0.0, 0.0
    for i in range(len(vector)):
        v = sign * vector[i]
        room = high[i] if v > 0.0 else low[i]
        q, left = parted(v, room, tau, 1.0 / tau)
        clipped += q * room if q != 0.0 else 0.0
        kept += left * left
    return kept, clipped


@borrowing
def parted(v: float, room: float, tau: float, inverse: float) -> tuple[float, float]:
    """q = v − room/τ where that is of the sign of v and the room is less than τ|v|, or else 0; and v − q."""
    q = v - room * inverse if abs(room) < tau * abs(v) else 0.0
    q = q if q * v > 0.0 else 0.0
    return q, v - q


@borrowing
def clipping(vector: Floats, sign: float, reach: float, low: Floats, high: Floats) -> float:
    """τ at which ‖clip(τ·sign·v, low, high)‖ = R, nearly; ∞ where the whole box is within R."""
    tau = reach / norm_up(vector, True)
    for _ in range(MOST_STEPS):
        free, clipped = clipped_sums(vector, sign * tau, low, high)
        left = reach * reach - clipped
        if free == 0.0 and left > 0.0:
            return np.inf  # the ball does not matter
        following = math.sqrt(left / free) if left > 0.0 else tau
        if not tau * (1.0 + STEADY) < following < np.inf:
            return tau
        tau = following
    return tau


@summing
def clipped_sums(vector: Floats, tau: float, low: Floats, high: Floats) -> tuple[float, float]:
    """Σ v_i² where τv_i is in the box, and Σ clip(τv_i)² over the others."""
    free, clipped = 0.0, 0.0
    for i in range(len(vector)):
        step = tau * vector[i]
        inside = low[i] if step < low[i] else high[i] if step > high[i] else step
        free += vector[i] * vector[i] if inside == step else 0.0
        clipped += inside * inside if inside != step else 0.0
    return free, clipped


@borrowing
def linf_multiplier(
    vector: Floats, sign: float, direction: Floats, guess: float, offset: float, least: Floats, most: Floats
) -> tuple[float, float]:
    """A good t for ℓ∞ and S(v − t h): S − tβ is convex, so nothing is below the point at which tangents meet."""
    left, right, leap = -np.inf, np.inf, LEAP
    left_value, left_slope, right_value, right_slope = np.inf, 0.0, np.inf, 0.0
    best, best_value, best_support, t = 0.0, np.inf, np.inf, guess
    for _ in range(MOST_STEPS):
        support, along = linf_support(vector, sign, direction, t, least, most)
        value, slope = support - t * offset, -along - offset
        if value < best_value:
            best, best_value, best_support = t, value, support
        if slope >= 0.0:
            right, right_value, right_slope = t, value, slope
        else:
            left, left_value, left_slope = t, value, slope
        if right == np.inf:
            t, leap = t * leap, leap * FASTER
        elif left == -np.inf:
            if right == 0.0:
                break
            t, leap = t / leap if t > guess / LEAP**2 else 0.0, leap * FASTER
        else:
            t = (left_value - right_value + right_slope * right - left_slope * left) / (right_slope - left_slope)
            if best_value - (left_value + left_slope * (t - left)) <= CLOSE * abs(best_value) or not left < t < right:
                break
    return best, best_support
