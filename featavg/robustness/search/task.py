"""A problem made ready for the kernels: neurons, rows and points in units that are powers of two, hence exact."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from featavg.arrays import Array, Ints
from featavg.robustness.proof.format import Problem
from featavg.robustness.proof.pools import Products
from featavg.robustness.proof.prepared import Prepared, prepared
from featavg.robustness.search.batch import Desk, Points
from featavg.robustness.search.branch import stack_for
from featavg.robustness.search.pairs import Pairs, power_of_two, table_of
from featavg.robustness.search.places import Space, bench_for, no_incumbent

# Inner products are taken in the space of the inputs if it has few axes: so many, or this share of the neurons.
FEW_AXES = 8
FEWER_AXES = 0.1
FIRST_LEVELS = 64


class Task(NamedTuple):
    """What the kernels are given."""

    space: Space
    pairs: Pairs
    points: Points
    desk: Desk


def task_of(problem: Problem | Prepared, start: Array | None = None, precise: bool = False) -> Task:
    """Scale a problem: ‖w_j‖ and the largest |A_ij| of a row near 1, and z0 of every point below 1.

    `start` (point, axis) are points that may be fooled. Where it matters to be `precise`, inner products are taken in
    the space of the inputs, not from the Gram matrix, which squares what cancels.
    """
    asked = prepared(problem)
    # A copy: whatever the search does, the checker's own numbers stay as they are.
    problem, neurons, weights = asked.problem, asked.problem.neurons, asked.scaled.weights.copy()
    unit = np.ldexp(1.0, -asked.scaled.exponent)
    pairs, label = table_of(problem, asked.pairs, neurons.outputs / unit)
    points = _points(asked.centers.high, label, pairs, problem)
    if start is not None:
        points.guess[:] = (start @ weights.T + asked.scaled.biases) / points.length[:, None]
    count, axes = weights.shape
    boxed = is_boxed(problem)
    direct = precise or boxed or axes <= max(FEW_AXES, FEWER_AXES * count)
    squares, euclidean = np.einsum("ij,ij->i", weights, weights), problem.norm == "l2"
    space = Space(
        weights,
        np.zeros((0, 0)) if direct else weights @ weights.T,
        np.sqrt(squares) if euclidean else np.abs(weights).sum(axis=1),
        squares,
        euclidean,
        boxed,
    )
    pooled = len(pairs.role) > 0
    rows = 1 if pooled else int(np.diff(pairs.first_row).max())
    desk = Desk(
        bench=bench_for(count, axes if direct else 0, rows, boxed),
        stack=stack_for(FIRST_LEVELS, count),
        incumbent=no_incumbent(count, axes if boxed else 0),
        wide=np.full(count, np.inf),
        narrow=np.full(count, -np.inf),
        used=np.zeros(5, dtype=np.int64),
        neuron_unit=unit,
        constants=np.zeros(len(pairs.constants)),
        size=np.zeros(len(pairs.constants)),
        rate=np.zeros(len(pairs.constants)),
        row=np.zeros((1, count)),
        level=np.zeros(1),
        products=Products(
            weights @ weights.T if pooled else np.zeros((0, 0)), np.asarray(space.norms, np.float64), 0.0
        ),
        nothing=np.zeros((len(neurons.constants) if pooled else 0, count)),
        mix=np.zeros(len(neurons.constants) + 1),
        average=np.zeros(count),
        slack=np.zeros(count),
        gap=np.zeros(count),
        contact=np.zeros((2, count)),
        curve=np.zeros(count),
        curved=np.zeros(1, dtype=np.int64),
    )
    return Task(space, pairs, points, desk)


def is_boxed(problem: Problem) -> bool:
    """Whether vectors need all their axes: everything but ℓ2 without a box."""
    return problem.norm != "l2" or problem.low is not None


def _points(start: Array, label: Ints, pairs: Pairs, problem: Problem) -> Points:
    count, neurons = start.shape
    shape = (count, problem.x.shape[1] if is_boxed(problem) else 0)
    size = np.maximum(np.abs(start).max(axis=1, initial=0.0), np.abs(pairs.constants).max(initial=0.0))
    length = np.ones(count) if len(pairs.role) else 1.0 / power_of_two(size)
    low, high = np.full(shape, -np.inf), np.full(shape, np.inf)
    if problem.low is not None and problem.high is not None:
        with np.errstate(over="ignore"):
            low = np.asarray((problem.low - problem.x) / length[:, None], dtype=np.float64)
            high = np.asarray((problem.high - problem.x) / length[:, None], dtype=np.float64)
    return Points(
        start=np.ascontiguousarray(start / length[:, None]),
        length=length,
        label=label,
        guess=(start / length[:, None]).copy(),
        reach=np.full(count, np.inf),
        enough=np.zeros(count),
        radius=np.full(count, np.inf),
        theta=np.zeros((count, neurons)),
        delta=np.zeros(shape),
        low=low,
        high=high,
        lower=np.zeros(count),
        state=np.zeros(count, dtype=np.int64),
    )


def shifts(task: Task, chosen: Any) -> Array:
    """δ (point, axis) of the nearest fooled points known, for some of the points."""
    points, length = task.points, task.points.length[chosen, None]
    return moved_by(task, points.theta[chosen] * length, points.delta[chosen] * length)


def moved_by(task: Task, theta: Array, delta: Array) -> Array:
    """δ (..., axis), in the units of the point: −Wᵀθ for ℓ2 without a box."""
    return delta if delta.shape[-1] else -theta @ task.space.weights
