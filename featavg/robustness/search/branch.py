"""Branch and bound for one point and one rival, depth first, in steps that can be interrupted.

The stack holds the nodes that wait; the tree is written as it is walked, a node before its children.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from featavg.arrays import Array, Ints
from featavg.robustness.proof.apart import apart
from featavg.robustness.proof.arithmetic import clear, copy
from featavg.robustness.proof.compiled import borrowing, entry
from featavg.robustness.proof.references import by_reference, lent
from featavg.robustness.search.explore import MOST_CUTS, STUCK, Aim, explore, reach_of
from featavg.robustness.search.places import Bench, Incumbent, Node, Place, Space
from featavg.robustness.search.tape import Tape, Units, has_room, write_node

DONE, PAUSED, FULL = 0, 1, 2


@by_reference
class Stack(NamedTuple):
    """Nodes that wait, the next one last; `height` counts them."""

    low: Array  # (level, neuron)
    high: Array
    floor: Array
    ceiling: Array
    guess: Array
    bound: Array  # (level, 3)
    middle: Array  # (level, neuron)
    depth: Ints  # (level,)
    neuron: Ints
    side: Ints
    threshold: Array  # (level,)
    height: Ints  # (1,)
    stuck: Array  # (1,)  the least bound of a leaf that could not be closed


def taller(stack: Stack) -> Stack:
    """The same stack with twice the room."""
    grown = stack_for(2 * stack.depth.size, stack.low.shape[1])
    for old, new in zip(stack, grown, strict=True):
        new[: len(old)] = old
    return grown


def least_bound(stack: Stack) -> float:
    """Nothing nearer than this is left in the nodes that wait or are stuck."""
    waiting = stack.bound[: stack.height[0], 0]
    return float(min(stack.stuck[0], waiting.min(initial=np.inf)))


def stack_for(levels: int, neurons: int) -> Stack:
    """An empty stack."""
    lines: list[Any] = [np.zeros((levels, neurons)) for _ in range(5)]
    marks: list[Any] = [np.zeros(levels, dtype=np.int64) for _ in range(3)]
    ends: list[Any] = [np.zeros(levels), np.zeros(1, dtype=np.int64), np.array([np.inf])]
    parts: list[Any] = [*lines, np.zeros((levels, 3)), np.zeros((levels, neurons)), *marks, *ends]
    return Stack(*parts)


@borrowing
def fits(tape: Tape, place: Place) -> bool:
    """Whether the tape has room for one more node."""
    return has_room(tape, MOST_CUTS, place.start.size, place.constants.size + place.role.size)


@borrowing
def write_top(tape: Tape, stack: Stack, level: int, units: Units) -> None:
    """Write the node at a level of the stack."""
    neuron, threshold = stack.neuron[level], stack.threshold[level]
    if threshold != 0.0:
        threshold = threshold * units.length / units.neuron[neuron]
    write_node(tape, stack.depth[level], neuron, stack.side[level], threshold)


@entry
def plant(stack: Stack, place: Place) -> None:
    """Begin a tree: a root about which nothing is known."""
    for j in range(place.start.size):
        stack.low[0, j] = stack.floor[0, j] = -np.inf
        stack.high[0, j] = stack.ceiling[0, j] = np.inf
    copy(place.start, stack.guess[0])
    copy(place.start, stack.middle[0])
    clear(stack.bound[0])
    stack.depth[0], stack.neuron[0], stack.side[0], stack.threshold[0] = 0, -1, 0, 0.0
    stack.height[0] = 1
    stack.stuck[0] = np.inf


@apart(entry)
def grow(
    space: Space,
    place: Place,
    aim: Aim,
    stack: Stack,
    incumbent: Incumbent,
    tape: Tape,
    units: Units,
    bench: Bench,
    nodes: int,
) -> int:
    """Explore up to so many nodes; DONE if none is left, FULL if tape or stack need more room."""
    for _ in range(nodes):
        top = stack.height[0] - 1
        if top < 0 or incumbent.radius[0] <= aim.enough:
            return DONE
        if top + 2 > stack.depth.size or not fits(tape, place):
            return FULL
        write_top(tape, stack, top, units)
        node = lent(Node(
            stack.low[top], stack.high[top], stack.floor[top], stack.ceiling[top], stack.guess[top], stack.bound[top],
            stack.middle[top],
        ))  # fmt: skip
        if node.bound[0] >= reach_of(aim, incumbent):
            stack.height[0] = top
            continue
        neuron = explore(space, place, node, aim, incumbent, tape, units, bench)
        if neuron >= 0:
            divide(stack, top, neuron, bench.threshold[0])
            continue
        stack.height[0] = top
        if neuron == STUCK:
            stack.stuck[0] = min(stack.stuck[0], node.bound[0])
    return DONE if stack.height[0] == 0 else PAUSED


@borrowing
def divide(stack: Stack, top: int, neuron: int, threshold: float) -> None:
    """Put both signs of a neuron in the place of a node; the one in which its nearest point lies comes first."""
    for lines in (stack.low, stack.high, stack.floor, stack.ceiling, stack.guess, stack.middle):
        copy(lines[top], lines[top + 1])
    copy(stack.bound[top], stack.bound[top + 1])
    first = 1 if stack.guess[top, neuron] > threshold else -1
    for level, side in ((top, -first), (top + 1, first)):
        if side > 0:
            stack.low[level, neuron] = stack.floor[level, neuron] = threshold
        else:
            stack.high[level, neuron] = stack.ceiling[level, neuron] = threshold
        stack.side[level], stack.neuron[level], stack.threshold[level] = side, neuron, threshold
        stack.depth[level] = stack.depth[top] + 1 if level == top else stack.depth[top]
    stack.height[0] = top + 2


@entry
def abandon(stack: Stack, tape: Tape, units: Units) -> None:
    """Write the nodes that wait as leaves without cuts, which makes the tree whole."""
    for level in range(stack.height[0] - 1, -1, -1):
        write_top(tape, stack, level, units)
    stack.height[0] = 0
