"""All points of a question: those already wrong, those closed together, and the rest one by one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from featavg.arrays import Array, Bools, Ints
from featavg.robustness import batch
from featavg.robustness.boxes import BoxedEuclidean, Cube
from featavg.robustness.certificate import Stage
from featavg.robustness.empty import prove_empty
from featavg.robustness.first_proof import Emptiness, Proof
from featavg.robustness.first_search import GAP, Budget, Incumbent, polish, search
from featavg.robustness.geometry import Euclidean, Geometry
from featavg.robustness.pooled import PooledProof, pool_of
from featavg.robustness.pooled_certificate import pooled_proved
from featavg.robustness.pooled_search import WIDTH, pooled_search, walk
from featavg.robustness.question import Question
from featavg.robustness.region import FooledSet, fooled_set
from featavg.robustness.relaxation import Place
from featavg.robustness.slab_search import prove_slabs
from featavg.robustness.verifier import Proofs

# Pairs of points and rivals that are treated together: what fits into the cache.
CHUNK = 8192
# So many classes on the other side are bounded together by slabs; a search for each would end with its budget.
MANY = 20
Progress = Callable[[int, int], None]


@dataclass
class Answer:
    """What is known of each point so far."""

    lower: Array  # (sample,)
    delta: Array  # (sample, axis)  the perturbation found
    known: Bools  # (sample,)  whether there is one
    ended: list[str]  # why a bracket is open, empty if nothing is left to search
    proofs: Proofs = field(default_factory=list)


@dataclass(frozen=True)
class Task:
    """A question with what every point of it shares."""

    question: Question
    fooled: FooledSet
    span: Euclidean | None  # ℓ2 without a box, for all points alike
    start: Array  # (sample, neuron)  Z0
    magnitude: Array  # (sample, neuron)  the terms that Z0 is made of
    stage: Stage | None  # where proofs of summed probabilities are checked

    @classmethod
    def of(cls, question: Question) -> Task:
        """Merge neurons, choose coordinates, compute the pre-activations of all points."""
        fooled = fooled_set(question)
        neurons = fooled.neurons
        flat = question.norm == "l2" and question.box is None
        start = question.x @ neurons.weights.T + neurons.biases
        sizes = np.sqrt(np.einsum("ij,ij->i", question.x, question.x))
        magnitude = np.outer(sizes, np.linalg.norm(neurons.weights, axis=1)) + np.abs(neurons.biases)
        span = Euclidean.spanned_by(neurons.weights) if flat else None
        stage = Stage.of(question) if question.readout == "summed-probabilities" else None
        return cls(question, fooled, span, start, magnitude, stage)

    def geometry(self, point: int) -> Geometry:
        """The norm of the question around one point."""
        if self.span is not None:
            return self.span
        x = self.question.x[point]
        low, high = (-np.inf, np.inf) if self.question.box is None else self.question.box
        kind = BoxedEuclidean if self.question.norm == "l2" else Cube
        return kind(self.fooled.neurons.weights, low - x, high - x)

    def rivals(self, point: int) -> list[int]:
        """The rivals that point must be defended against."""
        chosen = self.question.rival
        return self.fooled.rivals(int(self.question.y[point])) if chosen is None else [int(chosen[point])]

    def place(self, point: int, rival: int, geometry: Geometry) -> Place:
        """One rival's set, seen from one point."""
        rows, constants = self.fooled.rows(int(self.question.y[point]), rival)
        return Place(self.fooled.neurons, geometry, self.start[point], rows, constants, self.magnitude[point])

    def lift(self, delta: Array) -> Array:
        """Perturbations in the coordinates of the input."""
        return delta if self.span is None else self.span.lift(delta)


def answer(question: Question, budget: Budget, progress: Progress) -> Answer:
    """Bracket the radius of every point of a question."""
    task, count = Task.of(question), len(question.x)
    wrong = question.fooled(question.x)
    incumbents = {int(i): Incumbent() for i in np.flatnonzero(~wrong)}
    waiting = {i: task.rivals(i) for i in incumbents}
    proofs: Proofs = []
    pooled = question.readout == "summed-probabilities"
    if task.span is not None and question.readout not in ("maximum", "summed-probabilities"):
        waiting = _together(task, task.span, incumbents, waiting, proofs)
    lower, ended = np.zeros(count), [""] * count
    delta = np.zeros((count, question.x.shape[1] if task.span is None else task.span.weights.shape[1]))
    left = sum(map(bool, waiting.values()))
    progress(count - left, count)
    for i, incumbent in incumbents.items():
        lower[i] = incumbent.radius * (1.0 - GAP)
        if waiting[i]:
            try:
                lower[i], ended[i] = (_pooled if pooled else _alone)(task, i, waiting[i], incumbent, budget, proofs)
            except (RuntimeError, ArithmeticError, np.linalg.LinAlgError) as error:
                lower[i], ended[i] = 0.0, f"failed: {error}"
            left -= 1
            progress(count - left, count)
        if incumbent.delta is not None:
            delta[i] = incumbent.delta
    known = np.array([wrong[i] or incumbents[i].delta is not None for i in range(count)])
    return Answer(lower, task.lift(delta), known, ended, proofs)


def _together(
    task: Task, span: Euclidean, incumbents: dict[int, Incumbent], waiting: dict[int, list[int]], proofs: Proofs
) -> dict[int, list[int]]:
    """First incumbents of all points, and proofs for the pairs that one node closes; return the rivals left."""
    neurons = task.fooled.neurons
    left: dict[int, list[int]] = {i: [] for i in waiting}
    points = list(waiting)
    step = max(1, CHUNK // max((len(r) for r in waiting.values()), default=1))
    for chunk in (points[k : k + step] for k in range(0, len(points), step)):
        pairs = _pairs(task, [(i, r) for i in chunk for r in waiting[i]])
        radius, delta = batch.descend(pairs, neurons, span)
        order = np.argsort(radius, kind="stable")
        for p in order[::-1][np.isfinite(radius[order[::-1]])]:
            incumbents[int(pairs.points[p])] = Incumbent(float(radius[p]), delta[p])
        reach = np.array([incumbents[int(i)].radius for i in pairs.points]) * (1.0 - GAP)
        known = np.isfinite(reach)
        made, open_pairs = batch.close(pairs.take(known), reach[known], neurons, span)
        proofs.extend(made)
        unproved = ~known
        unproved[known] = open_pairs
        for p in order[unproved[order]]:
            left[int(pairs.points[p])].append(int(pairs.rivals[p]))
    return left


def _pairs(task: Task, chosen: list[tuple[int, int]]) -> batch.Pairs:
    points, rivals = (np.array(column, dtype=np.int64) for column in zip(*chosen, strict=True))
    labels = task.question.y[points]
    table: dict[tuple[int, int], tuple[Array, Array]] = {}
    for pair in sorted(set(zip(labels.tolist(), rivals.tolist(), strict=True))):
        table[pair] = task.fooled.rows(*pair)
    keys = list(table)
    position = {pair: k for k, pair in enumerate(keys)}
    line: Ints = np.array([position[pair] for pair in zip(labels.tolist(), rivals.tolist(), strict=True)])
    rows = np.concatenate([table[pair][0] for pair in keys])[line]
    constants = np.concatenate([table[pair][1] for pair in keys])[line]
    return batch.Pairs(points, rivals, task.start[points], rows, constants, task.magnitude[points])


def _alone(
    task: Task,
    point: int,
    rivals: list[int],
    incumbent: Incumbent,
    budget: Budget,
    proofs: Proofs,
) -> tuple[float, str]:
    """Search one point; return what is proved and why it ended, if it ended early."""
    geometry = task.geometry(point)
    places = {rival: task.place(point, rival, geometry) for rival in rivals}
    for rival, place in places.items():
        polish(place, rival, np.ones(len(place.start), dtype=bool), incumbent)
        polish(place, rival, place.start > 0, incumbent)
    here = np.array([point])
    if incumbent.delta is None and np.isinf(geometry.diameter):
        cuts = [prove_empty(place, rival, incumbent) for rival, place in places.items()]
        if all(cut is not None for cut in cuts):
            proofs.extend(Emptiness(here, np.array([r]), cut) for r, cut in zip(rivals, cuts, strict=True) if cut)
            return np.inf, ""
    outcome = search(places, incumbent, budget)
    proofs.extend(Proof(here, np.array([rival]), root) for rival, root in outcome.roots.items())
    beyond = incumbent.delta is None and outcome.lower >= geometry.diameter
    return np.inf if beyond else outcome.lower, outcome.ended


def _pooled(
    task: Task, point: int, rivals: list[int], incumbent: Incumbent, budget: Budget, proofs: Proofs
) -> tuple[float, str]:
    """The same for summed probabilities; the boundary of the maximum read-out is where the walks begin."""
    geometry, label = task.geometry(point), int(task.question.y[point])
    pools = {rival: pool_of(task.fooled, label, rival) for rival in rivals}
    neurons = task.fooled.neurons
    start, magnitude = task.start[point], task.magnitude[point]
    place = Place(neurons, geometry, start, neurons.outputs, neurons.constants, magnitude)
    for rival, pool in pools.items():
        rows = neurons.outputs[pool.own] - neurons.outputs[rival]
        edge = Place(neurons, geometry, start, rows, neurons.constants[pool.own] - neurons.constants[rival], magnitude)
        near = Incumbent()
        polish(edge, rival, np.ones(len(start), dtype=bool), near)
        walk(place, pool, geometry.weights[0] * 0.0 if near.delta is None else near.delta, incumbent)
    here, slabs = np.array([point]), None
    shown = task.question.norm == "l2" and incumbent.delta is not None
    lower, ended = 0.0, f"slabs, since {len(rivals)} rivals are too many to search"
    if len(rivals) < MANY or not shown:
        lower, ended, roots = pooled_search(place, pools, incumbent, budget)
        trees = [PooledProof(here, np.array([rival]), root) for rival, root in roots.items()]
        proofs.extend(trees)
        held = _held(task, trees)
        lower, ended = (held, ended or "rounding weakens the proof") if held < lower else (lower, ended)
    if ended and shown:
        slabs = prove_slabs(place, next(iter(pools.values())).own, np.array(rivals), point, incumbent)
    if slabs is not None and slabs.reach > lower:
        proofs.append(slabs)
        lower, ended = slabs.reach, ended if slabs.reach < (1.0 - WIDTH) * incumbent.radius else ""
    beyond = incumbent.delta is None and lower >= geometry.diameter
    return np.inf if beyond else lower, ended


def _held(task: Task, trees: list[PooledProof]) -> float:
    """What trees prove in the verifier's arithmetic, from which that of the search drifts away: with depth, and where
    outputs are large against their differences.
    """
    assert task.stage is not None
    return min((pooled_proved(task.stage, tree) for tree in trees), default=np.inf)
