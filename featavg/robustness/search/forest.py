"""The trees of one point, one per rival, grown to one reach under a clock."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from featavg.robustness.proof.format import Proofs
from featavg.robustness.search.batch import place_of, units_of
from featavg.robustness.search.branch import FULL, PAUSED, abandon, grow, least_bound, plant, taller
from featavg.robustness.search.budget import Clock
from featavg.robustness.search.explore import MOST_CUTS, Aim, reach_of
from featavg.robustness.search.places import Incumbent
from featavg.robustness.search.tape import NODES, Tape, longer, proofs_on, tape_for, write_tree
from featavg.robustness.search.task import Task

# The clock is looked at about this often, in seconds.
TICK = 0.02
# A first tape holds at most about this many θ.
MOST_NUMBERS = 2**20


@dataclass
class Forest:
    """What came of it: nothing of any rival is nearer than `lower`, if the proofs hold."""

    lower: float
    whole: bool  # whether no node was left
    nodes: int
    proofs: Proofs


def first_tape(task: Task, points: int = 1) -> Tape:
    """A tape with room for a few nodes per point, as long as that is not much."""
    neurons, rows = len(task.space.norms), task.desk.bench.solution.mix.size + task.desk.mix.size
    trees = points * len(task.pairs.rival) + 1
    cuts = max(4 * MOST_CUTS, min(4 * trees, MOST_NUMBERS // neurons))
    return tape_for(trees, 64 + trees, cuts, cuts * rows, cuts * neurons)


def grow_forest(
    task: Task, point: int, aim: Aim, incumbent: Incumbent, clock: Clock, most: int, seconds: float = np.inf
) -> Forest:
    """Grow the tree of every rival until none is nearer than the reach, with so many nodes or CPU seconds at most."""
    ends = time.process_time() + seconds
    pairs, points, desk = task.pairs, task.points, task.desk
    label = points.label[point]
    tape, lower, whole = first_tape(task), np.inf, True
    for pair in range(pairs.first_pair[label], pairs.first_pair[label + 1]):
        incumbent.salt[0] = pair
        place = place_of(task.space, points, pairs, point, pair, desk)
        units = units_of(points, pairs, point, pair, desk)
        write_tree(tape, point, pairs.rival[pair])
        stack, chunk = desk.stack, 8
        plant(stack, place)
        while stack.height[0] and not clock.spent() and tape.used[NODES] < most and time.process_time() < ends:
            before, began = int(tape.used[NODES]), time.perf_counter()
            chunk = min(chunk, most - before)
            code = grow(task.space, place, aim, stack, incumbent, tape, units, desk.bench, chunk)
            clock.nodes += int(tape.used[NODES]) - before
            if code == FULL and stack.height[0] + 1 > len(stack.depth):
                stack = taller(stack)
            elif code == FULL:
                tape = longer(tape)
            elif code == PAUSED:
                pace = (time.perf_counter() - began) / chunk
                chunk = max(1, min(4 * chunk, int(TICK / max(pace, 1e-9))))
        whole = whole and not stack.height[0]
        lower = min(lower, least_bound(stack))
        while tape.depth.size < tape.used[NODES] + stack.height[0]:
            tape = longer(tape)
        abandon(stack, tape, units)
        if incumbent.radius[0] <= aim.enough:
            break
    return Forest(min(lower, reach_of(aim, incumbent)), whole, int(tape.used[NODES]), proofs_on(tape))
