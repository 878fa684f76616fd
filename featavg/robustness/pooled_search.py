"""Branch and bound for the read-out of summed probabilities, to a bracket of one percent."""

from __future__ import annotations

import heapq
import itertools
import time
from dataclasses import dataclass, field, replace

import numpy as np

from featavg.arrays import Array
from featavg.robustness.first_search import CLOSED, OUTWARD, Budget, Incumbent, everything_on, horizon
from featavg.robustness.pooled import Pool, PooledCut, PooledNode, exp_chords
from featavg.robustness.relaxation import Place, Solution, chords, nearest_point, relax

# Width of the bracket, as a share of the upper bound.
WIDTH = 0.01
# Tangents a round; more of them once nothing is left to branch on.
FEW_TANGENTS, MOST_TANGENTS = 3, 48
MOST_ROUNDS = 8
WORTHWHILE = 0.1
WALK = 20
# The first nodes, and every so many later, look for a better incumbent.
EARLY = 32
# Boxes of output differences are widened by this, three times as much as the verifier does.
WIDER = 3e-12
# A level that splits a box keeps this share of it on either side.
MARGIN = 0.2


@dataclass(order=True)
class PooledOpen:
    """A node that waits for its turn."""

    bound: float
    ticket: int
    pool: Pool = field(compare=False)
    low: Array = field(compare=False)
    high: Array = field(compare=False)
    least: Array = field(compare=False)  # of d, as branched
    most: Array = field(compare=False)
    z: Array = field(compare=False)  # where the parent's relaxation ended, and the first tangent is taken
    node: PooledNode = field(compare=False)


def walk(place: Place, pool: Pool, delta: Array, incumbent: Incumbent) -> None:
    """Improve the incumbent: to the nearest point of the linearised boundary, and again, and back along the ray."""
    geometry, step = place.geometry, delta
    for _ in range(WALK):
        z = place.start + geometry.weights @ delta
        slope = pool.gradient(z) @ geometry.weights
        if not slope.any():
            break
        following, _ = geometry.nearest(slope[None], np.array([pool.margin(z) - slope @ delta]))
        if following is None or geometry.length(following) > 2.0 * incumbent.radius:
            break
        step = following
        if geometry.length(step - delta) <= 1e-6 * geometry.length(step):
            break
        delta = step
    _shorten(place, pool, step, incumbent)


def _shorten(place: Place, pool: Pool, delta: Array, incumbent: Incumbent) -> None:
    """The first fooled point on the ray through δ, no farther than twice as far, if it beats the incumbent."""
    moved = place.geometry.weights @ delta
    length = place.geometry.length(delta)
    within = min(incumbent.radius, place.geometry.diameter)
    stops = (s for s in (1.0, 1.0 + 1e-6, 1.001, 1.01, 1.1, 2.0) if s * length < within or s == 1.0)
    high = next((s for s in stops if pool.margin(place.start + s * moved) <= 0.0), None)
    if high is None or length == 0:
        return
    low = 0.0
    for _ in range(50):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if pool.margin(place.start + middle * moved) <= 0.0 else (middle, high)
    if high * length < within:
        incumbent.radius, incumbent.delta = high * length, high * delta


def pooled_search(
    place: Place, pools: dict[int, Pool], incumbent: Incumbent, budget: Budget
) -> tuple[float, str, dict[int, PooledNode]]:
    """What is proved, why it ended if it did before the bracket was narrow, and one tree for each rival."""
    began = time.process_time()
    far = horizon(place)
    roots = {rival: PooledNode() for rival in pools}
    heap: list[PooledOpen] = []
    unknown = np.full(len(place.start), np.inf)
    for rival, pool in pools.items():
        count = len(pool.others)
        free = np.full(count, -np.inf), np.zeros(count)
        heap.append(PooledOpen(0.0, len(heap), pool, -unknown, unknown, *free, place.start, roots[rival]))
    tickets, nodes, ended = len(heap), 0, ""
    stuck: list[tuple[float, PooledOpen]] = []
    while heap and heap[0].bound < _reach(incumbent, far):
        if nodes >= budget.nodes:
            ended = f"budget of {budget.nodes} nodes"
        elif time.process_time() - began > budget.seconds:
            ended = f"budget of {budget.seconds:g} seconds"
        if ended:
            break
        task, reach = heapq.heappop(heap), _reach(incumbent, far)
        nodes += 1
        split = explore(place, task, incumbent, far)
        if split is None:
            stuck.append((reach, task))
        elif split != (CLOSED, CLOSED, 0.0):
            for child in _branch(task, *split, tickets):
                heapq.heappush(heap, child)
            tickets += 2
        stuck, again = _sorted_out(stuck, _reach(incumbent, far))
        for task in again:
            heapq.heappush(heap, task)
    left = min([task.bound for task in heap[:1]] + [task.bound for _, task in stuck], default=np.inf)
    if not ended and left < _reach(incumbent, far):
        ended = "rounding stops the search at a leaf"
    return min(_reach(incumbent, far), left), ended, roots


def _sorted_out(
    stuck: list[tuple[float, PooledOpen]], reach: float
) -> tuple[list[tuple[float, PooledOpen]], list[PooledOpen]]:
    """Nodes that stay stuck, and those that a shorter reach has freed."""
    freed = [task for then, task in stuck if reach < 0.999 * then]
    return [(then, task) for then, task in stuck if reach >= 0.999 * then], freed


def _reach(incumbent: Incumbent, far: float) -> float:
    return min(incumbent.radius * (1.0 - WIDTH), far)


def explore(place: Place, task: PooledOpen, incumbent: Incumbent, far: float) -> tuple[int, int, float] | None:
    """Relax and tighten; return what to branch on (neuron, other, level), (−1, −1, 0) if closed, None if stuck."""
    tangents = FEW_TANGENTS
    for turn in itertools.count():
        reach = _reach(incumbent, far)
        ball = place.geometry.norms * reach
        _tighten(place, task, reach, -ball, ball)
        box = task.pool.box(task.low, task.high, (task.least, task.most), WIDER)
        if (box[0] > box[1]).any():
            task.node.cuts.append(_nothing(task, reach))
            return CLOSED, CLOSED, 0.0
        cut, solution = _relaxed(place, task, box, reach, tangents)
        task.node.cuts.append(cut)
        gain = solution.distance - task.bound
        task.bound = max(task.bound, solution.distance)
        if task.bound >= reach:
            return CLOSED, CLOSED, 0.0
        if solution.delta is None:
            return None
        # At a kink the walk goes astray, and the relaxation's own end is what the search will not get past.
        _shorten(place, task.pool, solution.delta, incumbent)
        if turn == 0 and (task.ticket < EARLY or task.ticket % EARLY == 0):
            walk(place, task.pool, solution.delta, incumbent)
        offset, distance, most = np.array(solution.offset), np.array(solution.distance), np.array(reach)
        _tighten(place, task, reach, *place.geometry.cap(solution.normal, offset, distance, most))
        if task.bound >= _reach(incumbent, far) or (task.low > task.high).any():
            return CLOSED, CLOSED, 0.0
        if turn >= MOST_ROUNDS or gain < WORTHWHILE * (reach - task.bound):
            worst = _worst(task, cut, place.start + place.geometry.weights @ solution.delta)
            if worst is not None or tangents >= MOST_TANGENTS:
                return worst
            tangents *= 4
    raise AssertionError("a node ends closed, stuck or branched")


def _nothing(task: PooledOpen, reach: float) -> PooledCut:
    own, others = len(task.pool.own), len(task.pool.others)
    return PooledCut(reach, np.full((1, own), 1.0 / own), np.ones(1), np.zeros(1 + 2 * others), np.zeros(len(task.low)))


def _relaxed(
    place: Place, task: PooledOpen, box: tuple[Array, Array], reach: float, most: int
) -> tuple[PooledCut, Solution]:
    """Take a tangent where the last relaxation ended, solve again, until the end stays where it is."""
    tangents, levels = [], []
    for _ in range(most):
        tangent, level = _tangent(task.pool, task.z, task, box)
        tangents.append(tangent)
        levels.append(level)
        rows, constants = task.pool.rows(np.array(tangents), np.array(levels), box, (task.least, task.most))
        here = replace(place, rows=rows, constants=constants)
        solution = nearest_point(here, relax(here, task.low, task.high), reach, everything_on(here))
        if solution.delta is None or solution.distance >= reach:
            break
        previous, task.z = task.z, place.start + place.geometry.weights @ solution.delta
        if np.abs(task.z - previous).max(initial=0.0) <= 1e-3 * np.abs(task.z).max(initial=0.0):
            break
    return PooledCut(reach, np.array(tangents), np.array(levels), solution.rows, solution.slopes), solution


def _tangent(pool: Pool, z: Array, task: PooledOpen, box: tuple[Array, Array]) -> tuple[Array, float]:
    """The tangent p of the own side at z, and the level y of the chords there."""
    outputs = pool.neurons.outputs @ np.maximum(z, 0.0) + pool.neurons.constants
    own = outputs[pool.own]
    tangent = np.exp(own - own.max())
    rows, constants = pool.differences
    _, _, slope, lift = chords(task.low, task.high)
    above = np.where(slope > 0, slope * z + lift, np.maximum(z, 0.0))
    d = np.maximum(rows, 0.0) @ above + np.minimum(rows, 0.0) @ np.maximum(z, 0.0) + constants
    alpha, gamma = exp_chords(*box)
    return tangent / tangent.sum(), float(1.0 + (alpha * np.clip(d, *box) + gamma).sum())


def _tighten(place: Place, task: PooledOpen, reach: float, least: Array, most: Array) -> None:
    slack = OUTWARD * (place.magnitude + reach * place.geometry.norms)
    task.low = np.maximum(task.low, place.start + least - slack)
    task.high = np.minimum(task.high, place.start + most + slack)


def _worst(task: PooledOpen, cut: PooledCut, z: Array) -> tuple[int, int, float] | None:
    """The neuron whose chord, or the box whose exponential, overstates most at z."""
    pool = task.pool
    box = pool.box(task.low, task.high, (task.least, task.most), WIDER)
    rows, _ = pool.tangent_rows(cut.tangents, cut.levels, box)
    share = cut.rows[: len(rows)] + 1e-12
    share /= share.sum()
    row, level_weight = share @ rows, float(share @ (1.0 / cut.levels))
    _, between, slope, lift = chords(task.low, task.high)
    bent = between & (row < 0)
    neurons = np.where(bent, -row * (slope * z + lift - np.maximum(z, 0.0)), 0.0)
    rows, constants = pool.differences
    d = np.clip(rows @ np.maximum(z, 0.0) + constants, *box)
    alpha, gamma = exp_chords(*box)
    boxes = (alpha * d + gamma - np.exp(d)) * level_weight
    if max(neurons.max(initial=0.0), boxes.max(initial=0.0)) <= 0:
        return None
    if neurons.max(initial=0.0) >= boxes.max(initial=0.0):
        return int(neurons.argmax()), -1, 0.0
    other = int(boxes.argmax())
    low, high = box[0][other], box[1][other]
    level = np.clip(d[other], low + MARGIN * (high - low), high - MARGIN * (high - low))
    return -1, other, float(level)


def _branch(task: PooledOpen, neuron: int, other: int, level: float, ticket: int) -> list[PooledOpen]:
    """Both signs of a neuron, or both sides of a level of d."""
    node = task.node
    node.neuron, node.other, node.level = neuron, other, level
    node.children = [PooledNode(), PooledNode()]
    children = []
    for side, child in enumerate(node.children):
        low, high, least, most = (part.copy() for part in (task.low, task.high, task.least, task.most))
        if neuron >= 0:
            (high if side == 0 else low)[neuron] = 0.0
        else:
            (most if side == 0 else least)[other] = level
        children.append(PooledOpen(task.bound, ticket + side, task.pool, low, high, least, most, task.z, child))
    return children
