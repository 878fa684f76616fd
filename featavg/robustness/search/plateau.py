"""Witnesses on plateaus and kinks, where no push along δ helps: round points, or such that a whole ball is fooled.

If Σ_j A_ij ReLU(z_j + τ‖w_j‖ sign A_ij) + c_i <= 0 for all rows, everything within τ is fooled too, rounding included.
"""

from __future__ import annotations

import numpy as np

from featavg.arrays import Array, Ints
from featavg.robustness.proof import Problem, witness_distance
from featavg.robustness.search.batch import place_of
from featavg.robustness.search.places import Incumbent, Place, no_incumbent
from featavg.robustness.search.polish import polish
from featavg.robustness.search.task import Task, moved_by

TRIES = 12
# How many binary digits of the coordinates are kept where round numbers are tried.
ROUND = (46, 40, 30, 20, 10)
HALVINGS = 50


def find_inside(task: Task, problem: Problem, points: Ints, upper: Array, witness: Array) -> None:
    """Improve the witnesses of some points: round coordinates, or τ from their rounding upward."""
    for point in points.tolist():
        target = None if problem.target is None else problem.target[[point]]
        alone = problem._replace(x=problem.x[[point]], labels=problem.labels[[point]], target=target)
        length = task.points.length[point]
        radius = task.points.radius[point] * length
        scale = max(float(np.abs(alone.x).max(initial=0.0)), radius)
        nearest = alone.x + moved_by(task, task.points.theta[point], task.points.delta[point]) * length
        offered = [grid(nearest, scale, bits) for bits in ROUND]
        shown = False
        for k in range(len(ROUND) + TRIES):
            if k >= len(ROUND):
                delta = inside(task, point, 2.0**-50 * 8.0 ** (k - len(ROUND)) * scale / length)
                offered = [*offered, alone.x if delta is None else alone.x + delta]
            candidate = offered[k]
            if problem.low is not None and problem.high is not None:
                candidate = np.clip(candidate, problem.low, problem.high)
            distance = float(witness_distance(alone, candidate)[0])
            shown = shown or distance < np.inf
            if distance < upper[point]:
                upper[point], witness[point] = distance, candidate[0]
            if upper[point] <= (1.0 + 1e-7) * radius or (shown and k >= len(ROUND)):
                break
        if np.isfinite(upper[point]):
            draw_near(alone, nearest, upper[point : point + 1], witness[point : point + 1])


def draw_near(alone: Problem, nearest: Array, upper: Array, witness: Array) -> None:
    """Halve the way from the nearest point to the witness of one point, as long as it is fooled there."""
    for _ in range(HALVINGS):
        candidate = nearest + 0.5 * (witness - nearest)
        distance = witness_distance(alone, candidate)
        if not distance[0] < upper[0]:
            return
        upper[:], witness[:] = distance, candidate


def grid(point: Array, scale: float, bits: int) -> Array:
    """Coordinates rounded to multiples of 2^-bits of the scale: vertices of small networks often are such numbers."""
    unit = 2.0 ** (np.frexp(scale)[1] - bits)
    rounded: Array = np.round(point / unit) * unit
    return rounded


def inside(task: Task, point: int, tau: float) -> Array | None:
    """δ of the nearest point found around which a ball of radius τ is fooled."""
    best: Incumbent = no_incumbent(len(task.space.norms), task.points.delta.shape[1])
    points, pairs, label = task.points, task.pairs, task.points.label[point]
    moved = points.start[point] + task.space.weights @ moved_by(task, points.theta[point], points.delta[point])
    for pair in range(pairs.first_pair[label], pairs.first_pair[label + 1]):
        best.salt[0] = pair
        place = shifted(place_of(task.space, points, pairs, point, pair, task.desk), tau * task.space.norms)
        for guess in (moved, place.start, task.desk.wide):
            polish(task.space, place, task.desk.narrow, task.desk.wide, guess, best, task.desk.bench)
    if np.isinf(best.radius[0]):
        return None
    return moved_by(task, best.theta, best.delta) * points.length[point]


def shifted(place: Place, step: Array) -> Place:
    """All rows raised by what a step (neuron,) of every pre-activation can do at most."""
    up, down = (place.rows >= 0).all(axis=0), (place.rows <= 0).all(axis=0)
    start = place.start + np.where(up, step, np.where(down, -step, 0.0))
    constants = place.constants + np.abs(place.rows) @ np.where(up | down, 0.0, step)
    return place._replace(start=start, constants=constants)
