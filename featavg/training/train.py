"""One verb, `train`, and one result, `Trajectory`; `train_many` does the same for many small runs at once."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from featavg.data import Dataset
from featavg.errors import InputError
from featavg.model import Network
from featavg.progress import Progress, silent
from featavg.threads import one_thread
from featavg.training.engines import EngineName, Gram
from featavg.training.engines.gram import SMALL
from featavg.training.iterate import Iterate
from featavg.training.losses import Loss, LossName
from featavg.training.rules import GradientDescent, Rule
from featavg.training.run import Observe, Perturb, Run, batches, diverged, every, goals_of
from featavg.training.setup import Setup
from featavg.training.trajectory import Trajectory


class DivergenceWarning(RuntimeWarning):
    """Training left the finite numbers; the trajectory up to there is kept."""


def train(
    network: Network,
    data: Dataset,
    rule: Rule | None = None,
    *,
    loss: LossName | Loss | None = None,
    trained: Collection[str] | None = None,
    batch_size: int | None = None,
    sample_weight: ArrayLike | None = None,
    perturb: Perturb | None = None,
    average: Literal["second half"] | None = None,
    save_at: every | Sequence[float] | None = None,
    observe: Observe | None = None,
    engine: EngineName = "auto",
    dtype: Any = np.float64,
    seed: int = 0,
    progress: Progress = silent,
) -> Trajectory:
    """Train a network on its labels of `data`: coarse for one output, fine for several.

    Gradient descent only ever adds multiples of training points, w_r(t) = w_r(0) + Σ_i C_ir(t) x_i, and that is how
    it is run: see `engines/gram.py`. Batches, rules that look at coordinates, and samples with many more points than
    axes move the weights themselves (`engines/dense.py`), unless `engine` says otherwise.

    Args:
        network: where to start.
        data: what to learn.
        rule: `GradientDescent` (the default), `GradientFlow`, `LossBasedDescent`, `Adam`, ...
        loss: logistic, exponential or cross-entropy by name, or a `Loss`; the network's own by default.
        trained: weights, biases (of the first layer), second, output_bias, or weights_l, biases_l of layer l; as in the
            paper by default: weights, and biases where there is one output.
        batch_size: how many points a step looks at, drawn anew by `seed`; all by default.
        sample_weight: how much each point counts; divided by its mean.
        perturb: where to move the points of a batch before each step, `perturb(at, rows) -> x`, as `WorstInBall` does
            for adversarial training; see `Iterate.on`.
        average: `second half`: a saved moment T is the mean over steps T/2 ... T.
        save_at: the steps to save (times, for a flow); about a hundred evenly spread ones by default.
        observe: called with every saved `Moment`; True ends the run.
        engine: `gram` or `dense`; the one whose step is cheaper by default.
        dtype: of the arithmetic; float64 or float32.
        seed: of the batches.
        progress: told how far training is, at every saved moment.

    >>> from featavg import BinaryNetwork, sample_clusters
    >>> data = sample_clusters(clusters=4, dim=10**6, samples=200, seed=0)
    >>> run = train(BinaryNetwork.random(data, neurons_per_class=2, seed=1), data, GradientDescent(steps=50))
    >>> run.coefficients.shape, bool(run.losses[-1] < run.losses[0]), run.status
    ((51, 200, 4), True, 'finished')
    """
    setup = Setup(loss, trained, sample_weight, engine, dtype)
    found = _train([network], [data], rule, setup, batch_size, perturb, average, save_at, observe, seed, progress)
    _warn(found)
    return found[0]


def train_many(
    networks: Sequence[Network],
    datas: Sequence[Dataset],
    rule: Rule | None = None,
    *,
    loss: LossName | Loss | None = None,
    trained: Collection[str] | None = None,
    batch_size: int | None = None,
    sample_weight: ArrayLike | None = None,
    perturb: Perturb | None = None,
    average: Literal["second half"] | None = None,
    save_at: every | Sequence[float] | None = None,
    engine: EngineName = "auto",
    dtype: Any = np.float64,
    seed: int = 0,
    progress: Progress = silent,
) -> list[Trajectory]:
    """Train each network on its own data, all in step: what `train` gives one by one, to the last bit, sooner.

    Networks of equal shapes on equally many points are stacked; rules that choose their own step sizes run one by one.
    Runs on one and the same data set share its Gram matrix, and plain descent of large ones reads it once for all.
    Arguments are those of `train`, the same for all runs.

    >>> from featavg import BinaryNetwork, sample_clusters
    >>> datas = [sample_clusters(clusters=2, dim=50, samples=20, seed=seed) for seed in range(3)]
    >>> runs = train_many([BinaryNetwork.random(data, 1, seed=5) for data in datas], datas, GradientDescent(steps=5))
    >>> [run.status for run in runs]
    ['finished', 'finished', 'finished']
    """
    if len(networks) != len(datas):
        raise InputError(f"train_many needs one data set per network, got {len(networks)} and {len(datas)}")
    setup, rule = Setup(loss, trained, sample_weight, engine, dtype), GradientDescent() if rule is None else rule
    found: dict[int, Trajectory] = {}
    plain = batch_size is None and perturb is None and average is None
    for members in _stacks(networks, datas, rule, setup, plain):
        some = [networks[i] for i in members], [datas[i] for i in members]
        runs = _train(*some, rule, setup, batch_size, perturb, average, save_at, None, seed, silent)
        found |= dict(zip(members, runs, strict=True))
        progress(len(found) / len(networks), f"{len(found)} of {len(networks)} runs")
    _warn(list(found.values()))
    return [found[i] for i in range(len(networks))]


def _train(
    networks: Sequence[Network],
    datas: Sequence[Dataset],
    rule: Rule | None,
    setup: Setup,
    batch_size: int | None,
    perturb: Perturb | None,
    average: str | None,
    save_at: every | Sequence[float] | None,
    observe: Observe | None,
    seed: int,
    progress: Progress,
) -> list[Trajectory]:
    rule = GradientDescent() if rule is None else rule
    if average not in (None, "second half"):
        raise InputError(f"average must be None or 'second half', got {average!r}")
    if average and rule.end_time is not None:
        raise InputError(f"means over steps say nothing of {type(rule).__name__}, whose steps differ; drop average=")
    goals = goals_of(rule, save_at)
    samples = len(datas[0])
    rows = None if batch_size is None else batches(samples, batch_size, seed)
    # A step size that diverges is told once, by a DivergenceWarning, and not by every operation it passes through.
    with one_thread(), np.errstate(over="ignore", invalid="ignore"):
        start = setup.start(networks, datas, rule, rows is not None, perturb is not None)
        run = Run(rule, goals, rows, perturb, average is not None, observe, progress, networks[0])
        status = run.go(start)
        pairs = enumerate(zip(networks, datas, strict=True))
        return [_trajectory(network, data, start, run, i, status) for i, (network, data) in pairs]


def _trajectory(network: Network, data: Dataset, start: Iterate, run: Run, number: int, status: str) -> Trajectory:
    """The path of one run of a stack, up to where it left the finite numbers."""
    index: Any = number if run.lost.ndim else ()
    lost = float(run.lost[index])
    saved = [moment for moment in run.saved if moment.step < lost]
    names = start.parameters.blocks

    return Trajectory(
        initial=network,
        data=data,
        loss=start.problem.loss,
        steps=np.array([moment.step for moment in saved], dtype=np.float64),
        times=np.array([moment.time for moment in saved]),
        moments={name: [moment.parameters[name][index] for moment in saved] for name in names},
        holds_coefficients=isinstance(start.problem.first, Gram),
        outputs=[moment.outputs[index] for moment in saved if moment.outputs is not None] or None,
        status=diverged(lost) if np.isfinite(lost) else status,
        sample_weight=start.problem.shares,
    )


def _stacks(
    networks: Sequence[Network], datas: Sequence[Dataset], rule: Rule, setup: Setup, plain: bool
) -> list[list[int]]:
    """Which runs can be stepped together; large ones are, on one data set, where `Descent` runs them."""
    if not rule.stacks:
        return [[i] for i in range(len(networks))]
    alike: dict[Any, list[int]] = {}
    for i, (network, data) in enumerate(zip(networks, datas, strict=True)):
        shapes = tuple(layer.weights.shape for layer in network.layers)
        apart: Any = None
        if len(data) ** 2 * network.neurons >= SMALL:
            upper = [layer.weights.tobytes() + layer.biases.tobytes() for layer in network.layers[1:]]
            apart = (id(data), *upper) if plain and setup.descends(network, data, rule) else i
        alike.setdefault((shapes, network.activation, data.x.shape, data.dim, apart), []).append(i)
    # Runs on the same data follow each other, and share what is computed of the data alone.
    stacks = [sorted(members, key=lambda i: id(datas[i])) for members in alike.values()]
    return sorted(stacks, key=lambda members: id(datas[members[0]]))


def _warn(runs: Sequence[Trajectory]) -> None:
    told = [run.status for run in runs if run.status.startswith("diverged")]
    if told:
        which = "" if len(runs) == 1 else f" in {len(told)} of {len(runs)} runs"
        message = f"training {told[0]}{which}; the trajectory up to there is kept"
        warnings.warn(message, DivergenceWarning, stacklevel=3)
