"""All points in one compiled call: those that a few nodes close are done by it, the others are named."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from featavg.arrays import Array, Ints
from featavg.robustness.proof.arithmetic import clear, copy
from featavg.robustness.proof.compiled import borrowing, entry, inlined
from featavg.robustness.proof.format import Floats
from featavg.robustness.proof.pools import Products
from featavg.robustness.proof.references import by_reference, lent
from featavg.robustness.search.branch import DONE, FULL, PAUSED, Stack, fits, grow, plant
from featavg.robustness.search.explore import Aim, reach_of
from featavg.robustness.search.pairs import Pairs
from featavg.robustness.search.places import Bench, Incumbent, Place, Space
from featavg.robustness.search.polish import polish
from featavg.robustness.search.products import largest
from featavg.robustness.search.tangents import margin
from featavg.robustness.search.tape import Tape, Units, write_tree
from featavg.robustness.search.walk import walk

OPEN, CLOSED = 0, 1


@by_reference
class Points(NamedTuple):
    """What is asked of each point, and what is found."""

    start: Array  # (point, neuron)  z0 in units of `length`
    length: Array  # (point,)  powers of two
    label: Ints  # (point,)  index of the label in the table of pairs
    guess: Array  # (point, neuron)  z of a point that may be fooled, or of the point itself
    reach: Array  # (point,)  how far a proof must go at most, in units of `length`
    enough: Array  # (point,)  a fooled point as near as this ends the search
    radius: Array  # (point,)  of the nearest fooled point, in units of `length`
    theta: Array  # (point, neuron)  which is δ = −Wᵀθ, unless there is
    delta: Array  # (point, axis)  δ itself, or empty for ℓ2 without a box
    low: Floats  # (point, axis)  what δ is bound by, or empty
    high: Floats  # (point, axis)
    lower: Array  # (point,)  what the search claims to have proved
    state: Ints  # (point,)


@by_reference
class Desk(NamedTuple):
    """Room to work in that all points share."""

    bench: Bench
    stack: Stack
    incumbent: Incumbent
    wide: Array  # (neuron,)  ∞
    narrow: Array  # (neuron,)  −∞
    used: Ints  # (5,)  of the tape, before a point
    neuron_unit: Array  # (neuron,)
    constants: Array  # (row,)  of the place at work
    size: Array  # (row,)
    rate: Array  # (row,)
    row: Array  # (1, neuron)  of summed probabilities
    level: Array  # (1,)  its constant
    products: Products  # of summed probabilities
    nothing: Array  # (output, neuron)  zeros
    mix: Array  # (output + 1,)
    average: Array  # (neuron,)
    slack: Array  # (neuron,)
    gap: Array  # (neuron,)
    contact: Array  # (2, neuron)
    curve: Array  # (neuron,)  v of the place at work
    curved: Ints  # (1,)  how many neurons it has: 0 for none


@entry
def measure_rows(rows: Array, start: Array, norms: Array, constants: Array, size: Array, rate: Array) -> None:
    """Write size and rate of rows."""
    for i in range(constants.size):
        size[i], rate[i] = abs(constants[i]), 0.0
        for j in range(start.size):
            size[i] += abs(rows[i, j] * start[j])
            rate[i] += abs(rows[i, j]) * norms[j]


def place_of(space: Space, points: Points, pairs: Pairs, point: int, pair: int, desk: Desk) -> Place:
    """One rival's set, seen from one point, in the units of the point."""
    first, last = pairs.first_row[pair], pairs.first_row[pair + 1]
    start = points.start[point]
    for i in range(first, last):
        desk.constants[i] = pairs.constants[i] / points.length[point]
    rows, constants, size, rate = (
        pairs.rows[first:last],
        desk.constants[first:last],
        desk.size[first:last],
        desk.rate[first:last],
    )
    measure_rows(rows, start, space.norms, constants, size, rate)
    outputs, levels, role, neuron = pairs.rows[:0], desk.constants[:0], pairs.role[:0], pairs.neuron[:0]
    if pairs.role.size > 0:
        outputs, levels, role, neuron = rows, constants, pairs.role[first:last], pairs.neuron[first:last]
        rows, constants, size, rate = desk.row, desk.level, desk.size[:1], desk.rate[:1]
    return Place(
        start,
        rows,
        constants,
        size,
        rate,
        space.norms,
        points.low[point],
        points.high[point],
        space.euclidean,
        desk.curve[: desk.curved[0]],
        outputs,
        levels,
        role,
        neuron,
        desk.products,
        desk.nothing,
        desk.mix,
        desk.average,
        desk.slack,
        desk.gap,
        desk.contact,
    )


def units_of(points: Points, pairs: Pairs, point: int, pair: int, desk: Desk) -> Units:
    """What turns the numbers of a cut into the network's."""
    rows = pairs.row_unit[pairs.first_row[pair] : pairs.first_row[pair + 1]]
    return Units(desk.neuron_unit, rows, 1.0 / largest(rows), points.length[point])


# What they return is borrowed too, so inside kernels only those that count no references may call them.
place_inside, units_inside = inlined(place_of), inlined(units_of)


@borrowing
def is_fooled(place: Place) -> bool:
    """Whether the point itself is fooled, rounding apart."""
    if place.role.size > 0:
        return margin(place, place.start) <= 0.0
    for i in range(place.constants.size):
        value = place.constants[i]
        for j in range(place.start.size):
            value += place.rows[i, j] * max(place.start[j], 0.0)
        if value > 0.0:
            return False
    return True


@inlined
def approach(space: Space, place: Place, guess: Array, incumbent: Incumbent, desk: Desk) -> None:
    """The nearest fooled points that patterns, or a walk, lead to."""
    if place.role.size > 0:
        walk(space, place, guess, incumbent, desk.bench)
    else:
        for z in (place.start, guess, desk.wide):
            polish(space, place, desk.narrow, desk.wide, z, incumbent, desk.bench)


@inlined
def first_incumbent(space: Space, points: Points, pairs: Pairs, point: int, desk: Desk) -> None:
    """Polish the patterns at the point itself and with all neurons on, rival by rival."""
    incumbent, label = desk.incumbent, points.label[point]
    incumbent.radius[0] = points.radius[point]
    copy(points.theta[point], incumbent.theta)
    copy(points.delta[point], incumbent.delta)
    clear(incumbent.tried)
    for pair in range(pairs.first_pair[label], pairs.first_pair[label + 1]):
        incumbent.salt[0] = pair
        place = lent(place_inside(space, points, pairs, point, pair, desk))
        if is_fooled(place):
            incumbent.radius[0] = 0.0
            clear(incumbent.theta)
            clear(incumbent.delta)
            return
        approach(space, place, points.guess[point], incumbent, desk)


@inlined
def close_point(
    space: Space, points: Points, pairs: Pairs, point: int, gap: float, tape: Tape, desk: Desk, nodes: int
) -> int:
    """Search all rivals of a point, each with a tree of at most so many nodes; DONE, FULL, or else not closed."""
    label, incumbent = points.label[point], desk.incumbent
    aim = Aim(points.reach[point], gap, points.enough[point], True)
    lower = np.inf
    for pair in range(pairs.first_pair[label], pairs.first_pair[label + 1]):
        incumbent.salt[0] = pair
        place = lent(place_inside(space, points, pairs, point, pair, desk))
        if not fits(tape, place):
            return FULL
        units = lent(units_inside(points, pairs, point, pair, desk))
        write_tree(tape, point, pairs.rival[pair])
        plant(desk.stack, place)
        code = grow(space, place, aim, desk.stack, incumbent, tape, units, desk.bench, nodes)
        if code != DONE:
            return code
        lower = min(lower, desk.stack.stuck[0])
    points.lower[point] = min(lower, reach_of(aim, incumbent))
    return DONE if lower >= reach_of(aim, incumbent) or incumbent.radius[0] <= aim.enough else PAUSED


@entry
def close_points(
    space: Space, points: Points, pairs: Pairs, gap: float, tape: Tape, desk: Desk, nodes: int, first: int, last: int
) -> int:
    """Close points first ... last − 1 if so many nodes a rival suffice; return the point at which the tape ended."""
    for point in range(first, last):
        first_incumbent(space, points, pairs, point, desk)
        copy(tape.used, desk.used)
        code = DONE
        if desk.incumbent.radius[0] <= points.enough[point]:
            points.lower[point] = 0.0
        elif desk.incumbent.radius[0] == np.inf and points.reach[point] == np.inf:
            code = PAUSED
        else:
            code = close_point(space, points, pairs, point, gap, tape, desk, nodes)
        points.state[point] = CLOSED if code == DONE else OPEN
        points.radius[point] = desk.incumbent.radius[0]
        copy(desk.incumbent.theta, points.theta[point])
        copy(desk.incumbent.delta, points.delta[point])
        if code != DONE:
            copy(desk.used, tape.used)
        if code == FULL:
            return point
    return last
