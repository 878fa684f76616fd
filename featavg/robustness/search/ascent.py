"""The dual of the nearest point in a box: a concave function of few multipliers, raised by Newton's method.

    min ½‖δ − p‖² + price·‖δ‖∞  over the box, subject to ⟨h_k,δ⟩ + value_k <= 0 for every piece k

With h = Σ_k u_k h_k the inner minimum over δ is separable (`settle`), the derivative by u_k is value_k + ⟨h_k,δ⟩, and
the second one −⟨h_k,h_l⟩ over the axes that are free, beside one term for those that are held at ‖δ‖∞.
"""

from __future__ import annotations

import numpy as np

from featavg.arrays import Array
from featavg.robustness.proof.arithmetic import clear, copy, dot
from featavg.robustness.proof.compiled import NOWHERE, borrowing, summing
from featavg.robustness.search.halfspaces import most_taken, settle
from featavg.robustness.search.places import Axes, Pieces, Place
from featavg.robustness.search.products import add_multiple

MOST_STEPS, MOST_TRIALS = 30, 12
# A derivative counts as 0 below this share of the terms that it is made of.
FLAT = 2e-14
# Below so many times that, one that falls no further is rounding too.
STALLED = 20.0
# A step along a line is good enough where this share of the slope is left.
ENOUGH = 0.2
# A first trial changes h by at most so many times its size.
FARTHEST = 4.0
# Of a piece's length, what is at least taken to be left of it beside the others: free axes may be fewer than pieces.
INDEPENDENT = 1e-13


@borrowing
def ascend(place: Place, pieces: Pieces, count: int, price: float, axes: Axes) -> tuple[int, bool]:
    """Raise the dual over the first `count` pieces to its maximum; how many are left, and whether the box is empty."""
    multiplier, change, before = pieces.multiplier, pieces.response, np.inf
    for _ in range(MOST_STEPS):
        combine(pieces, multiplier, count, axes.normal)
        settle(place, price, axes)
        if is_empty(place, pieces, count, axes):
            return count, True
        steepest = slopes(pieces, count, axes, price)
        if steepest <= 1.0 or 0.5 * before < steepest < STALLED:
            break
        before = steepest
        respond(pieces, count, axes)
        combine(pieces, change, count, axes.change)
        slope = limit = 0.0
        dropped = NOWHERE
        for k in range(count):
            slope += change[k] * pieces.forward[k]
            if change[k] < 0.0 and (dropped < 0 or multiplier[k] < -limit * change[k]):
                limit, dropped = -multiplier[k] / change[k], k
        if dropped < 0:
            limit = np.inf
        if not slope > 0.0:
            break
        step = along(place, price, axes, slope, limit)
        for k in range(count):
            multiplier[k] += step * change[k]
        if step == limit:
            leave(pieces, dropped, count)
            count -= 1
    return count, False


@borrowing
def combine(pieces: Pieces, factors: Array, count: int, out: Array) -> None:
    """Σ_k factor_k h_k."""
    clear(out)
    for k in range(count):
        add_multiple(factors[k], pieces.normal[pieces.order[k]], out)


@borrowing
def is_empty(place: Place, pieces: Pieces, count: int, axes: Axes) -> bool:
    """Whether the half-space of the multipliers misses the box."""
    beta = weight = 0.0
    for k in range(count):
        beta += pieces.multiplier[k] * pieces.value[pieces.order[k]]
        weight += pieces.multiplier[k] * pieces.weight[pieces.order[k]]
    return beta > most_taken(axes.normal, place.low, place.high, 1e-15 * weight) + 1e-13 * beta


@borrowing
def slopes(pieces: Pieces, count: int, axes: Axes, price: float) -> float:
    """Derivatives by the multipliers; the largest in units of what rounding leaves of it."""
    most = 0.0
    size = axes.level[0] if price > 0.0 else np.sqrt(dot(axes.delta, axes.delta))
    for k in range(count):
        slot = pieces.order[k]
        pieces.forward[k] = pieces.value[slot] + dot(pieces.normal[slot], axes.delta)
        noise = FLAT * (abs(pieces.value[slot]) + pieces.weight[slot] * size) + 1e-300
        if pieces.multiplier[k] > 0.0 or pieces.forward[k] > 0.0:
            most = max(most, abs(pieces.forward[k]) / noise)
    return most


@borrowing
def respond(pieces: Pieces, count: int, axes: Axes) -> None:
    """Newton's step K du = slopes, K = BBᵀ: row k of B is h_k over the free axes, and one entry for those held.

    B = LQ by Gram and Schmidt's method, which keeps the digits of rows that nearly agree; then LLᵀ du = slopes.
    """
    factor, change, share, free = pieces.factor, pieces.response, 1.0 / np.sqrt(max(axes.holding[0], 1)), axes.free
    for k in range(count):
        normal, row = pieces.normal[pieces.order[k]], pieces.ortho[k]
        for i in range(row.size - 1):
            row[i] = free[i] * normal[i]
        row[row.size - 1] = share * dot(axes.held, normal)
        for i in range(k):
            factor[k, i] = dot(row, pieces.ortho[i])
            add_multiple(-factor[k, i], pieces.ortho[i], row)
        factor[k, k] = max(np.sqrt(dot(row, row)), np.sqrt(dot(normal, normal)) * INDEPENDENT, 1e-150)
        for i in range(row.size):
            row[i] /= factor[k, k]
    for k in range(count):
        value = pieces.forward[k]
        for i in range(k):
            value -= factor[k, i] * change[i]
        change[k] = value / factor[k, k]
    for k in range(count - 1, -1, -1):
        value = change[k]
        for i in range(k + 1, count):
            value -= factor[i, k] * change[i]
        change[k] = value / factor[k, k]


@borrowing
def along(place: Place, price: float, axes: Axes, slope: float, limit: float) -> float:
    """A step in (0, limit] along the change of h at which the dual's slope is nearly 0, or `limit` if it rises on."""
    start, change, normal = axes.start, axes.change, axes.normal
    copy(normal, start)
    constant, most, scale = slope - dot(change, axes.delta), 0.0, 0.0
    for i in range(normal.size):
        most, scale = max(most, abs(change[i])), max(scale, abs(start[i]))
    # Where fewer axes are free than there are pieces Newton's step is boundless.
    step = min(1.0, limit, FARTHEST * scale / most if most > 0.0 else 1.0)
    below, above = 0.0, np.inf
    below_slope, above_slope, good = slope, 0.0, 0.0
    for _ in range(MOST_TRIALS):
        for i in range(normal.size):
            normal[i] = start[i] + step * change[i]
        settle(place, price, axes)
        here = constant + dot(change, axes.delta)
        if abs(here) <= ENOUGH * slope or (here > 0.0 and step == limit):
            return step
        held = dot(axes.held, change)
        curve = squares_over(axes.free, change) + held * held / max(axes.holding[0], 1)
        if here > 0.0:
            below, below_slope, good = step, here, step
        else:
            above, above_slope = step, here
        following = step + here / curve if curve > 0.0 else np.inf
        if above < np.inf:
            if not below + 0.01 * (above - below) < following < above - 0.01 * (above - below):
                following = below + (above - below) * max(0.05, min(0.95, below_slope / (below_slope - above_slope)))
        else:
            following = min(max(following, 2.0 * step), 100.0 * step, limit)
        step = following
    return good if good > 0.0 else below + 0.5 * (above - below)


@summing
def squares_over(free: Array, change: Array) -> float:
    """Σ change_i² over the axes that are free."""
    total = 0.0
    for i in range(free.size):
        total += free[i] * change[i] * change[i]
    return total


@borrowing
def leave(pieces: Pieces, position: int, count: int) -> None:
    """Take one piece out of the active ones; its slot goes behind them."""
    slot = pieces.order[position]
    for k in range(position, count - 1):
        pieces.order[k] = pieces.order[k + 1]
        pieces.multiplier[k] = pieces.multiplier[k + 1]
    pieces.order[count - 1] = slot
    pieces.multiplier[count - 1] = 0.0
