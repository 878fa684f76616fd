"""Training in the frame: `featavg.training.train` on batches, with biases that move as weights of a constant input."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from featavg.arrays import Array, Ints
from featavg.data import Dataset, Labels
from featavg.model import MulticlassNetwork
from featavg.refine.discover import means
from featavg.refine.frame import BATCH, CONSTANT, Frame, State, at_centers, precision
from featavg.training import GradientDescent, Loss, Moment, Perturb, train

Seen = Callable[[int, State], Any]  # told (step, state) at each mark


def descend(
    start: State, x: Array, target: Ints, weights: Array, rate: float, marks: Sequence[int], seed: int, seen: Seen,
    *, loss: Loss | None = None, perturb: Perturb | None = None,
) -> None:  # fmt: skip
    """Gradient descent on points x (sample, axis) of the frame; `seen` is told the state at each of the rising marks.

    The state at mark T is the mean of the states of steps T/2 ... T, which the noise of batches moves least. Up to two
    batches of points are taken all at once, in double precision. What `perturb` moves has the constant as its last
    coordinate.
    """
    kind, second = precision(len(x)), start.second
    points = np.empty((len(x), x.shape[1] + 1), dtype=kind)
    points[:, :-1], points[:, -1] = x, CONSTANT
    first = np.column_stack([start.weights, start.biases / CONSTANT])
    network = MulticlassNetwork(first, np.zeros(len(first)), second, np.zeros(len(second)))
    labels = Labels(target, np.arange(int(target.max()) + 1))
    # Neurons that share an output move it together: Σ_r A_r² times as fast as one would.
    rule = GradientDescent(steps=marks[-1], step_size=rate / (second**2).sum(axis=1).max())

    def observe(moment: Moment) -> None:
        if moment.step:
            moved = moment.at.parameters["weights_1"]
            seen(moment.step, State(moved[:, :-1], moved[:, -1] * kind(CONSTANT), second.astype(kind)))

    train(
        network, Dataset(points, labels, labels), rule, loss=loss, trained=("weights",), engine="dense", dtype=kind,
        batch_size=BATCH if kind is np.float32 else None, sample_weight=weights, average="second half",
        save_at=marks, observe=observe, perturb=perturb, seed=seed,
    )  # fmt: skip


def fit_centers(
    x: Array, labels: Ints, weights: Array, frame: Frame, rate: float, width: int, marks: Sequence[int], seed: int,
    seen: Seen,
) -> None:  # fmt: skip
    """Train `width` neurons per sub-class on points of the frame, from the centers of their sub-classes."""
    start = at_centers(means(x, labels, weights), width, seed)
    descend(start, x, labels, weights, rate * frame.rate, marks, seed, seen)
