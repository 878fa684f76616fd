"""The search as a whole: all points in one compiled call, then the hard ones, one by one, under a clock."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from featavg.arrays import Array, Bools
from featavg.robustness.proof import Problem, Proofs
from featavg.robustness.proof.format import join
from featavg.robustness.proof.prepared import Prepared, prepared
from featavg.robustness.search.batch import CLOSED, close_points
from featavg.robustness.search.budget import Budget, Clock
from featavg.robustness.search.forest import first_tape
from featavg.robustness.search.ladder import climb, climb_at_last, decide
from featavg.robustness.search.places import no_incumbent
from featavg.robustness.search.seeds import seed
from featavg.robustness.search.tape import longer, proofs_on
from featavg.robustness.search.task import Task, shifts, task_of

Progress = Callable[[int, int], None]
# The search ends when lower >= (1 − GAP)·upper; half of what a bracket that is called exact may have.
GAP = 5e-7
# Nodes of a tree in the first call; a point that needs more is hard.
FEW_NODES = 32
# The compiled call on many points returns about this often, in seconds.
TICK = 0.1
INTERRUPTED = "interrupted"


@dataclass
class Proposal:
    """What the search claims: no fooled point nearer than `lower`, one at x + δ. Both are for others to confirm."""

    lower: Array  # (point,)
    known: Bools  # (point,)  whether δ is one
    proofs: Proofs
    ended: list[str]  # (point,)  why the search ended early, empty if it did not
    seconds: Array  # (point,)  CPU seconds that hard points took
    task: Task

    @property
    def radius(self) -> Array:
        """How far the fooled points are said to be: (point,)."""
        return self.task.points.radius * self.task.points.length

    def shifts(self, chosen: Any) -> Array:
        """δ of some of the points: (point, axis)."""
        return shifts(self.task, chosen)


def propose(
    problem: Problem | Prepared,
    budget: Budget,
    progress: Progress,
    start: Array | None = None,
    precise: bool = False,
    within: Array | None = None,
    spent: Array | None = None,
) -> Proposal:
    """Search all points of a problem; with `within` (point,) only whether something that near is fooled.

    `start` and `precise` as in `task_of`; `spent` (point,) are seconds of the budget that are gone. An interruption by
    the keyboard ends the search with what is found so far.
    """
    ends, asked = time.monotonic() + budget.wall, prepared(problem)
    problem, task = asked.problem, task_of(asked, start, precise)
    points, ended = task.points, [INTERRUPTED] * len(problem.x)
    if start is not None and problem.decision.kind == "probabilities":
        seed(task, problem, start)
    if within is not None:
        # A proof loses a little in the checker, and must still reach the radius.
        points.reach[:], points.enough[:] = within * (1.0 + 1e-9) / points.length, within * (1.0 - 1e-9) / points.length
    parts, seconds = list[Proofs](), np.zeros(len(problem.x))
    try:
        parts.append(close_easy(task, GAP, min(budget.nodes, FEW_NODES), ends, progress))
        for point in np.flatnonzero(points.state == CLOSED).tolist():
            ended[point] = ""
        for point in np.flatnonzero(points.state != CLOSED).tolist():
            began = time.process_time()
            clock = Clock(budget, ends, began - (0.0 if spent is None else float(spent[point])))
            parts.append(close_hard(task, point, GAP, clock, ended))
            seconds[point] = time.process_time() - began
            progress(int((points.state == CLOSED).sum()), len(ended))
    except KeyboardInterrupt:
        points.lower[points.state != CLOSED] = 0.0
    known = np.isfinite(points.radius)
    return Proposal(points.lower * points.length, known, join(parts), ended, seconds, task)


def close_easy(task: Task, gap: float, nodes: int, ends: float, progress: Progress) -> Proofs:
    """Close the points that a few nodes close."""
    points, count = task.points, len(task.points.radius)
    # Wide networks take long: fewer points at a time, fewer nodes.
    square = len(task.space.norms) ** 2
    tape, first, size = first_tape(task, count), 0, max(1, min(64, 2**20 // square))
    nodes = max(1, min(nodes, 2**24 // square))
    while first < count and time.monotonic() < ends:
        began = time.perf_counter()
        last = min(first + size, count)
        reached = close_points(task.space, points, task.pairs, gap, tape, task.desk, nodes, first, last)
        took = time.perf_counter() - began
        if reached < last:
            tape = longer(tape)
        else:
            size = 4 * size if took < TICK / 8 else max(1, size // 2) if took > TICK else size
        first = reached
        progress(int((points.state[:first] == CLOSED).sum()), count)
    return proofs_on(tape)


def close_hard(task: Task, point: int, gap: float, clock: Clock, ended: list[str]) -> Proofs:
    """Close one point, or bring its bounds together as far as the clock allows."""
    points = task.points
    incumbent = no_incumbent(len(task.space.norms), points.delta.shape[1])
    incumbent.radius[0], incumbent.theta[:], incumbent.delta[:] = (
        points.radius[point], points.theta[point], points.delta[point],
    )  # fmt: skip
    method = climb if points.reach[point] == np.inf else decide
    if len(task.pairs.role) and method is climb and incumbent.radius[0] < np.inf:
        method = climb_at_last
    points.lower[point], proofs, ended[point] = method(task, point, incumbent, gap, clock)
    points.radius[point], points.theta[point], points.delta[point] = (
        incumbent.radius[0], incumbent.theta, incumbent.delta,
    )  # fmt: skip
    points.state[point] = CLOSED
    return proofs
