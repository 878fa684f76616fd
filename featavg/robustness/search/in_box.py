"""The nearest point of a relaxation in a box, in ℓ2 or ℓ∞: pieces are written lazily, their dual is raised (`ascent`).

ℓ∞ is a linear program. It is solved as  min ½‖δ − p‖² + price·‖δ‖∞,  with the last solution as the next p: after
finitely many of these δ is the program's own. Every half-space on the way is a cut, however rough.
"""

from __future__ import annotations

import numpy as np

from featavg.arrays import Array
from featavg.robustness.proof.apart import apart
from featavg.robustness.proof.arithmetic import clear, copy, dot
from featavg.robustness.proof.compiled import NONE, borrowing
from featavg.robustness.search.ascent import ascend
from featavg.robustness.search.halfspaces import least_radius, most_taken
from featavg.robustness.search.least_distance import contradict, total
from featavg.robustness.search.places import BETA, DISTANCE, LENGTH, Axes, Pieces, Place, Relaxed, Solution, Space
from featavg.robustness.search.products import weigh, weight_of
from featavg.robustness.search.relaxation import violated_row, violated_side

MOST_STEPS = 100
# The price per axis and unit of distance: without p ‖δ‖∞ is then within a few hundredths of the least one.
PRICE = 16.0
# By how much it rises from one p to the next, and in all.
STEEPER, HIGHEST = 4.0, 1000.0
# What rounding leaves of a piece that holds grows with the distance, and here so many times faster than without a box.
LOOSE = 4.0
# Distances that agree up to this share are the same.
SAME = 1e-8


@apart(borrowing)
def nearest_in_box(
    space: Space,
    place: Place,
    relaxed: Relaxed,
    guess: Array,
    reach: float,
    share: float,
    pieces: Pieces,
    axes: Axes,
    solution: Solution,
) -> None:
    """Solve until no piece is violated, or the distance passes `reach`, or is exact to a share of what is missing."""
    z = solution.z
    copy(place.start, z)
    clear(solution.numbers)
    clear(solution.delta)
    clear(axes.center)
    solution.step[0] = axes.level[0] = 0.0
    count, price, length, before = NONE, 0.0, 0.0, -np.inf
    for _ in range(MOST_STEPS):
        excess = 0.0
        if count == 0:
            excess = candidate(space, place, relaxed, guess, z, 0.0, pieces, pieces.order[0])
        if excess <= 0.0:
            excess = candidate(space, place, relaxed, z, z, LOOSE * length, pieces, pieces.order[count])
        if excess <= 0.0:
            near = solution.numbers[DISTANCE]
            rough = share * (reach - length) if share > 0.0 else 0.0
            done = length - near <= max(SAME * length, rough)
            if count == 0 or place.euclidean or done or not recenter(axes):
                break
            price = raised(pieces, count, price, axes)
            before = -np.inf
        else:
            slot = pieces.order[count]
            if pieces.weight[slot] == 0.0:
                count = contradict(pieces, count, solution)
                break
            pieces.multiplier[count] = 0.0
            if count == 0:
                price = first_price(place, pieces, slot)
            count += 1
        count, empty = ascend(place, pieces, count, price, axes)
        value = measure(place, pieces, count, price, axes, solution)
        length = solution.numbers[LENGTH]
        if empty:
            contradict_box(place, pieces, count, reach, axes, solution)
            break
        if solution.numbers[DISTANCE] >= reach or value <= before or count + 1 >= pieces.order.size:
            break
        before = value + 1e-14 * abs(value)
        see(space, place, axes.delta, z)
    total(pieces, count, solution)


@borrowing
def recenter(axes: Axes) -> bool:
    """Make δ the next p; False where it is that already."""
    moved = 0.0
    for i in range(axes.delta.size):
        moved = max(moved, abs(axes.delta[i] - axes.center[i]))
        axes.center[i] = axes.delta[i]
    return moved > 1e-13 * axes.level[0]


@borrowing
def raised(pieces: Pieces, count: int, price: float, axes: Axes) -> float:
    """A higher price, at which p matters less, up to where rounding is felt; multipliers grow alike."""
    usual = PRICE * axes.delta.size * axes.level[0]
    higher = max(usual, min(STEEPER * price, HIGHEST * usual), price)
    for k in range(count):
        pieces.multiplier[k] *= higher / price
    return higher


@borrowing
def first_price(place: Place, pieces: Pieces, slot: int) -> float:
    """A price, and the first multiplier: that of the nearest point without a box."""
    normal, value = pieces.normal[slot], pieces.value[slot]
    square = size = 0.0
    for i in range(normal.size):
        square += normal[i] * normal[i]
        size += abs(normal[i])
    pieces.multiplier[0] = value / max(square, 1e-300)
    if place.euclidean:
        return 0.0
    radius = least_radius(normal, value, place.low, place.high)
    radius = radius if radius < np.inf else value / max(size, 1e-300)
    price = PRICE * normal.size * radius
    pieces.multiplier[0] = price / max(size, 1e-300)
    return price


@borrowing
def candidate(
    space: Space, place: Place, relaxed: Relaxed, pattern: Array, z: Array, length: float, pieces: Pieces, slot: int
) -> float:
    """Write a violated piece into a slot: a sign, which is cheap, or else a row; return by how much, 0 if none is."""
    clear(pieces.mix[slot])
    theta, normal = pieces.theta[slot], pieces.normal[slot]
    neuron, side = violated_side(relaxed, z, space.norms, length)
    if neuron >= 0:
        edge = relaxed.ceiling[neuron] if side > 0.0 else relaxed.floor[neuron]
        pieces.value[slot], pieces.weight[slot] = side * (place.start[neuron] - edge), space.norms[neuron]
        clear(theta)
        theta[neuron] = side
        vector = space.weights[neuron]
        for i in range(normal.size):
            normal[i] = side * vector[i]
        return side * (z[neuron] - edge)
    row, constant, excess = violated_row(place, relaxed, pattern, z, length, theta)
    if row < 0:
        return 0.0
    pieces.mix[slot, row] = 1.0
    pieces.value[slot] = dot(theta, place.start) + constant
    pieces.weight[slot] = weight_of(theta, space.norms)
    clear(normal)
    weigh(theta, space.weights, normal)
    return excess


@borrowing
def measure(place: Place, pieces: Pieces, count: int, price: float, axes: Axes, solution: Solution) -> float:
    """The numbers of the cut that the multipliers make, and δ; return the value of the dual.

    ℓ2: the box takes q = h + δ, and leaves the half-space ⟨−δ,·⟩ + β + ⟨q,δ⟩ <= 0.
    """
    beta = 0.0
    for k in range(count):
        beta += pieces.multiplier[k] * pieces.value[pieces.order[k]]
    normal, delta, numbers = axes.normal, axes.delta, solution.numbers
    copy(delta, solution.delta)
    along, square = dot(normal, delta), dot(delta, delta)
    if place.euclidean:
        numbers[BETA], numbers[LENGTH] = beta + along + square, np.sqrt(square)
        numbers[DISTANCE] = numbers[BETA] / numbers[LENGTH] if square > 0.0 else 0.0
        solution.step[0] = 1.0
    else:
        numbers[BETA], numbers[LENGTH] = beta, axes.level[0]
        numbers[DISTANCE] = least_radius(normal, beta, place.low, place.high)
        solution.step[0] = numbers[DISTANCE]
    value = beta + along + 0.5 * square - dot(axes.center, delta)
    return value + price * axes.level[0] if price > 0.0 else value


@borrowing
def contradict_box(place: Place, pieces: Pieces, count: int, reach: float, axes: Axes, solution: Solution) -> None:
    """The half-space misses the box: a step that is long enough shows it."""
    beta = 0.0
    for k in range(count):
        beta += pieces.multiplier[k] * pieces.value[pieces.order[k]]
    solution.numbers[DISTANCE] = np.inf
    solution.step[0] = reach
    if place.euclidean:
        left, square = beta - most_taken(axes.normal, place.low, place.high, 0.0), 0.0
        for i in range(axes.normal.size):
            room = -place.low[i] if axes.normal[i] > 0.0 else place.high[i]
            square += room * room if axes.normal[i] != 0.0 else 0.0
        step = 4.0 * reach * np.sqrt(square) / left if left > 0.0 else 1.0
        solution.step[0] = step if 1.0 < step < np.inf else 1.0


@borrowing
def see(space: Space, place: Place, delta: Array, z: Array) -> None:
    """z = z0 + Wδ."""
    weights, start = space.weights, place.start
    for j in range(z.size):
        z[j] = start[j] + dot(weights[j], delta)


@borrowing
def combined(space: Space, theta: Array, axes: Axes) -> None:
    """h = Wᵀθ."""
    clear(axes.normal)
    weigh(theta, space.weights, axes.normal)
