"""One node of the tree: relax, cut, cap, until that gains too little, then name the neuron to branch on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from featavg.arrays import Array
from featavg.robustness.proof.apart import apart
from featavg.robustness.proof.arithmetic import copy, dot
from featavg.robustness.proof.compiled import NONE, borrowing, entry, inlined
from featavg.robustness.search.caps import within_ball
from featavg.robustness.search.curves import bend, bend_again, sharpen
from featavg.robustness.search.exponentials import loosest, soften, value_at_guess
from featavg.robustness.search.norms import capped, enclosed, lowest, most_promising, nearest
from featavg.robustness.search.places import (
    BETA,
    DISTANCE,
    LENGTH,
    RHO,
    Axes,
    Bench,
    Incumbent,
    Node,
    Place,
    Relaxed,
    Solution,
    Space,
)
from featavg.robustness.search.polish import polish
from featavg.robustness.search.relaxation import chords
from featavg.robustness.search.scores import widest_chord
from featavg.robustness.search.tangents import linearise, loosest_neuron, margin, shares
from featavg.robustness.search.tape import NODES, Tape, Units, write_cut
from featavg.robustness.search.walk import shorten, walk

ROUNDS = 40
# A tangent is taken where the one before led, so the first ones gain little.
LEAST_TURNS = 2
# The curves of the first nodes need some turns to find how much to bend.
ROOT_TURNS, ROOTS = 6, 3
# Where a walk to a nearer point cannot be known to pay.
EARLY = 32
MOST_CUTS = ROUNDS + 2
# A node is tightened again as long as its bound gains this share of what is missing; curves gain more later.
WORTHWHILE, WORTHWHILE_BENT = 0.05, 0.003
# Every so many levels of the tree chords are compared with curves.
LEVELS = 4
# How exact a relaxation in ℓ∞ is solved, as a share of what is missing.
ROUGH = 0.02
CLOSED, STUCK = -1, -2


class Aim(NamedTuple):
    """What the search is after: nothing within `reach`, nor nearer than the incumbent by more than `gap`."""

    reach: float
    gap: float
    enough: float  # an incumbent this near ends the search
    polishes: bool


@entry
def reach_of(aim: Aim, incumbent: Incumbent) -> float:
    """How far a proof must go."""
    return min(aim.reach, incumbent.radius[0] * (1.0 - aim.gap))


@apart(borrowing)
def recenter(space: Space, place: Place, node: Node, solution: Solution, axes: Axes) -> None:
    """The ball of ℓ2 around −h β/‖h‖², which holds what the half-space leaves, if it is smaller than the one known.

    Without a box that is the ball around the solution. A box and ℓ∞ have no say in it, as in the checker.
    """
    if place.low.size == 0:
        lift = solution.numbers[DISTANCE] ** 2
        if node.bound[1] < lift < np.inf:
            step = solution.numbers[BETA] / solution.numbers[LENGTH] ** 2
            for j in range(node.middle.size):
                node.middle[j] = place.start[j] + step * (solution.z[j] - place.start[j])
            node.bound[1] = lift
        return
    beta, square = solution.numbers[BETA], dot(axes.normal, axes.normal)
    if place.euclidean:
        beta -= dot(axes.normal, solution.delta) + dot(solution.delta, solution.delta)
    lift = beta * beta / square if beta > 0.0 and square > 0.0 else 0.0
    if node.bound[1] < lift < np.inf:
        node.bound[1] = lift
        for j in range(node.middle.size):
            node.middle[j] = place.start[j] - beta / square * dot(space.weights[j], axes.normal)


@borrowing
def ball_radius(place: Place, node: Node, reach: float) -> float:
    """Of the ball that holds what the best half-space leaves of the reach; for ℓ∞ that of its ball is √axes as wide."""
    square = reach * reach * (1.0 if place.euclidean else place.low.size)
    return np.sqrt(max(square - node.bound[1], 0.0))


@inlined
def linearised(
    place: Place, node: Node, reach: float, low: Array, high: Array, relaxed: Relaxed, softens: bool, first: bool
) -> bool:
    """Summed probabilities need a row that is a tangent, others may have curves for chords; both hold in a ball.

    Tells whether the row is that of exponentials, which at the first turn must be no worse than that of averages.
    """
    if place.role.size > 0:
        radius, least = ball_radius(place, node, reach), -np.inf
        if softens and first:
            linearise(place, node.guess, node.middle, radius, low, high)
            least = value_at_guess(place, node.guess, False)
        if softens and soften(place, node, shares(place, node.guess), radius, low, high, relaxed):
            softens = value_at_guess(place, node.guess, True) >= least
        if not softens or relaxed.cost[2] == 0.0:
            softens = False
            chords(low, high, relaxed)
            linearise(place, node.guess, node.middle, radius, low, high)
    elif node.bound[RHO] > 0.0:
        bend(place, node, ball_radius(place, node, reach) ** 2, low, high, relaxed)
    return softens


@inlined
def improve(space: Space, place: Place, node: Node, solution: Solution, incumbent: Incumbent, bench: Bench) -> None:
    """A better incumbent, from where the relaxation ended."""
    if place.role.size > 0:
        if solution.numbers[DISTANCE] > 0.0:
            shorten(place, solution, incumbent)
        walk(space, place, solution.z, incumbent, bench)
    else:
        polish(space, place, node.low, node.high, node.guess, incumbent, bench)


@inlined
def branch_of(
    space: Space, place: Place, node: Node, relaxed: Relaxed, solution: Solution, reach: float, bench: Bench
) -> int:
    """The neuron to branch on, with the threshold on the bench; STUCK if there is none."""
    bench.threshold[0] = 0.0
    if place.role.size > 0:
        radius = ball_radius(place, node, reach)
        if relaxed.cost[2] > 0.0:
            neuron, bench.threshold[0] = loosest(place, node.low, node.high)
        else:
            neuron, bench.threshold[0] = loosest_neuron(place, node.guess, node.middle, radius, node.low, node.high)
    else:
        neuron = most_promising(space, place, node, relaxed, solution, reach, bench.axes)
        neuron = neuron if neuron >= 0 else widest_chord(place, node)
    return neuron if neuron >= 0 else STUCK


@apart(borrowing)
def explore(
    space: Space, place: Place, node: Node, aim: Aim, incumbent: Incumbent, tape: Tape, units: Units, bench: Bench
) -> int:
    """Raise the bound of a node; return the neuron to branch on, or CLOSED, or STUCK where only rounding is left."""
    relaxed, solution, low, high = bench.relaxed, bench.solution, node.low, node.high
    copy(node.floor, relaxed.floor)
    copy(node.ceiling, relaxed.ceiling)
    chorded, pooled, rho, near, last = True, place.role.size > 0, node.bound[RHO], 0.0, -np.inf
    bent, early = rho > 0.0 and not pooled, tape.used[NODES] <= ROOTS
    softens = pooled and place.curve.size > 0
    compares = bent and not early and tape.depth[tape.used[NODES] - 1] % LEVELS == 0
    if compares:
        # Chords first: deep in the tree they may be better than curves, and stay so.
        node.bound[RHO] = 0.0
    for turn in range(MOST_CUTS):
        reach = reach_of(aim, incumbent)
        if turn == 0 and low.size > 0 and low[0] == -np.inf:
            enclosed(space, place, reach, bench.axes, low, high)
        within_ball(space, place, reach, low, high)
        chords(low, high, relaxed)
        softens = linearised(place, node, reach, low, high, relaxed, softens, turn == 0)
        nearest(space, place, relaxed, node.guess, reach, ROUGH, bench, solution)
        if not solution.numbers[DISTANCE] > 0.0:
            lowest(space, place, relaxed, reach, bench, solution)
            if place.curve.size > 0 and not pooled:
                lower_still(space, place, relaxed, node.guess, reach, bench, solution)
        if relaxed.cost[1] > 0.0:
            sharpen(place, low, high, relaxed, solution)
        write_cut(tape, place, relaxed, solution, reach, units)
        gain = solution.numbers[DISTANCE] - node.bound[0]
        node.bound[0] = max(node.bound[0], solution.numbers[DISTANCE])
        soft, progress, last = relaxed.cost[2] > 0.0, solution.numbers[DISTANCE] - last, solution.numbers[DISTANCE]
        move_guess(node, solution, soft, gain > 0.0 or not pooled or (soft and progress > 0.0))
        gain = max(gain, progress) if soft and turn > 0 else gain
        if turn == 0 and compares:
            node.bound[RHO], near = rho, solution.numbers[DISTANCE]
        elif turn == 1 and compares and near > max(0.0, solution.numbers[DISTANCE]):
            node.bound[RHO] = 0.0
        elif relaxed.cost[1] > 0.0:
            bend_again(place, node, ball_radius(place, node, reach) ** 2, relaxed, solution)
        if solution.numbers[DISTANCE] > 0.0 and (pooled or place.curve.size > 0):
            recenter(space, place, node, solution, bench.axes)
        if node.bound[0] >= reach or capped(space, place, solution, reach, bench.axes, low, high):
            return CLOSED
        if aim.polishes and (is_near(place, solution, tape, reach) if pooled else turn == 0 or not chorded):
            improve(space, place, node, solution, incumbent, bench)
        missing = reach_of(aim, incumbent) - node.bound[0]
        if missing <= 0.0:
            return CLOSED
        before, chorded = chorded, pooled or has_chord(place, low, high)
        if not chorded and not before:
            return STUCK
        if not chorded and not pooled:
            # Where nothing may switch curves have nothing to gain, and cost something.
            node.bound[RHO] = 0.0
        least = ROOT_TURNS if bent and early else LEAST_TURNS if pooled or bent else NONE
        worth = WORTHWHILE_BENT if node.bound[RHO] > 0.0 and not pooled else WORTHWHILE
        if chorded and (turn >= ROUNDS or (gain < worth * missing and turn >= least)):
            break
    return branch_of(space, place, node, relaxed, solution, reach, bench)


@apart(borrowing)
def lower_still(
    space: Space, place: Place, relaxed: Relaxed, guess: Array, reach: float, bench: Bench, solution: Solution
) -> None:
    """From the best piece to a mixture of pieces: the nearest point where the row is below half its least value."""
    shift = 0.5 * (reach * solution.numbers[LENGTH] - solution.numbers[BETA])
    if not 0.0 < shift < np.inf:
        return
    relaxed.cost[0] -= shift
    nearest(space, place, relaxed, guess, reach, ROUGH, bench, solution)
    relaxed.cost[0] += shift
    solution.numbers[BETA] -= shift * solution.mix[0]
    if solution.numbers[LENGTH] > 0.0:
        solution.numbers[DISTANCE] = solution.numbers[BETA] / solution.numbers[LENGTH]


@borrowing
def move_guess(node: Node, solution: Solution, soft: bool, gained: bool) -> None:
    """The next tangent is taken where this one led; or half-way there, if it led no farther than the one before."""
    if gained:
        copy(solution.z, node.guess)
    elif soft:
        for j in range(node.guess.size):
            node.guess[j] = 0.5 * (node.guess[j] + solution.z[j])


@borrowing
def is_near(place: Place, solution: Solution, tape: Tape, reach: float) -> bool:
    """Whether a fooled point within reach may be next to where a relaxation ended, by the slope of its row.

    In ℓ∞, where no length of the row is at hand: at the first nodes, and at every so many later.
    """
    if not place.euclidean:
        return tape.used[NODES] < EARLY or tape.used[NODES] % EARLY == 0
    distance, length = solution.numbers[DISTANCE], solution.numbers[LENGTH]
    beyond = margin(place, solution.z) * solution.mix[0]
    return distance + beyond / length < reach if length > 0.0 else False


@borrowing
def has_chord(place: Place, low: Array, high: Array) -> bool:
    """Whether some subtracted neuron may still be on or off."""
    for j in range(low.size):
        if low[j] < 0.0 < high[j]:
            for i in range(place.constants.size):
                if place.rows[i, j] < 0.0:
                    return True
    return False
