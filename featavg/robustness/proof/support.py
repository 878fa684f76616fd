"""How far a linear function rises over ball and box: S(v) >= max ⟨v,δ⟩, ‖δ‖ <= R, low <= δ <= high (0 is inside)."""

from __future__ import annotations

import math

import numpy as np

from featavg.robustness.proof.arithmetic import TINY, gamma, norm_up, up
from featavg.robustness.proof.compiled import borrowing
from featavg.robustness.proof.format import Floats

# A search for a good multiplier ends after so many steps, or when it moves by less than this share.
MOST_STEPS = 8
STEADY = 1e-4
# In ℓ∞: few axes, few steps where there are more, and by what factor a step goes where no end is known.
FEW_AXES, FEW_STEPS, LEAP = 64, 3, 1.6


@borrowing
def slid(vector: Floats, sign: float, direction: Floats, t: float, out: Floats) -> None:
    """Write sign·v − t h; each entry is within 3u·(t|h_i| + |result|) of the exact one."""
    for i in range(len(vector)):
        out[i] = sign * vector[i] - t * direction[i]


@borrowing
def ball_in_box(reach: float, low: Floats, high: Floats, least: Floats, most: Floats) -> None:
    """Write [low, high] ∩ [−R, R]: all that δ can be in ℓ∞."""
    for i in range(len(low)):
        least[i] = max(low[i], -reach)
        most[i] = min(high[i], reach)


@borrowing
def linf_support(
    vector: Floats, sign: float, direction: Floats, t: float, least: Floats, most: Floats
) -> tuple[float, float]:
    """ℓ∞: Σ_i max(c_i least_i, c_i most_i) for the floats c = sign·v − t h.

    All terms are >= 0, so the sum is relatively exact. The second number is ⟨h,δ⟩ at its maximiser δ, for a search.
    """
    total, along = 0.0, 0.0
    for i in range(len(vector)):
        # No branch on the sign of c, which could not be predicted: 2δ = (least + most) ± (most − least).
        lower, upper = least[i], most[i]
        c = sign * vector[i] - t * direction[i]
        total += max(c * lower, c * upper)
        along += direction[i] * (lower + upper + math.copysign(upper - lower, c))
    return up(total * (1.0 + gamma(len(vector) + 16.0)) + len(vector) * TINY), 0.5 * along


@borrowing
def l2_support(vector: Floats, sign: float, reach: float, low: Floats, high: Floats) -> float:
    """ℓ2: for any q, ⟨v,δ⟩ <= R‖v − q‖ + Σ_i max(q_i low_i, q_i high_i); here for sign·v.

    Best is q = v − clip(τv, low, high)/τ with ‖clip(τv)‖ = R; τ is found by repeating R² = τ²·(free) + (clipped).
    """
    tau = clipping(vector, sign, reach, low, high)
    kept, clipped = 0.0, 0.0
    for i in range(len(vector)):
        v = sign * vector[i]
        room = high[i] if v > 0.0 else low[i]
        q = v - room / tau if abs(room) < tau * abs(v) else 0.0
        if q * v > 0.0:
            clipped += q * room
            v -= q
        kept += v * v
    grown = 1.0 + gamma(len(vector) + 8.0)
    inside = up(math.sqrt(up(kept * grown + len(vector) * TINY)))
    return up(up(up(reach * inside) + clipped * grown) + len(vector) * TINY)


@borrowing
def clipping(vector: Floats, sign: float, reach: float, low: Floats, high: Floats) -> float:
    """τ at which ‖clip(τ·sign·v, low, high)‖ = R, nearly; ∞ where the whole box is within R."""
    tau = reach / norm_up(vector, True)
    for _ in range(MOST_STEPS):
        free, clipped = 0.0, 0.0
        for i in range(len(vector)):
            step = sign * tau * vector[i]
            inside = min(max(step, low[i]), high[i])
            same = 1.0 if inside == step else 0.0
            free += same * vector[i] * vector[i]
            clipped += (1.0 - same) * inside * inside
        left = reach * reach - clipped
        if free == 0.0 and left > 0.0:
            return np.inf  # the ball does not matter
        following = math.sqrt(left / free) if left > 0.0 else tau
        if not tau * (1.0 + STEADY) < following < np.inf:
            return tau
        tau = following
    return tau


@borrowing
def linf_multiplier(
    vector: Floats, sign: float, direction: Floats, guess: float, offset: float, least: Floats, most: Floats
) -> tuple[float, float]:
    """A good t for ℓ∞ and S(v − t h): S − tβ is convex and piecewise linear, so tangents from both sides meet near it.

    Where axes are few all kinks count; where they are many a guess is soon as good.
    """
    left, right = -np.inf, np.inf
    left_value, left_slope, right_value, right_slope = np.inf, 0.0, np.inf, 0.0
    best, best_value, best_support, t = 0.0, np.inf, np.inf, guess
    for _ in range(2 * MOST_STEPS if len(vector) <= FEW_AXES else FEW_STEPS):
        support, along = linf_support(vector, sign, direction, t, least, most)
        value, slope = support - t * offset, -along - offset
        if value < best_value:
            best, best_value, best_support = t, value, support
        if slope >= 0.0:
            right, right_value, right_slope = t, value, slope
        else:
            left, left_value, left_slope = t, value, slope
        if right == np.inf:
            t *= LEAP
        elif left == -np.inf:
            t = t / LEAP if t > guess / LEAP**2 else 0.0
            if right == 0.0:
                break
        else:
            t = (left_value - right_value + right_slope * right - left_slope * left) / (right_slope - left_slope)
            if not left + STEADY * (right - left) < t < right - STEADY * (right - left):
                break
    return best, best_support
