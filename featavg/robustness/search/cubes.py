"""What ball and box leave of the intervals of z, and in ℓ∞ what a half-space leaves: the checker's own numbers.

The same functions as the checker's, so that it finds what the search found (`proof/caps.py`).
"""

from __future__ import annotations

import numpy as np

from featavg.arrays import Array
from featavg.robustness.proof.apart import apart
from featavg.robustness.proof.arithmetic import copy, dot
from featavg.robustness.proof.caps import lean_of, multiplier
from featavg.robustness.proof.compiled import borrowing
from featavg.robustness.proof.support import ball_in_box, is_open, l2_support, linf_multiplier, linf_support
from featavg.robustness.search.caps import ROUNDING
from featavg.robustness.search.in_box import combined
from featavg.robustness.search.places import BETA, Axes, Node, Place, Relaxed, Solution, Space


@apart(borrowing)
def within_box(space: Space, place: Place, reach: float, axes: Axes, low: Array, high: Array) -> None:
    """Intersect with the range of z over ball and box."""
    if not place.euclidean and is_open(place.low, place.high):
        return
    ball_in_box(reach, place.low, place.high, axes.least, axes.most)
    for j in range(low.size):
        vector, rise, fall = space.weights[j], 0.0, 0.0
        if abs(place.start[j]) >= space.norms[j] * reach:
            continue
        if place.euclidean:
            rise = l2_support(vector, 1.0, reach, place.low, place.high)
            fall = l2_support(vector, -1.0, reach, place.low, place.high)
        else:
            rise, _ = linf_support(vector, 1.0, vector, 0.0, axes.least, axes.most)
            fall, _ = linf_support(vector, -1.0, vector, 0.0, axes.least, axes.most)
        low[j] = max(low[j], place.start[j] - fall)
        high[j] = min(high[j], place.start[j] + rise)


@apart(borrowing)
def within_cube(
    space: Space, place: Place, solution: Solution, reach: float, axes: Axes, low: Array, high: Array
) -> bool:
    """Intersect with the range of z over ball, box and ⟨h,δ⟩ + β <= 0 in ℓ∞; tell whether nothing is left."""
    combined(space, solution.theta, axes)
    normal, beta, empty = axes.normal, solution.numbers[BETA], False
    length, size = np.sqrt(dot(normal, normal)), 0.0
    for i in range(normal.size):
        size += abs(normal[i])
    if not length > 0.0:
        return beta > 0.0
    ball_in_box(reach, place.low, place.high, axes.least, axes.most)
    lean = lean_of(beta / length, reach * size / length)
    for j in range(low.size):
        if not low[j] < 0.0 < high[j]:
            continue
        vector, rise, fall = space.weights[j], 0.0, 0.0
        part = dot(vector, normal) / length
        leaning = np.sqrt(max(0.0, space.squares[j] - part * part)) * lean
        for sign in (1.0, -1.0):
            t = multiplier(sign * part, leaning, length)
            t, value = linf_multiplier(
                vector, sign, normal, t if t > 0.0 else space.norms[j] / size, beta, axes.least, axes.most
            )
            rise, fall = fall, value - t * beta
        low[j] = max(low[j], place.start[j] - fall)
        high[j] = min(high[j], place.start[j] + rise)
        empty = empty or low[j] > high[j] + ROUNDING * space.norms[j] * reach
    return empty


@apart(borrowing)
def best_in_cube(
    space: Space, place: Place, node: Node, relaxed: Relaxed, solution: Solution, reach: float, axes: Axes
) -> int:
    """The neuron with the largest product of the gains of both children, −1 if no chord is left.

    As `best_branch`: in a child the chord of neuron j is gone; θ_j stays, or goes to 0 (off) or a_j (on).
    """
    combined(space, solution.theta, axes)
    copy(axes.normal, axes.start)
    chosen, most, now = -1, -1.0, worth(place, solution.numbers[BETA], reach, axes)
    missing = max(-now, 1e-300)
    for j in range(place.start.size):
        if not node.low[j] < 0.0 < node.high[j]:
            continue
        below = above = 0.0
        for i in range(place.constants.size):
            below += solution.mix[i] * min(place.rows[i, j], 0.0)
            above += solution.mix[i] * max(place.rows[i, j], 0.0)
        if below == 0.0:
            continue
        base, score = solution.numbers[BETA] - below * relaxed.lift[j], 1.0
        copy(axes.start, axes.normal)
        stay = worth(place, base, reach, axes)
        for side in range(2):
            change = (below + above if side == 1 else 0.0) - solution.theta[j]
            for i in range(axes.normal.size):
                axes.normal[i] = axes.start[i] + change * space.weights[j, i]
            value = max(stay, worth(place, base + change * place.start[j], reach, axes))
            score *= min(max(value - now, 1e-6 * missing), missing)
        if score > most:
            chosen, most = j, score
    return chosen


@borrowing
def worth(place: Place, beta: float, reach: float, axes: Axes) -> float:
    """The least ⟨h,δ⟩ + β in ball and box, over ‖h‖₁: 0 and more where nothing is left."""
    taken = size = 0.0
    for i in range(axes.normal.size):
        here = abs(axes.normal[i])
        taken += here * min(reach, -place.low[i] if axes.normal[i] > 0.0 else place.high[i])
        size += here
    return (beta - taken) / max(size, 1e-300)
