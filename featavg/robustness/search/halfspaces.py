"""One half-space ⟨h,δ⟩ + β <= 0 in a box around 0: its least distance, and what the box leaves of δ = −h.

The room of axis i is how far δ_i may go against h_i.
"""

from __future__ import annotations

import numpy as np

from featavg.arrays import Array
from featavg.robustness.proof.compiled import borrowing, entry
from featavg.robustness.search.places import Axes, Place

MOST_STEPS = 80


@entry
def least_radius(normal: Array, beta: float, low: Array, high: Array) -> float:
    """ℓ∞: the least R with Σ|h_i| min(R, room_i) >= β; ∞ if there is none.

    The sum is concave in R, so that Newton's method climbs to R from below and ends after finitely many steps.
    """
    radius = 0.0
    for _ in range(MOST_STEPS):
        taken = slope = 0.0
        for i in range(normal.size):
            size, room = abs(normal[i]), -low[i] if normal[i] > 0.0 else high[i]
            if room > radius:
                slope += size
            else:
                taken += size * room
        if slope == 0.0:
            return np.inf if beta > taken else radius
        following = (beta - taken) / slope
        if following <= radius:
            break
        radius = following
    return radius


@borrowing
def most_taken(normal: Array, low: Array, high: Array, noise: float) -> float:
    """Σ|h_i| room_i, what the whole box can take of ⟨h,δ⟩; entries of h up to `noise` are rounding."""
    total = 0.0
    for i in range(normal.size):
        size = abs(normal[i])
        if size > noise:
            total += size * (-low[i] if normal[i] > 0.0 else high[i])
    return total


@entry
def level_of(axes: Axes, price: float, guess: float) -> tuple[float, int]:
    """R at which Σ max(|g_i| − R, 0), over the axes with more room than R, falls to `price`; how many axes those are.

    0 axes where a side of the box stops R: there the sum jumps across the price. `size` is |g|, `stop` what is less of
    it and the room. Newton's method, between ends that are known, with the stops ahead where it fails.
    """
    size, stop = axes.size, axes.stop
    below, above, level = 0.0, np.inf, guess
    for turn in range(MOST_STEPS):
        total, count = excess_over(size, stop, level)
        following = level + (total - price) / max(count, 1)
        if count > 0 and (abs(total - price) <= 1e-13 * price or abs(following - level) <= 1e-15 * level):
            return following, count
        if total > price:
            below = level
            if above < np.inf:
                following = min(following, stop_ahead(stop, level))
        else:
            above = level
            edge = 0.0
            for i in range(size.size if turn > 0 else 0):
                edge += size[i] - level if stop[i] == level else 0.0
            if price <= total + edge or above - below <= 1e-15 * above:
                return level, 0
        if above < np.inf and (turn % 4 == 3 or not below < following < above):
            following = 0.5 * (below + above)
        level = following
    return level, 0


@borrowing
def excess_over(size: Array, stop: Array, level: float) -> tuple[float, int]:
    """Σ (size_i − level) over the axes whose stop is beyond the level, in two sums, and their number."""
    first = second = 0.0
    count, even = 0, size.size - size.size % 2
    for i in range(0, even, 2):
        first += size[i] if stop[i] > level else 0.0
        count += 1 if stop[i] > level else 0
        second += size[i + 1] if stop[i + 1] > level else 0.0
        count += 1 if stop[i + 1] > level else 0
    if even < size.size and stop[even] > level:
        first += size[even]
        count += 1
    return first + second - level * count, count


@borrowing
def stop_ahead(stop: Array, level: float) -> float:
    """The next stop beyond the level."""
    ahead = np.inf
    for i in range(stop.size):
        if level < stop[i] < ahead:
            ahead = stop[i]
    return ahead


@entry
def settle(place: Place, price: float, axes: Axes) -> None:
    """Write the δ of the box with the least ½‖δ − p‖² + price·‖δ‖∞ + ⟨h,δ⟩, and how it answers to changes of h.

    `free` are the axes that follow −g = p − h, `held` (±1) those at the level R = ‖δ‖∞, which all move together.
    """
    size, stop, delta, level, count = axes.size, axes.stop, axes.delta, np.inf, 0
    for i in range(size.size):
        pull = axes.normal[i] - axes.center[i]
        size[i] = abs(pull)
        stop[i] = min(size[i], -place.low[i] if pull > 0.0 else place.high[i])
        delta[i] = -1.0 if pull > 0.0 else 1.0
    if price > 0.0:
        level, count = level_of(axes, price, axes.level[0])
    axes.level[0], axes.holding[0] = level, count
    for i in range(size.size):
        axes.free[i] = 1.0 if size[i] == stop[i] < level else 0.0
        axes.held[i] = delta[i] if count > 0 and stop[i] > level else 0.0
        delta[i] *= min(stop[i], level)
