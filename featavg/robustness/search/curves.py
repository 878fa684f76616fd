"""Curves instead of chords, where many neurons may switch (`proof/curves.py`): a ReLU(z) + q(z − m)² from below.

For a < 0 that function is a parabola on either side of 0, with a ridge between; its convex envelope bridges the ridge
by a line between two contacts, which are ∓|a|/(4q) where the interval reaches so far. Every q_j = ρ v_j, with v scaled
so that all of them together cost ρτ², τ the radius of the ball that holds the node.
"""

from __future__ import annotations

import numpy as np

from featavg.arrays import Array
from featavg.robustness.proof.apart import apart
from featavg.robustness.proof.compiled import borrowing
from featavg.robustness.search.places import BETA, DISTANCE, LENGTH, RHO, Node, Place, Relaxed, Solution

# ρ changes by at most this factor from one relaxation to the next.
STEP = 2.0


@apart(borrowing)
def bend(place: Place, node: Node, square: float, low: Array, high: Array, relaxed: Relaxed) -> None:
    """Replace chords by bridges, after `chords`; `square` is τ²."""
    rho = node.bound[RHO]
    relaxed.cost[0], relaxed.cost[1] = rho * square, rho
    for j in range(low.size):
        a, q = place.rows[0, j], rho * place.curve[j]
        if q == 0.0:
            continue
        relaxed.bend[j], relaxed.middle[j] = q, node.middle[j]
        relaxed.least[j], relaxed.most[j] = low[j], high[j]
        if not relaxed.convex[j]:
            # One parabola, without a bridge.
            relaxed.left[j] = relaxed.right[j] = -np.inf if low[j] >= 0.0 else np.inf
            continue
        half = -0.25 * a / q
        left, right = -half, half
        if low[j] > -half:
            left, right = low[j], low[j] + np.sqrt(a * low[j] / q)
        if high[j] < right:
            left, right = max(low[j], high[j] - np.sqrt(-a * high[j] / q)), high[j]
        relaxed.left[j], relaxed.right[j] = left, right
        below, above = q * (left - node.middle[j]) ** 2, a * right + q * (right - node.middle[j]) ** 2
        line = (above - below) / (right - left)
        relaxed.slope[j], relaxed.lift[j] = line / a, (below - line * left) / a


@borrowing
def sharpen(place: Place, low: Array, high: Array, relaxed: Relaxed, solution: Solution) -> None:
    """β of the multipliers as the checker finds it: curves at their lowest points, not only at the tangents taken.

    So both go on from the same center.
    """
    mix, theta = solution.mix[0], solution.theta
    beta = mix * (place.constants[0] - relaxed.cost[0])
    for j in range(low.size):
        slope, q = mix * place.rows[0, j], mix * relaxed.bend[j]
        beta += theta[j] * place.start[j] + least_value(slope, theta[j], q, relaxed.middle[j], low[j], high[j])
    if solution.numbers[LENGTH] > 0.0:
        solution.numbers[BETA], solution.numbers[DISTANCE] = beta, beta / solution.numbers[LENGTH]


@borrowing
def least_value(slope: float, theta: float, q: float, middle: float, low: float, high: float) -> float:
    """The least of a ReLU(z) − θz + q(z − m)² over [low, high]: of one parabola, or line, on either side of 0."""
    least = np.inf
    if low < 0.0:
        least = least_parabola(-theta, q, middle, low, min(high, 0.0))
    if high > 0.0 or low >= 0.0:
        least = min(least, least_parabola(slope - theta, q, middle, max(low, 0.0), high))
    return least


@borrowing
def least_parabola(slope: float, q: float, middle: float, low: float, high: float) -> float:
    """The least of slope·z + q(z − m)² over [low, high]."""
    at = low if slope > 0.0 else high
    if q > 0.0:
        at = min(max(middle - 0.5 * slope / q, low), high)
    return slope * at + q * (at - middle) ** 2


@apart(borrowing)
def bend_again(place: Place, node: Node, square: float, relaxed: Relaxed, solution: Solution) -> None:
    """Choose the next ρ: best is the one for which Σ v_j E(z_j − m_j)² = τ², E over the contacts if z is between them.

    Widths of bridges are as 1/ρ, so that the sum is about as 1/ρ².
    """
    spread, bent = 0.0, False
    for j in range(relaxed.bend.size):
        if relaxed.bend[j] == 0.0:
            continue
        middle, left, right = relaxed.middle[j], relaxed.left[j], relaxed.right[j]
        at = min(max(solution.z[j], relaxed.least[j]), relaxed.most[j])
        bent = bent or (relaxed.convex[j] and (relaxed.least[j] < left or right < relaxed.most[j]))
        if left < at < right:
            share = (at - left) / (right - left)
            spread += place.curve[j] * ((1.0 - share) * (left - middle) ** 2 + share * (right - middle) ** 2)
        else:
            spread += place.curve[j] * (at - middle) ** 2
    # Where all bridges are chords, what is gained is as ρ: so nothing should be, or more.
    node.bound[RHO] *= min(max(np.sqrt(spread / square), 1.0 / STEP), STEP) if bent or spread > square else 0.0
