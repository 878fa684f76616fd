"""The radius of one hard point: close it at the incumbent, or climb a ladder of radii as far as the clock allows.

A proof at a smaller radius is much cheaper: nodes ~ r^p. So after a short try at the incumbent, rungs are proved one
by one; p is fitted on the last two, and the next rung is the one that should take a third of the time left, or the
incumbent itself if that fits.
"""

from __future__ import annotations

import math
import time
from typing import NamedTuple

import numpy as np

from featavg.robustness.proof.format import Proofs, no_proofs
from featavg.robustness.search.budget import Clock
from featavg.robustness.search.explore import Aim
from featavg.robustness.search.forest import grow_forest
from featavg.robustness.search.places import Incumbent
from featavg.robustness.search.scatter import scatter
from featavg.robustness.search.task import Task

FIRST_TRY = 200
FLATTEST, USUAL, STEEPEST = 3.0, 15.0, 60.0
HIGHEST_STEP = 1.25
# Of the time that is left: what the incumbent is given at first where outputs are summed probabilities.
MOST_OF_IT = 0.85
FIRST_GAP = 0.009
# From a rung as high as this share of the incumbent the next one is the incumbent itself.
NEARLY = 0.98


def decide(task: Task, point: int, incumbent: Incumbent, gap: float, clock: Clock) -> tuple[float, Proofs, str]:
    """The same for one radius: prove that nothing within it is fooled, or find something that is."""
    aim = Aim(task.points.reach[point], gap, task.points.enough[point], True)
    forest = grow_forest(task, point, aim, incumbent, clock, clock.budget.nodes)
    if incumbent.radius[0] <= aim.enough or forest.lower >= aim.reach:
        return forest.lower, forest.proofs, ""
    return forest.lower, forest.proofs, clock.spent() or "rounding stops the search at a leaf"


class Rung(NamedTuple):
    """What to try next: a radius (∞: the incumbent's), with so many nodes and seconds at most."""

    reach: float
    nodes: int
    seconds: float


def rung_of(reach: float, share: float, clock: Clock, most: float = math.inf) -> Rung:
    """A rung that may take a share of the nodes and seconds left: one that fails must leave some to lower ones."""
    return Rung(reach, int(min(most, 1 + share * clock.nodes_left())), share * clock.left())


def climb(task: Task, point: int, incumbent: Incumbent, gap: float, clock: Clock) -> tuple[float, Proofs, str]:
    """Lower bound (in the units of the point), its proof, and why it ended, if before the bracket was closed."""
    best, proofs = 0.0, no_proofs()
    proved: list[tuple[float, float]] = []  # radius and seconds of rungs
    lost = 0.0  # seconds of the longest tree at the incumbent that was not finished
    rung = rung_of(np.inf, 0.3, clock, FIRST_TRY)
    if incumbent.radius[0] == np.inf:
        rung = Rung(horizon(task, point), clock.budget.nodes, np.inf)
    while True:
        began = time.process_time()
        aim = Aim(rung.reach, gap, 0.0, True)
        forest = grow_forest(task, point, aim, incumbent, clock, rung.nodes, rung.seconds)
        if forest.lower > best or not len(proofs.point):
            best, proofs = max(best, forest.lower), forest.proofs
        if forest.whole and best >= (1.0 - 2.0 * gap) * incumbent.radius[0]:
            return best, proofs, ""
        if clock.spent():
            return best, proofs, clock.spent()
        if rung.reach == np.inf and not proved:
            scatter(task, point, incumbent, 0.05 * clock.left())
        if forest.whole and incumbent.radius[0] == np.inf:
            return best, proofs, "no fooled point found, none excluded beyond lower"
        if forest.whole and forest.lower < 0.999 * min(rung.reach, incumbent.radius[0]):
            return best, proofs, "rounding stops the search at a leaf"
        if forest.whole:
            proved.append((forest.lower, time.process_time() - began))
        elif rung.reach == np.inf:
            lost = max(lost, time.process_time() - began)
        rung = next_rung(proved, rung, forest.whole, incumbent.radius[0], lost, clock)


def climb_at_last(task: Task, point: int, incumbent: Incumbent, gap: float, clock: Clock) -> tuple[float, Proofs, str]:
    """The same for summed probabilities, whose trees grow little with the radius: most time for the incumbent.

    A tree a hundredth short of it comes first: it costs little, and finds most of the nearer points.
    """
    best, proofs = 0.0, no_proofs()
    for short in (FIRST_GAP, gap):
        rung = rung_of(np.inf, MOST_OF_IT, clock)
        forest = grow_forest(task, point, Aim(np.inf, short, 0.0, True), incumbent, clock, rung.nodes, rung.seconds)
        if forest.lower > best or not len(proofs.point):
            best, proofs = max(best, forest.lower), forest.proofs
        if forest.whole and best >= (1.0 - 2.0 * gap) * incumbent.radius[0]:
            return best, proofs, ""
        if not forest.whole:
            break
    climbed = climb(task, point, incumbent, gap, clock)
    return climbed if climbed[0] >= best else (best, proofs, climbed[2])


def horizon(task: Task, point: int) -> float:
    """How far fooled points are looked for: a million sizes of the problem."""
    pairs = task.pairs
    rate = np.abs(pairs.rows) @ task.space.norms
    terms = np.abs(pairs.rows) @ np.abs(task.points.start[point]) + np.abs(pairs.constants) / task.points.length[point]
    far = float(1e6 * (1.0 + (terms / np.maximum(rate, 1e-300)).max()))
    # Beyond the box there is nothing to be found.
    room = np.maximum(-task.points.low[point], task.points.high[point])
    farthest = np.linalg.norm(room) if task.space.euclidean else room.max(initial=0.0)
    return min(far, float(farthest) * (1.0 + 1e-9)) if len(room) else far


def next_rung(
    proved: list[tuple[float, float]], last: Rung, whole: bool, incumbent: float, lost: float, clock: Clock
) -> Rung:
    """Down until a short tree suffices, then up by as much as should take a third of the time left.

    Half of the way to the incumbent at most, unless the last two rungs say that it can be reached.
    """
    tried = min(last.reach, incumbent)
    if not proved:
        return rung_of(0.8 * tried, 0.15, clock, FIRST_TRY)
    radius, seconds = proved[-1]
    left, power = clock.left(), growth(proved)
    if not whole:
        return rung_of(math.sqrt(radius * tried), 0.5, clock)
    reachable = (incumbent / radius) ** power * seconds < 0.5 * left
    if radius > NEARLY * incumbent or (len(proved) > 1 and reachable and 0.5 * left > lost):
        return rung_of(np.inf, 0.6, clock)
    factor = (max(left, 0.0) / 3.0 / max(seconds, 1e-6)) ** (1.0 / power)  # the time may have run out meanwhile
    most = min(HIGHEST_STEP, math.sqrt(incumbent / radius))
    return rung_of(radius * min(max(factor, 1.002), most), 0.5, clock)


def growth(proved: list[tuple[float, float]]) -> float:
    """p of seconds ~ r^p, from the last two rungs."""
    if len(proved) < 2:
        return USUAL
    (near, cheap), (far, dear) = proved[-2:]
    slope = math.log(max(dear, 1e-6) / max(cheap, 1e-6)) / math.log(far / near) if far > near else STEEPEST
    return min(max(slope, FLATTEST), STEEPEST)
