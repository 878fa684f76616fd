"""One half-space ⟨h,δ⟩ + β <= 0 in a box around 0: its least distance, and what the box leaves of δ = −h.

The room of axis i is how far δ_i may go against h_i.
"""

from __future__ import annotations

import numpy as np

from featavg.arrays import Array
from featavg.robustness.proof.compiled import borrowing, entry, summing
from featavg.robustness.search.places import Axes, Place

MOST_STEPS = 80


@entry
def least_radius(normal: Array, beta: float, low: Array, high: Array) -> float:
    """ℓ∞: the least R with Σ|h_i| min(R, room_i) >= β; ∞ if there is none.

    The sum is concave in R, so that Newton's method climbs to R from below and ends after finitely many steps.
    """
    radius = 0.0
    for _ in range(MOST_STEPS):
        taken, slope = taken_within(normal, radius, low, high)
        if slope == 0.0:
            return np.inf if beta > taken else radius
        following = (beta - taken) / slope
        if following <= radius:
            break
        radius = following
    return radius


@summing
def taken_within(normal: Array, radius: float, low: Array, high: Array) -> tuple[float, float]:
    """Σ|h_i| room_i over the axes with no more room than the radius, and Σ|h_i| over the others."""
    taken = slope = 0.0
    for i in range(normal.size):
        size, room = abs(normal[i]), -low[i] if normal[i] > 0.0 else high[i]
        slope += size if room > radius else 0.0
        taken += 0.0 if room > radius else size * room
    return taken, slope


@summing
def most_taken(normal: Array, low: Array, high: Array, noise: float) -> float:
    """Σ|h_i| room_i, what the whole box can take of ⟨h,δ⟩; entries of h up to `noise` are rounding."""
    total = 0.0
    for i in range(normal.size):
        size, room = abs(normal[i]), -low[i] if normal[i] > 0.0 else high[i]
        total += size * room if size > noise else 0.0
    return total


@entry
def level_of(axes: Axes, price: float, guess: float) -> tuple[float, int]:
    """R at which Σ max(|g_i| − R, 0), over the axes with more room than R, falls to `price`; how many axes those are.

    0 axes where a side of the box stops R: there the sum jumps across the price. `size` is |g|, `stop` what is less of
    it and the room. Newton's method, between ends that are known, with the sides of the box ahead where it fails.
    """
    size, stop = axes.size, axes.stop
    below, above, level = -1.0, np.inf, guess
    for turn in range(MOST_STEPS):
        total, count = excess_over(size, stop, level)
        following = level + (total - price) / max(count, 1)
        if count > 0 and (abs(total - price) <= 1e-13 * price or abs(following - level) <= 1e-15 * level):
            return following, count
        if total > price:
            below = level
            if above < np.inf:
                following = min(following, side_ahead(size, stop, level))
        else:
            above = level
            if level == 0.0 or price <= total + stopped_at(size, stop, level) or above - below <= 1e-15 * above:
                return level, 0
        if above < np.inf and (turn % 4 == 3 or not below < following < above):
            following = 0.5 * (below + above)
        level = max(following, 0.0)
    return level, 0


@summing
def excess_over(size: Array, stop: Array, level: float) -> tuple[float, int]:
    """Σ (size_i − level) over the axes whose stop is beyond the level, and their number."""
    total, count = 0.0, 0
    for i in range(size.size):
        total += size[i] if stop[i] > level else 0.0
        count += 1 if stop[i] > level else 0
    return total - level * count, count


@summing
def stopped_at(size: Array, stop: Array, level: float) -> float:
    """Σ (size_i − level) over the axes whose stop is the level: by how much the sum jumps there."""
    total = 0.0
    for i in range(size.size):
        total += size[i] - level if stop[i] == level else 0.0
    return total


@borrowing
def side_ahead(size: Array, stop: Array, level: float) -> float:
    """The next side of the box beyond the level; other stops are no jumps, and Newton's method passes them."""
    ahead = np.inf
    for i in range(stop.size):
        ahead = stop[i] if level < stop[i] < min(ahead, size[i]) else ahead
    return ahead


@entry
def settle(place: Place, price: float, axes: Axes) -> None:
    """Write the δ of the box with the least ½‖δ − p‖² + price·‖δ‖∞ + ⟨h,δ⟩, and how it answers to changes of h.

    `free` are the axes that follow −g = p − h, `held` (±1) those at the level R = ‖δ‖∞, which all move together.
    """
    size, stop, delta, level, count = axes.size, axes.stop, axes.delta, np.inf, 0
    # Looked up once: a loop that writes could change where they are, for all that the compiler knows.
    normal, center, free, held, low, high = axes.normal, axes.center, axes.free, axes.held, place.low, place.high
    for i in range(size.size):
        pull, below, above = normal[i] - center[i], -low[i], high[i]
        room = below if pull > 0.0 else above
        size[i] = abs(pull)
        stop[i] = min(size[i], room)
        delta[i] = -1.0 if pull > 0.0 else 1.0
    if price > 0.0:
        level, count = level_of(axes, price, axes.level[0])
    axes.level[0], axes.holding[0] = level, count
    share = 1.0 if count > 0 else 0.0
    for i in range(size.size):
        end, side = stop[i], delta[i]
        inside = 1.0 if end < level else 0.0
        free[i] = inside if end == size[i] else 0.0
        held[i] = side * share if end > level else 0.0
        delta[i] = side * min(end, level)
