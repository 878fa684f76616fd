"""One node of the tree: relax, cut, cap, until that gains too little, then name the neuron to branch on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from featavg.arrays import Array
from featavg.robustness.search.caps import within_ball
from featavg.robustness.search.compiled import borrowing
from featavg.robustness.search.norms import capped, enclosed, lowest, most_promising, nearest
from featavg.robustness.search.places import DISTANCE, Bench, Incumbent, Node, Place, Relaxed, Solution, Space
from featavg.robustness.search.polish import polish
from featavg.robustness.search.products import copy
from featavg.robustness.search.relaxation import chords
from featavg.robustness.search.scores import widest_chord
from featavg.robustness.search.tangents import linearise, loosest_neuron
from featavg.robustness.search.tape import NODES, Tape, Units, write_cut
from featavg.robustness.search.walk import walk

ROUNDS = 20
# A tangent is taken where the one before led, so the first ones gain little.
LEAST_TURNS = 2
# A walk is dear: only the first nodes, and every so many later, look for a nearer point.
EARLY = 32
MOST_CUTS = ROUNDS + 2
# A node is tightened again as long as its bound gains this share of what is missing.
WORTHWHILE = 0.05
# How exact a relaxation in ℓ∞ is solved, as a share of what is missing.
ROUGH = 0.02
CLOSED, STUCK = -1, -2


class Aim(NamedTuple):
    """What the search is after: nothing within `reach`, nor nearer than the incumbent by more than `gap`."""

    reach: float
    gap: float
    enough: float  # an incumbent this near ends the search
    polishes: bool


@borrowing
def reach_of(aim: Aim, incumbent: Incumbent) -> float:
    """How far a proof must go."""
    return min(aim.reach, incumbent.radius[0] * (1.0 - aim.gap))


@borrowing
def explore(
    space: Space, place: Place, node: Node, aim: Aim, incumbent: Incumbent, tape: Tape, units: Units, bench: Bench
) -> int:
    """Raise the bound of a node; return the neuron to branch on, or CLOSED, or STUCK where only rounding is left."""
    relaxed, solution, low, high = bench.relaxed, bench.solution, node.low, node.high
    copy(node.floor, relaxed.floor)
    copy(node.ceiling, relaxed.ceiling)
    chorded, pooled = True, place.role.size > 0
    for turn in range(MOST_CUTS):
        reach = reach_of(aim, incumbent)
        if turn == 0 and low.size > 0 and low[0] == -np.inf:
            enclosed(space, place, reach, bench.axes, low, high)
        within_ball(space, place, reach, low, high)
        chords(low, high, relaxed)
        if pooled:
            linearise(place, node.guess, ball_radius(node, reach), low, high)
        nearest(space, place, relaxed, node.guess, reach, ROUGH, bench, solution)
        if solution.numbers[DISTANCE] <= 0.0:
            lowest(space, place, relaxed, reach, bench, solution)
        write_cut(tape, place, relaxed, solution, reach, units)
        gain = solution.numbers[DISTANCE] - node.bound[0]
        node.bound[0] = max(node.bound[0], solution.numbers[DISTANCE])
        if gain > 0.0 or not pooled:
            copy(solution.z, node.guess)
        if node.bound[0] >= reach or capped(space, place, solution, reach, bench.axes, low, high):
            return CLOSED
        if aim.polishes and (turn == 0 or not chorded) and (not pooled or is_early(tape)):
            if pooled:
                walk(space, place, node.guess, incumbent, bench)
            else:
                polish(space, place, low, high, node.guess, incumbent, bench)
        missing = reach_of(aim, incumbent) - node.bound[0]
        if missing <= 0.0:
            return CLOSED
        before, chorded = chorded, pooled or has_chord(place, low, high)
        if not chorded and not before:
            return STUCK
        if chorded and (turn >= ROUNDS or (gain < WORTHWHILE * missing and turn >= LEAST_TURNS * pooled)):
            break
    return branch_of(space, place, node, relaxed, solution, reach, bench)


@borrowing
def ball_radius(node: Node, reach: float) -> float:
    """Of the ball around the nearest point of the best half-space, which holds what that leaves of the reach."""
    return np.sqrt(max(reach * reach - node.bound[0] * node.bound[0], 0.0))


@borrowing
def is_early(tape: Tape) -> bool:
    """Whether the node is one of the first, or one of few among the later ones."""
    return tape.used[NODES] < EARLY or tape.used[NODES] % EARLY == 0


@borrowing
def branch_of(
    space: Space, place: Place, node: Node, relaxed: Relaxed, solution: Solution, reach: float, bench: Bench
) -> int:
    """The neuron to branch on, with the threshold on the bench; STUCK if there is none."""
    bench.threshold[0] = 0.0
    if place.role.size > 0:
        neuron, bench.threshold[0] = loosest_neuron(place, node.guess, ball_radius(node, reach), node.low, node.high)
        return neuron if neuron >= 0 else STUCK
    neuron = most_promising(space, place, node, relaxed, solution, reach, bench.axes)
    neuron = neuron if neuron >= 0 else widest_chord(place, node)
    return neuron if neuron >= 0 else STUCK


@borrowing
def has_chord(place: Place, low: Array, high: Array) -> bool:
    """Whether some subtracted neuron may still be on or off."""
    for j in range(low.size):
        if low[j] < 0.0 < high[j]:
            for i in range(place.constants.size):
                if place.rows[i, j] < 0.0:
                    return True
    return False
