"""Fooled points to begin with, for summed probabilities: those of attacks, or of a problem that is harder to fool.

logsumexp over n own outputs is at most their largest + log n, and that over a rival's n' outputs is at least the
largest of them, and at least their mean + log n'. So a point is fooled where max_own f + log n is no more than either:
a decision by maximum, which small networks are solved for in rationals (`exactly`).
"""

from __future__ import annotations

import math
import time

import numpy as np

from featavg.arrays import Array
from featavg.robustness.proof import Decision, Problem, witness_distance
from featavg.robustness.proof.format import part
from featavg.robustness.search.exactly import exactly
from featavg.robustness.search.lattice import on_lattice
from featavg.robustness.search.task import Task


def seed(task: Task, problem: Problem, start: Array) -> None:
    """Make the points of `start` (point, axis) that are fooled the incumbents of a search."""
    points, weights = task.points, task.space.weights
    reached = np.isfinite(witness_distance(problem, start))
    for i in np.flatnonzero(reached).tolist():
        delta = (start[i] - problem.x[i]) / points.length[i]
        if points.delta.shape[1]:
            points.delta[i] = delta
        else:
            # What is orthogonal to all neurons does not matter.
            points.theta[i] = np.linalg.lstsq(weights.T, -delta, rcond=None)[0]
            delta = -weights.T @ points.theta[i]
        points.radius[i] = np.linalg.norm(delta) if task.space.euclidean else np.abs(delta).max()


def inner_start(problem: Problem, point: int, seconds: float) -> Array | None:
    """A point that is fooled, if one is found in the smaller set in so much CPU time: (axis,)."""
    alone, deadline = part(problem, np.array([point])), time.process_time() + seconds
    best, found = np.inf, None
    for rival in np.setdiff1d(problem.decision.class_of, problem.labels[point]).tolist():
        smaller = smaller_problem(alone, rival)
        exact = exactly(smaller, 0, best, deadline)
        if exact is None or exact.delta is None or exact.cell is None:
            continue
        distance, witness = on_lattice(smaller, exact.cell, exact.delta)
        if distance < best:
            best, found = distance, witness
    return found


def smaller_problem(problem: Problem, rival: int) -> Problem:
    """By maximum: own outputs + log(n/n'), a rival's outputs − log n' and their mean; no other outputs."""
    outputs, constants = problem.neurons.outputs, problem.neurons.constants
    own, other = (np.flatnonzero(problem.decision.class_of == group) for group in (problem.labels[0], rival))
    count, others = len(own), len(other)
    rows = np.concatenate([outputs[own], outputs[other], outputs[other].mean(axis=0, keepdims=True)])
    levels = np.concatenate(
        [
            constants[own] + math.log(count / others),
            constants[other] - math.log(others),
            constants[other].mean(keepdims=True),
        ]
    )
    neurons = problem.neurons._replace(outputs=rows, constants=levels)
    class_of = np.repeat([0, 1], [count, others + 1])
    return problem._replace(
        neurons=neurons, decision=Decision("maximum", class_of), labels=np.zeros_like(problem.labels), target=None
    )
