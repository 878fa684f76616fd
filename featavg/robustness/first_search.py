"""Branch and bound for one point: best first, over the sets of all its rivals, with one incumbent.

Each node is relaxed, tightened over the cap that its bound leaves, relaxed again, and branched on the neuron whose
chord is worst at the relaxed solution, until nothing nearer than the incumbent can be left.
"""

from __future__ import annotations

import heapq
import itertools
import time
from dataclasses import dataclass, field

import numpy as np

from featavg.arrays import Array, Bools
from featavg.errors import InputError
from featavg.robustness.first_proof import Cut, Node
from featavg.robustness.relaxation import Place, Relaxed, Seeds, chords, nearest_point, relax

# A bracket is exact when upper − lower <= GAP · upper.
GAP = 1e-6
# A node is tightened again as long as its bound gains this share of what is missing.
WORTHWHILE = 0.3
MOST_ROUNDS = 8
CLOSED = -1
# Intervals are widened by this share of their terms, three times as much as the verifier does.
OUTWARD = 3e-14
# The share of a tie's tolerance that incumbents make use of.
SHY = 1.0 - 2e-6


@dataclass(frozen=True)
class Budget:
    """What one point may cost: nodes of the search, and CPU seconds."""

    nodes: int = 20_000
    seconds: float = 30.0

    def __post_init__(self) -> None:
        if not (self.nodes >= 1 and self.seconds > 0):
            raise InputError(f"a budget needs nodes >= 1 and seconds > 0, got {self.nodes} and {self.seconds}")


@dataclass
class Incumbent:
    """The nearest fooled point known so far."""

    radius: float = np.inf
    delta: Array | None = None
    tried: set[tuple[int, bytes, bool]] = field(default_factory=set)

    def reach(self, horizon: float) -> float:
        """How far the proof must go: nothing nearer than this, and the incumbent is exact."""
        return min(self.radius * (1.0 - GAP), horizon)


@dataclass(order=True)
class Open:
    """A node that waits for its turn."""

    bound: float
    ticket: int
    rival: int = field(compare=False)
    low: Array = field(compare=False)
    high: Array = field(compare=False)
    seeds: Seeds = field(compare=False)
    node: Node = field(compare=False)


@dataclass
class Outcome:
    """How the search of one point ended."""

    lower: float  # nothing nearer is fooled
    ended: str  # empty if nothing is left open, else why it is
    roots: dict[int, Node]  # one proof for each rival


def everything_on(place: Place) -> Seeds:
    """The first cut of each row: all its convex neurons on."""
    return Seeds(np.arange(len(place.rows)), np.ones(place.rows.shape))


def polish(place: Place, rival: int, active: Bools, incumbent: Incumbent, tie: float = 0.0) -> None:
    """Improve the incumbent by the nearest point of a convex part of the fooled set, as long as that helps.

    With the pattern fixed for the neurons that some row subtracts, the rows only rise and become convex: the nearest
    point of {rows <= tie} is fooled, and its own pattern is at least as good.
    """
    subtracted = (place.rows < 0).any(axis=0)
    while True:
        key = (rival, np.packbits(active & subtracted).tobytes(), tie > 0)
        if key in incumbent.tried:
            return
        incumbent.tried.add(key)
        delta = _nearest_fooled(place, active, tie, incumbent.radius)
        if delta is None:
            return
        incumbent.radius, incumbent.delta = place.geometry.length(delta), delta
        active = place.start + place.geometry.weights @ delta > 0


def _nearest_fooled(place: Place, active: Bools, tie: float, within: float) -> Array | None:
    """The nearest δ with rows <= tie at a fixed pattern of the subtracted neurons, if it is nearer than `within`."""
    free = np.zeros(len(place.start), dtype=bool)
    rows = Relaxed(np.minimum(place.rows, 0.0) * active, np.maximum(place.rows, 0.0), place.constants - tie, free, free)
    delta = nearest_point(place, rows, within, everything_on(place)).delta
    if delta is None or place.geometry.length(delta) >= within:
        return None
    z = place.start + place.geometry.weights @ delta
    rounding = 1e-9 * place.geometry.length(delta) * (np.abs(place.rows) @ place.geometry.norms)
    return delta if (place.values(delta) <= place.neurons.tie(z) + rounding).all() else None


def horizon(place: Place) -> float:
    """How far fooled points are looked for unless one is known: a million sizes of the problem, or the whole box."""
    scale = np.abs(place.rows).max(initial=0.0) * place.geometry.norms.max(initial=0.0)
    size = np.abs(place.rows) @ np.abs(place.start) + np.abs(place.constants)
    reach = (np.abs(place.start) / np.maximum(place.geometry.norms, 1e-300)).max(initial=0.0)
    return min(float(1e6 * (reach + size.max() / max(scale, 1e-300))), place.geometry.diameter * (1.0 + 1e-9))


def search(places: dict[int, Place], incumbent: Incumbent, budget: Budget) -> Outcome:
    """Close the gap between the incumbent and the least bound of the open nodes, or end with the budget."""
    began = time.process_time()
    far = min(horizon(place) for place in places.values())
    roots = {rival: Node() for rival in places}
    heap: list[Open] = []
    for rival, place in places.items():
        unknown = np.full(len(place.start), np.inf)
        heap.append(Open(0.0, len(heap), rival, -unknown, unknown, everything_on(place), roots[rival]))
    tickets = len(heap)
    nodes, stuck, ended = 0, np.inf, ""
    while heap and heap[0].bound < incumbent.reach(far):
        if nodes >= budget.nodes:
            ended = f"budget of {budget.nodes} nodes"
        elif time.process_time() - began > budget.seconds:
            ended = f"budget of {budget.seconds:g} seconds"
        if ended:
            break
        task = heapq.heappop(heap)
        nodes += 1
        neuron = explore(places[task.rival], task, incumbent, far)
        if neuron is None:
            stuck = min(stuck, task.bound)
        elif neuron >= 0:
            for child in _branch(task, neuron, tickets):
                heapq.heappush(heap, child)
            tickets += 2
    left = heap[0].bound if heap else np.inf
    if not ended and stuck < incumbent.reach(far):
        ended = "rounding stops the search at a leaf"
    return Outcome(min(incumbent.reach(far), stuck, left), ended, roots)


def explore(place: Place, task: Open, incumbent: Incumbent, far: float) -> int | None:
    """Relax and tighten one node; return the neuron to branch on, −1 if the node is closed, None if it is stuck."""
    for turn in itertools.count():
        reach = incumbent.reach(far)
        tighten(place, task, reach, -place.geometry.norms * reach, place.geometry.norms * reach)
        solution = nearest_point(place, relax(place, task.low, task.high), reach, task.seeds)
        task.node.cuts.append(Cut(np.array([reach]), solution.rows[None], solution.slopes[None]))
        gain = solution.distance - task.bound
        task.bound, task.seeds = max(task.bound, solution.distance), solution.seeds
        if task.bound >= reach:
            return CLOSED
        if solution.delta is None:
            return None
        z = place.start + place.geometry.weights @ solution.delta
        tight = _chord_gap(place, task, z).max(initial=0.0) <= 0
        if turn == 0 or tight:
            polish(place, task.rival, z > 0, incumbent)
        if tight and task.bound < incumbent.reach(far):
            # What is left is the tolerance of a tie, where it is a part of the radius that counts.
            polish(place, task.rival, z > 0, incumbent, SHY * float(place.neurons.tie(z)))
        if task.bound >= incumbent.reach(far):
            return CLOSED
        if tight and gain < WORTHWHILE * (reach - task.bound):
            return None
        offset, distance, most = np.array(solution.offset), np.array(solution.distance), np.array(reach)
        tighten(place, task, reach, *place.geometry.cap(solution.normal, offset, distance, most))
        if (task.low > task.high).any():
            return CLOSED
        score = _chord_gap(place, task, z)
        if score.max() > 0 and (turn >= MOST_ROUNDS or gain < WORTHWHILE * (reach - task.bound)):
            return int(score.argmax())
    raise AssertionError("a node ends closed, stuck or branched")


def tighten(place: Place, task: Open, reach: float, least: Array, most: Array) -> None:
    """Intersect the intervals of a node with z0 + [least, most], rounded outward."""
    slack = OUTWARD * (place.magnitude + reach * place.geometry.norms)
    task.low = np.maximum(task.low, place.start + least - slack)
    task.high = np.minimum(task.high, place.start + most + slack)


def _chord_gap(place: Place, task: Open, z: Array) -> Array:
    """By how much the chords overstate the ReLUs at z, in the units of the rows: (neuron,)."""
    _, between, slope, lift = chords(task.low, task.high)
    weight = np.maximum(-place.rows, 0.0).max(axis=0)
    return np.where(between, weight * np.maximum(slope * z + lift - np.maximum(z, 0.0), 1e-300), 0.0)


def _branch(task: Open, neuron: int, ticket: int) -> list[Open]:
    """Both signs of one neuron."""
    task.node.neuron = neuron
    task.node.children = [Node(), Node()]
    below, above = task.high.copy(), task.low.copy()
    below[neuron], above[neuron] = 0.0, 0.0
    off, on = task.node.children
    return [
        Open(task.bound, ticket, task.rival, task.low, below, task.seeds, off),
        Open(task.bound, ticket + 1, task.rival, above, task.high, task.seeds, on),
    ]
