"""The nearest point of a relaxation: the dual active-set method of Goldfarb and Idnani, on lazily written half-spaces.

    min ½‖δ‖²  subject to  θ_k·(z0 + Wδ) + constant_k <= 0 for every piece k

Half-spaces enter one at a time. With multipliers u of those that are active δ = −Σ_k u_k Wᵀθ_k, and every step raises
the dual, so that whenever the method stops its multipliers are a cut: all points are at least β/‖h‖ away,
β = Σ_k u_k value_k, h = Σ_k u_k Wᵀθ_k.
"""

from __future__ import annotations

import numpy as np

from featavg.arrays import Array
from featavg.robustness.proof.apart import apart
from featavg.robustness.proof.arithmetic import clear, copy, dot
from featavg.robustness.proof.compiled import NONE, NOWHERE, borrowing
from featavg.robustness.search.places import BETA, DISTANCE, LENGTH, Pieces, Place, Relaxed, Solution, Space
from featavg.robustness.search.products import add_multiple, inner_product, look, look_at_neuron, weight_of
from featavg.robustness.search.relaxation import violated_row, violated_side

MOST_STEPS = 100
# Of a piece's squared length, what must be left of it beside the active ones to count as independent of them.
INDEPENDENT = 1e-14
# What rounding leaves of h where its terms cancel, as a share of them.
ROUNDING = 1e-15


@apart(borrowing)
def least_distance(
    space: Space,
    place: Place,
    relaxed: Relaxed,
    guess: Array,
    reach: float,
    share: float,
    pieces: Pieces,
    solution: Solution,
) -> None:
    """Solve until no piece is violated or the distance passes `reach`; the first piece is the one at `guess`.

    Curves have pieces without end: then until a step gains less than a share of what is missing.
    """
    z = solution.z
    copy(place.start, z)
    clear(solution.numbers)
    count = NONE
    for _ in range(MOST_STEPS):
        slot = pieces.order[count]
        if count + 1 >= pieces.order.size:
            break
        excess = 0.0
        if count == 0:
            excess = candidate(space, place, relaxed, guess, z, 0.0, pieces, slot)
        if excess <= 0.0:
            excess = candidate(space, place, relaxed, z, z, solution.numbers[LENGTH], pieces, slot)
        if excess <= 0.0:
            break
        if pieces.weight[slot] == 0.0:
            count = contradict(pieces, count, solution)
            break
        following = absorb(space, pieces, count, excess, reach, z)
        if following < 0:
            break
        count, before = following, solution.numbers[DISTANCE]
        measure(pieces, count, solution)
        now = solution.numbers[DISTANCE]
        if now >= reach:
            break
        # Signs alone gain little, but they come first.
        if relaxed.cost[1] > 0.0 and pieces.mix[slot, 0] > 0.0 and now - before < share * (reach - now):
            break
    total(pieces, count, solution)


@borrowing
def contradict(pieces: Pieces, count: int, solution: Solution) -> int:
    """The candidate is a positive constant: alone it says that there is no such point."""
    order = pieces.order
    order[0], order[count] = order[count], order[0]
    pieces.multiplier[0] = 1.0
    solution.numbers[BETA], solution.numbers[LENGTH], solution.numbers[DISTANCE] = pieces.value[order[0]], 0.0, np.inf
    return 1


@borrowing
def candidate(
    space: Space,
    place: Place,
    relaxed: Relaxed,
    pattern: Array,
    z: Array,
    length: float,
    pieces: Pieces,
    slot: int,
) -> float:
    """Write a violated piece into a slot: a sign, which is cheap, or else a row; return by how much, 0 if none is."""
    clear(pieces.mix[slot])
    neuron, side = violated_side(relaxed, z, space.norms, length)
    if neuron >= 0:
        edge = relaxed.ceiling[neuron] if side > 0.0 else relaxed.floor[neuron]
        pieces.value[slot] = side * (place.start[neuron] - edge)
        pieces.weight[slot] = space.norms[neuron]
        look_at_neuron(space, pieces, slot, neuron, side)
        return side * (z[neuron] - edge)
    row, constant, excess = violated_row(place, relaxed, pattern, z, length, pieces.theta[slot])
    if row < 0:
        return 0.0
    pieces.mix[slot, row] = 1.0
    pieces.value[slot] = dot(pieces.theta[slot], place.start) + constant
    pieces.weight[slot] = weight_of(pieces.theta[slot], space.norms)
    look(space, pieces, slot)
    return excess


@borrowing
def absorb(space: Space, pieces: Pieces, count: int, excess: float, reach: float, z: Array) -> int:
    """Make the candidate active: raise its multiplier until it holds with equality, dropping pieces on the way.

    Returns how many are active then; −1, with nothing changed, where only rounding is left to be gained.
    """
    new, multiplier, response = pieces.order[count], pieces.multiplier, pieces.response
    for i in range(count):
        old = pieces.order[i]
        pieces.inner[new, old] = inner_product(space, pieces, new, old)
        pieces.inner[old, new] = pieces.inner[new, old]
    pieces.inner[new, new] = inner_product(space, pieces, new, new)
    least, gained = least_square(pieces, new), 0.0
    while True:
        rest = respond(pieces, count, new)
        step, dropped = excess / rest, NOWHERE
        for i in range(count):
            if response[i] > 0.0 and multiplier[i] < step * response[i]:
                step, dropped = multiplier[i] / response[i], i
        if dropped < 0 and rest <= least and step * np.sqrt(rest) < reach:
            if gained == 0.0:
                return -1
            step = 0.0
        for i in range(count):
            multiplier[i] -= step * response[i]
            add_multiple(step * response[i], pieces.image[pieces.order[i]], z)
        add_multiple(-step, pieces.image[new], z)
        gained += step
        excess -= step * rest
        if dropped < 0:
            copy(pieces.forward, pieces.factor[count, :count])
            pieces.factor[count, count] = np.sqrt(rest)
            multiplier[count] = gained
            return count + 1
        drop(pieces, dropped, count)
        count -= 1


@borrowing
def respond(pieces: Pieces, count: int, new: int) -> float:
    """Solve K r = k for the active K and the candidate's k; return what is left of its square beside them."""
    factor, forward, response = pieces.factor, pieces.forward, pieces.response
    rest = pieces.inner[new, new]
    for i in range(count):
        value = pieces.inner[new, pieces.order[i]]
        for j in range(i):
            value -= factor[i, j] * forward[j]
        forward[i] = value / factor[i, i]
        rest -= forward[i] * forward[i]
    for i in range(count - 1, -1, -1):
        value = forward[i]
        for j in range(i + 1, count):
            value -= factor[j, i] * response[j]
        response[i] = value / factor[i, i]
    return max(rest, least_square(pieces, new))


@borrowing
def least_square(pieces: Pieces, slot: int) -> float:
    """What rounding may leave of ‖h‖² of a piece that depends on the active ones, or whose h is 0."""
    return max(INDEPENDENT * pieces.inner[slot, slot], (ROUNDING * pieces.weight[slot]) ** 2, 1e-300)


@borrowing
def drop(pieces: Pieces, position: int, count: int) -> None:
    """Take one piece out of the active ones; its slot goes behind the candidate's."""
    order, factor = pieces.order, pieces.factor
    slot = order[position]
    for i in range(position, count):
        order[i] = order[i + 1]
        pieces.multiplier[i] = pieces.multiplier[i + 1] if i + 1 < count else 0.0
    order[count] = slot
    for i in range(position, count - 1):
        rest = pieces.inner[order[i], order[i]]
        for j in range(i):
            value = pieces.inner[order[i], order[j]]
            for k in range(j):
                value -= factor[i, k] * factor[j, k]
            factor[i, j] = value / factor[j, j]
            rest -= factor[i, j] * factor[i, j]
        factor[i, i] = np.sqrt(max(rest, least_square(pieces, order[i])))


@borrowing
def measure(pieces: Pieces, count: int, solution: Solution) -> None:
    """β, ‖h‖ and β/‖h‖ of the multipliers."""
    beta = square = weight = 0.0
    for i in range(count):
        one = pieces.order[i]
        beta += pieces.multiplier[i] * pieces.value[one]
        weight += pieces.multiplier[i] * pieces.weight[one]
        for j in range(count):
            square += pieces.multiplier[i] * pieces.multiplier[j] * pieces.inner[one, pieces.order[j]]
    solution.numbers[BETA] = beta
    solution.numbers[LENGTH] = max(np.sqrt(max(square, 0.0)), ROUNDING * weight)
    solution.numbers[DISTANCE] = beta / solution.numbers[LENGTH] if weight > 0.0 else 0.0


@borrowing
def total(pieces: Pieces, count: int, solution: Solution) -> None:
    """θ and mix of the cut."""
    clear(solution.theta)
    clear(solution.mix)
    for i in range(count):
        add_multiple(pieces.multiplier[i], pieces.theta[pieces.order[i]], solution.theta)
        add_multiple(pieces.multiplier[i], pieces.mix[pieces.order[i]], solution.mix)
