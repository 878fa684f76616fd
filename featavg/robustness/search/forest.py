"""The trees of one point, one per rival, grown to one reach under a clock."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from featavg.arrays import Array
from featavg.robustness.proof.format import Proofs
from featavg.robustness.search.batch import place_of, units_of
from featavg.robustness.search.branch import FULL, PAUSED, abandon, grow, least_bound, plant, taller
from featavg.robustness.search.budget import Clock
from featavg.robustness.search.explore import MOST_CUTS, Aim, reach_of
from featavg.robustness.search.places import RHO, Incumbent
from featavg.robustness.search.tape import NODES, Tape, longer, proofs_on, tape_for, write_tree
from featavg.robustness.search.task import Task

# The clock is looked at about this often, in seconds.
TICK = 0.02
# A first tape holds at most about this many θ.
MOST_NUMBERS = 2**20
# How often and how far a curve is improved, and how close eigenvalues count as one, as a share of the largest.
CURVE_STEPS, CURVE_STEP, CLOSE = 10, 0.2, 0.05
# Of summed probabilities: what a curve costs at the root, which it adapts.
RHO_AT_FIRST = 1.0


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


def curve_for(task: Task, point: int, pair: int, reach: float) -> tuple[Array, float]:
    """v (neuron,), which with the first ρ costs ρ·reach², and this ρ; empty where curves are not used.

    They need the Gram matrix of ℓ2 without a box, and one row, so that a is known.
    """
    pairs, start = task.pairs, task.points.start[point]
    first, last = pairs.first_row[pair : pair + 2].tolist()
    if len(pairs.role):
        return pooled_curve(task, pair, reach)
    if not len(task.space.gram) or last - first > 1 or not 0.0 < reach < np.inf:
        return np.zeros(0), 0.0
    able = (pairs.rows[first] < 0.0) & (np.abs(start) < task.space.norms * reach)
    if not able.any():
        return np.zeros(0), 0.0
    gram, curve = task.space.gram[np.ix_(able, able)], np.zeros(len(start))
    curve[able] = best_curve(-pairs.rows[first][able], start[able], gram, reach)
    root = np.sqrt(curve[able])
    most = float(np.linalg.eigvalsh(gram * np.outer(root, root))[-1])
    return curve / most, most


def pooled_curve(task: Task, pair: int, reach: float) -> tuple[Array, float]:
    """The same for summed probabilities whose rival's outputs have neurons of their own: all have an equal share."""
    pairs = task.pairs
    first, last = pairs.first_row[pair : pair + 2].tolist()
    neurons = np.unique(pairs.neuron[first:last])
    neurons = neurons[neurons >= 0]
    if not len(neurons) or not 0.0 < reach < np.inf:
        return np.zeros(0), 0.0
    gram, curve = task.desk.products.gram[np.ix_(neurons, neurons)], np.zeros(task.points.start.shape[1])
    curve[neurons] = 1.0 / np.diag(gram)
    root = np.sqrt(curve[neurons])
    most = float(np.linalg.eigvalsh(gram * np.outer(root, root))[-1])
    return curve / most, RHO_AT_FIRST / reach**2


def best_curve(slope: Array, start: Array, gram: Array, reach: float) -> Array:
    """q (neuron,) that is nearly best at the root: in Σ_j env_j − reach²·λ(q), λ the largest eigenvalue of √q G √q,

    neuron j gains E = (a/4q)² − z0² per q_j, and pays reach² ∂λ/∂q_j. So q_j = a/(4√(z0² + reach² ∂λ/∂q_j)), a fixed
    point that small steps find if the eigenvalues next to the largest count too.
    """
    curve = slope / (4.0 * np.sqrt(start**2 + np.diag(gram) * reach**2))
    for _ in range(CURVE_STEPS):
        root = np.sqrt(curve)
        values, vectors = np.linalg.eigh(gram * np.outer(root, root))
        share = np.exp((values - values[-1]) / (CLOSE * values[-1]))
        rise = (vectors**2 @ (values * share)) / (share.sum() * curve)
        curve = curve * (slope / (4.0 * np.sqrt(start**2 + reach**2 * rise)) / curve) ** CURVE_STEP
    return curve


def grow_forest(
    task: Task, point: int, aim: Aim, incumbent: Incumbent, clock: Clock, most: int, seconds: float = np.inf
) -> Forest:
    """Grow the tree of every rival until none is nearer than the reach, with so many nodes or CPU seconds at most."""
    ends = time.process_time() + seconds
    pairs, points, desk = task.pairs, task.points, task.desk
    label = points.label[point]
    tape, lower, whole, curves = first_tape(task), np.inf, True, list[Array]()
    radius = reach_of(aim, incumbent)
    for pair in range(pairs.first_pair[label], pairs.first_pair[label + 1]):
        incumbent.salt[0] = pair
        curve, rho = curve_for(task, point, pair, radius)
        desk.curved[0], desk.curve[: len(curve)] = len(curve), curve
        curves.append(np.sqrt(curve) * desk.neuron_unit[: len(curve)])
        place = place_of(task.space, points, pairs, point, pair, desk)
        units = units_of(points, pairs, point, pair, desk)
        write_tree(tape, point, pairs.rival[pair])
        stack, chunk = desk.stack, 8
        plant(stack, place)
        stack.bound[0, RHO] = rho
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
    desk.curved[0] = 0
    return Forest(min(lower, reach_of(aim, incumbent)), whole, int(tape.used[NODES]), proofs_on(tape, curves))
