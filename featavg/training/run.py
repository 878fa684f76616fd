"""The loop: step on which points, save which moments, as they are or as means, look out for divergence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from featavg.arrays import Array, Bools, Ints
from featavg.errors import InputError
from featavg.model import Layer, Network
from featavg.progress import Progress
from featavg.training.descent import Descent, fast_descent
from featavg.training.engines import ALL
from featavg.training.iterate import WEIGHTS, Iterate, Vector
from featavg.training.rules import Rule, check_positive
from featavg.training.small_descent import SmallDescent, small_descent

# A loss this many times its first value will not come back.
DIVERGED = np.log(100.0)
FINISHED = "finished"

# Where the points of a batch are moved to before a step: (row, axis).
Perturb = Callable[[Iterate, Ints | None], Array]


@dataclass(frozen=True)
class every:
    """Save every `interval` steps, and the last."""

    interval: int

    def __post_init__(self) -> None:
        check_positive("the interval between saved steps", self.interval)


def goals_of(rule: Rule, save_at: every | Sequence[float] | None) -> Array:
    """The steps, or times of a flow, to save; rising, with the first and the last among them: (time,)."""
    last: float = rule.limit if rule.end_time is None else rule.end_time
    if isinstance(save_at, every):
        wanted = np.arange(0, last, save_at.interval)
    elif save_at is None:
        wanted = np.linspace(0, last, 101)
    else:
        wanted = np.asarray(save_at, dtype=np.float64)
    if rule.end_time is None:
        wanted = np.round(wanted)
    goals = np.unique(np.concatenate([[0.0], wanted, [last]]))
    if not (goals[0] >= 0 and goals[-1] <= last):  # NaN is neither
        raise InputError(f"save_at must lie in 0 ... {last}, got {goals[0]} ... {goals[-1]}")
    return goals


def batches(samples: int, size: int | None, seed: int) -> Iterator[Ints | None]:
    """Batches of `size` points without end, each epoch in a fresh order, its last incomplete batch dropped.

    None stands for all points.

    >>> sorted(next(batches(3, 2, seed=0)).tolist()) in ([0, 1], [0, 2], [1, 2])
    True
    """
    check_positive("batch_size", size)
    rng = np.random.default_rng(seed)
    while True:
        if size is None or size >= samples:
            yield None
            continue
        order = rng.permutation(samples)
        for start in range(0, samples - size + 1, size):
            yield order[start : start + size]


@dataclass(frozen=True, eq=False)
class Moment:
    """A saved moment, as `observe` sees it."""

    step: int
    at: Iterate
    initial: Network

    @property
    def network(self) -> Network:
        """The network at this moment."""
        at, layers = self.at, []
        for number in range(1, len(self.initial.layers) + 1):
            weights, biases = at.block(f"weights_{number}"), at.block(f"biases_{number}")
            if number == 1:
                weights = at.problem.first.weights(at.block(WEIGHTS))
            layers.append(Layer(weights, biases))
        return replace(self.initial, layers=tuple(layers))


# Told of every saved moment; True ends the run.
Observe = Callable[[Moment], bool | None]


@dataclass(frozen=True, eq=False)
class Saved:
    """What is kept of a moment."""

    step: int
    time: float
    parameters: Vector
    outputs: Array | None  # (..., sample, output); None where they would take another pass over the points


class SecondHalf:
    """The mean of the parameters after steps ⌊T/2⌋ + 1 ... T, which the noise of batches moves least, for each mark T.

    It is linear, so exact in every engine.
    """

    def __init__(self, marks: Iterable[float], start: Vector) -> None:
        self.halves = {int(mark) // 2 for mark in marks}
        self.start = start
        self.total = 0.0 * start
        self.before = {0: 0.0 * start}

    def add(self, step: int, parameters: Vector) -> None:
        """Take up the parameters after this step."""
        for name, block in self.total.blocks.items():
            np.add(block, parameters[name], out=block)  # in place: this happens at every step
        if step in self.halves:
            self.before[step] = self.total.map(np.copy)

    def mean(self, mark: int) -> Vector:
        """The mean for the mark T, which is the step just made."""
        return (self.total - self.before[mark // 2]) / (mark - mark // 2) if mark else self.start


@dataclass(eq=False)
class Run:
    """One run, or a stack of them, from its start to its end."""

    rule: Rule
    goals: Array  # (time,)
    rows: Iterator[Ints | None] | None  # None: all points at every step
    perturb: Perturb | None
    average: bool
    observe: Observe | None
    progress: Progress
    initial: Network

    def go(self, start: Iterate) -> str:
        """Step until the end; return why it ended. `saved` and `lost` then hold what came of it."""
        self.saved: list[Saved] = []
        self.lost: Array = np.full(start.problem.target.shape[:-1], np.inf)  # the step at which each run diverged
        self.means = SecondHalf(self.goals, start.parameters) if self.average else None
        self.plain = self.rows is None and self.perturb is None
        eta = self.rule.constant_step(start) if self.plain and not self.average else None
        if eta is not None and np.isfinite(start.outputs.sum()):
            descent = fast_descent(start, eta) or small_descent(start, eta)
            if descent is not None:
                return self._go_fast(start, descent)
        at, state = start, self.rule.init(start)
        for step in range(self.rule.limit + 1):
            status = self._look_out(step, at) if self.plain else None
            status = status or self._save(step, at, state)
            if status is not None:
                return status
            at, state = self.rule.step(self._next_batch(at), state)
            if self.means is not None:
                self.means.add(step + 1, at.parameters)
        raise AssertionError("a run ends at its last step")

    def _go_fast(self, start: Iterate, descent: Descent | SmallDescent) -> str:
        """From goal to goal."""
        at = start
        for goal in self.goals.astype(int).tolist():
            status = self._look_out(0, start) if goal == 0 else None
            while descent.made < goal and status is None:
                at = descent.advance(goal - descent.made)
                status = self._look_out(descent.made, at)
            status = status or self._save(goal, at, None)
            if status is not None:
                return status
        raise AssertionError("a run ends at its last goal")

    def _next_batch(self, at: Iterate) -> Iterate:
        if self.rule.end_time is not None and at.until != self.goals[len(self.saved)]:
            at = at.before(self.goals[len(self.saved)])
        if self.plain:
            return at
        rows = next(self.rows) if self.rows is not None else None
        return at.on(rows, None if self.perturb is None else self.perturb(at, rows))

    def _look_out(self, step: int, at: Iterate) -> str | None:
        """Tell a run that has left the finite numbers."""
        runs = self.lost.ndim
        looked_at = [at.outputs] if self.plain else at.parameters.blocks.values()
        sums = [np.add.reduce(block, axis=tuple(range(runs, block.ndim))) for block in looked_at]
        gone = ~np.isfinite(sum(sums[1:], sums[0]))
        if step == 0 and np.count_nonzero(gone):
            raise InputError("the outputs of this network are not finite at the start; scale its weights down")
        return self._lose(gone, step)

    def _lose(self, gone: Bools, step: int) -> str | None:
        if not np.count_nonzero(gone):
            return None
        self.lost = np.where(gone, np.minimum(self.lost, step), self.lost)
        return diverged(float(self.lost.max())) if np.isfinite(self.lost).all() else None

    def _save(self, step: int, at: Iterate, state: Any) -> str | None:
        """Save the moment if it is wanted; return why the run ends here, if it does."""
        done = step if self.rule.end_time is None else at.time
        reason, last = self.rule.ended(at, state), step == self.rule.limit
        if done < self.goals[len(self.saved)] and reason is None and not last:
            return None
        status = self._keep(step, at)
        if status is not None:
            return status
        self.progress(len(self.saved) / len(self.goals), f"step {step}")
        if self.observe is not None and self.observe(Moment(step, self._shown(step, at), self.initial)):
            return "ended early: the observer had seen enough"
        reached = done >= self.goals[-1] and (self.rule.end_time is not None or not self.rule.open_ended)
        if reason is None and reached:
            return FINISHED
        return "ended early: most_steps reached" if reason is None and last else reason

    def _shown(self, step: int, at: Iterate) -> Iterate:
        """The iterate as it is saved: on all points, averaged if so wanted."""
        if self.means is not None:
            return replace(at, parameters=self.means.mean(step), batch=ALL, found_z=None)
        return at if self.plain else replace(at, batch=ALL, found_z=None)

    def _keep(self, step: int, at: Iterate) -> str | None:
        # Behind batches and means, another pass over all points is left to whoever asks for the loss.
        if not self.plain or self.means is not None:
            self.saved.append(Saved(step, at.time, self._shown(step, at).parameters, None))
            return self._look_out(step, at)
        status = self._compare(step, at)
        if status is None:
            self.saved.append(Saved(step, at.time, at.parameters, at.outputs))
        return status

    def _compare(self, step: int, at: Iterate) -> str | None:
        """Tell a run whose loss is far above its first; looked at only once its outputs have doubled since the last."""
        size = np.maximum.reduce(np.abs(at.outputs), axis=(-2, -1))
        if not self.saved:
            self.size, self.first = size, at.log_loss
        grown = size > 2 * self.size
        if not np.count_nonzero(grown):
            return None
        self.size = np.where(grown, size, self.size)
        return self._lose(grown & (at.log_loss > self.first + DIVERGED), step)


def diverged(step: float) -> str:
    """What a run that left the finite numbers says."""
    return f"diverged at step {step:.0f}: lower the step size"
