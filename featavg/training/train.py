"""One verb, `train`, and one result, `Trajectory`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from featavg.arrays import Array, Ints, finite_matrix, labels_among
from featavg.data import Dataset
from featavg.errors import InputError
from featavg.model import Network
from featavg.threads import one_thread
from featavg.training.losses import Loss, loss_for
from featavg.training.motion import CoefficientMotion, PrimalMotion
from featavg.training.rules import Adam, AdamMemory, GradientDescent, GradientFlow, Rule, check_positive
from featavg.training.trajectory import Trajectory

Progress = Callable[[float, float], None]  # done, total
# A mean loss this many times its first value will not come back.
DIVERGED = 100.0


class DivergenceWarning(RuntimeWarning):
    """Training left the finite numbers; the trajectory up to there is kept."""


@dataclass(frozen=True)
class every:
    """Save every `interval` steps, and the last."""

    interval: int

    def __post_init__(self) -> None:
        check_positive("the interval between saved steps", self.interval)


def train(
    network: Network,
    data: Dataset,
    rule: Rule | None = None,
    *,
    save_at: every | Sequence[float] | None = None,
    path: Literal["auto", "coefficients", "primal"] = "auto",
    dtype: Any = np.float64,
    progress: Progress | None = None,
) -> Trajectory:
    """Train the first layer of a network on its labels of `data`: coarse for one output, fine for several.

    Gradient descent only ever adds multiples of training points, w_r(t) = w_r(0) + Σ_i C_ir(t) x_i, and that is how
    it is run: see `CoefficientMotion`. Batches, Adam, and samples with more points than axes move the weights
    themselves, unless `path` says otherwise.

    Args:
        network: where to start.
        data: what to learn.
        rule: `GradientDescent` (the default), `GradientFlow` or `Adam`.
        save_at: the steps to save (times, for a flow); about a hundred evenly spread ones unless told.
        path: `coefficients` or `primal`.
        dtype: of the arithmetic; float64 or float32.
        progress: called with (done, total) as training goes on.

    >>> from featavg import BinaryNetwork, sample_clusters
    >>> data = sample_clusters(clusters=4, dim=10**6, samples=200, seed=0)
    >>> run = train(BinaryNetwork.random(data, neurons_per_class=2, seed=1), data, GradientDescent(steps=50))
    >>> run.coefficients.shape, bool(run.losses[-1] < run.losses[0]), run.status
    ((51, 200, 4), True, 'finished')
    """
    rule = GradientDescent() if rule is None else rule
    target = _check(network, data, rule, dtype)
    loss = loss_for(network, rule.loss)
    primal = _is_primal(path, rule, data)
    goals = _goals(rule, save_at)
    moments = (_primal_moments if primal else _coefficient_moments)(network, data, rule, loss, target, goals, dtype)
    # A step size that diverges is told once, by a DivergenceWarning, and not by every operation it passes through.
    with one_thread(), np.errstate(over="ignore", invalid="ignore"):
        return _collect(network, data, loss, target, moments, goals, primal, progress)


@dataclass(frozen=True)
class Moment:
    """The state of a run between two steps."""

    step: int
    time: float
    done: float  # in the unit of the goals: steps, or time for a flow
    outputs: Array  # (sample, output)
    motion: CoefficientMotion | PrimalMotion
    last: bool = False  # no step is left, whether or not the goals are reached


def _coefficient_moments(
    network: Network, data: Dataset, rule: Rule, loss: Loss, target: Ints, goals: Array, dtype: Any
) -> Iterator[Moment]:
    motion = CoefficientMotion(network, data, _trains_biases(network, rule), dtype)
    flow = rule if isinstance(rule, GradientFlow) else None
    eta = rule.eta(data) if isinstance(rule, GradientDescent) else 0.0
    time, reached = 0.0, 0
    most = _most_steps(rule)
    for step in range(most + 1):
        outputs = motion.outputs()
        done = time if flow else step
        reached += done >= goals[reached]
        yield Moment(step, time, done, outputs, motion, last=step == most)
        if reached == len(goals):
            return
        derivative = loss.derivative(outputs, target) / len(target)
        if flow:
            time = _flow_step(motion, flow, derivative, time, goals[reached])
        else:
            motion.advance(derivative, eta)
            time += eta


def _flow_step(motion: CoefficientMotion, rule: GradientFlow, derivative: Array, time: float, goal: float) -> float:
    """Step so short that max|ΔZ| <= accuracy · mean|Z|, and not past the next goal; return the time after it."""
    slope = motion.slope(derivative)
    change = motion.product(slope)
    fastest = np.abs(change).max()
    eta = rule.accuracy * np.abs(motion.z).mean() / fastest if fastest > 0 else np.inf
    if time + eta >= goal:
        motion.move(slope, change, goal - time)
        return goal
    motion.move(slope, change, eta)
    return time + float(eta)


def _primal_moments(
    network: Network, data: Dataset, rule: Rule, loss: Loss, target: Ints, goals: Array, dtype: Any
) -> Iterator[Moment]:
    if not isinstance(rule, GradientDescent | Adam):
        raise InputError(f"a {type(rule).__name__} runs in coefficient space only; drop path=")
    motion = PrimalMotion(network, data, _trains_biases(network, rule), dtype)
    batches = _batches(len(data), rule)
    memory = AdamMemory(rule) if isinstance(rule, Adam) else None
    eta = rule.eta(data) if isinstance(rule, GradientDescent) else rule.step_size
    wanted = set(goals.tolist())
    for step in range(rule.steps + 1):
        rows = next(batches)
        if step in wanted:
            motion.look(slice(None))
            yield Moment(step, step * eta, step, motion.outputs(), motion)
        motion.look(rows)
        outputs, labels = motion.outputs(), target[rows]
        gradients = motion.gradients(loss.derivative(outputs, labels) / len(labels))
        motion.move(gradients if memory is None else memory.steps(gradients), eta)


def _batches(samples: int, rule: GradientDescent | Adam) -> Iterator[Ints | slice]:
    rng = np.random.default_rng(rule.batch_seed)
    while True:
        if rule.batch_size is None or rule.batch_size >= samples:
            yield slice(None)
            continue
        order = rng.permutation(samples)
        for start in range(0, samples - rule.batch_size + 1, rule.batch_size):
            yield order[start : start + rule.batch_size]


def _collect(
    network: Network,
    data: Dataset,
    loss: Loss,
    target: Ints,
    moments: Iterator[Moment],
    goals: Array,
    primal: bool,
    progress: Progress | None,
) -> Trajectory:
    """Keep the moments at the goals, watch for divergence, tell the progress."""
    kept: list[tuple[float, float, float, Array, Array, Array]] = []
    status = "ended early: most_steps reached"
    for moment in moments:
        if not np.isfinite(moment.outputs.sum()):
            status = _diverged(moment)
            break
        if moment.done < goals[len(kept)] and not moment.last:
            continue
        log_loss = loss.log_mean(moment.outputs, target)
        if kept and log_loss > kept[0][2] + np.log(DIVERGED):
            status = _diverged(moment)
            break
        margins = loss.margins(moment.outputs, target)
        kept.append((moment.step, moment.time, log_loss, margins, *moment.motion.snapshot()))
        if progress is not None:
            progress(moment.done, goals[-1])
        if moment.done >= goals[-1]:
            status = "finished"
            break
    steps, times, log_losses, margins, moved, biases = (
        np.array(column, dtype=np.float64) for column in zip(*kept, strict=True)
    )
    coefficients, weights = (None, moved) if primal else (moved, None)
    return Trajectory(network, data, steps, times, log_losses, margins, coefficients, weights, biases, status)


def _diverged(moment: Moment) -> str:
    if moment.step == 0:
        raise InputError("the outputs of this network are not finite at the start; scale its weights down")
    status = f"diverged at step {moment.step}: lower the step size"
    warnings.warn(f"training {status}; the trajectory up to there is kept", DivergenceWarning, stacklevel=4)
    return status


def _check(network: Network, data: Dataset, rule: Rule, dtype: Any) -> Ints:
    if np.dtype(dtype) not in (np.float64, np.float32):
        raise InputError(f"dtype must be float64 or float32, got {np.dtype(dtype)}")
    if not len(data):
        raise InputError("training needs at least one point, got none")
    if network.coordinates != data.coordinates:
        raise InputError(
            f"network and data must share coordinates, got {network.coordinates} and {data.coordinates}; "
            "initialise the network on this data"
        )
    if isinstance(data, Dataset) and not data.complete:
        raise InputError("compact test points are stored in part and cannot be trained on; sample them anew")
    if isinstance(rule, Adam) and data.coordinates == "compact":
        raise InputError(
            'Adam depends on the coordinates and has no meaning in compact ones; sample with coordinates="ambient"'
        )
    finite_matrix(data.x, "x", columns=network.weights.shape[1])
    allowed = (-1, 1) if network.output_count == 1 else range(network.output_count)
    return labels_among(network.targets(data), allowed, len(data), "the labels")


def _is_primal(path: str, rule: Rule, data: Dataset) -> bool:
    if path not in ("auto", "coefficients", "primal"):
        raise InputError(f"path must be auto, coefficients or primal, got {path!r}")
    needs_weights = isinstance(rule, Adam) or getattr(rule, "batch_size", None) is not None
    if path == "coefficients" and needs_weights:
        raise InputError("batches and Adam move the weights themselves; drop path=")
    many = len(data) > data.x.shape[1] and not isinstance(rule, GradientFlow)
    return path == "primal" or (path == "auto" and (needs_weights or many))


def _goals(rule: Rule, save_at: every | Sequence[float] | None) -> Array:
    """The moments to save, rising, with the first and the last among them: (time,)."""
    last: float = rule.time if isinstance(rule, GradientFlow) else _most_steps(rule)
    if isinstance(save_at, every):
        wanted = np.arange(0, last, save_at.interval)
    elif save_at is None:
        wanted = np.linspace(0, last, 101)
    else:
        wanted = np.asarray(save_at, dtype=np.float64)
    if not isinstance(rule, GradientFlow):
        wanted = np.round(wanted)
    goals = np.unique(np.concatenate([[0.0], wanted, [last]]))
    if not (goals[0] >= 0 and goals[-1] <= last):  # NaN is neither
        raise InputError(f"save_at must lie in 0 ... {last}, got {goals[0]} ... {goals[-1]}")
    return goals


def _most_steps(rule: Rule) -> int:
    if isinstance(rule, GradientFlow):
        return rule.most_steps
    assert isinstance(rule, GradientDescent | Adam)
    return rule.steps


def _trains_biases(network: Network, rule: Rule) -> bool:
    return network.output_count == 1 if rule.train_biases is None else rule.train_biases
