"""Coordinates of the points, and networks trained in them and moved back: frame, columns of unit size, span.

Fine-grained networks are trained in a frame that makes step sizes free of units:

x' = (x − mean)/√(mean ‖x − mean‖²). One number scales all axes, so an ℓ2 distance in the frame is one in the data
divided by that number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from featavg.arrays import Array, Ints
from featavg.data import Dataset, Labels
from featavg.model import Layer, MulticlassNetwork, Network
from featavg.training import EqualBlocks, GradientDescent, Loss, Moment, Perturb, train

BATCH = 128
# A bias moves as a weight of a constant input of this size; a larger one would force smaller steps on all weights.
CONSTANT = 0.3
# Sub-networks start as a mixture of equal spheres around their centers, e^{−½s‖x' − c‖²} up to what all share. Measured
# on digits and MNIST: from s = 10 training is done five times as early as from s = 1, and ends a little more robust.
SHARPNESS = 10.0
# Biases start so high, in units of s, that nearly every neuron is on at every point. Measured: filters at the start
# change neither accuracy nor robustness, and a network that is linear around its points has cheap exact radii.
ON = 2.0
NEGLIGIBLE = 1e-9  # share of the longest axis of a span below which one is rounding


@dataclass(frozen=True)
class Frame:
    """Mean and size of the training points, and the longest stable step in their frame."""

    mean: Array  # (axis,)
    size: float
    rate: float  # 1/L, with L >= the curvature of the mean loss: ½(largest eigenvalue of the covariance + CONSTANT²)

    @classmethod
    def of(cls, x: Array, weights: Array) -> Frame:
        """The frame of weighted points.

        >>> Frame.of(np.array([[1.0], [3.0]]), np.ones(2)).size
        1.0
        """
        shares = weights / weights.sum()
        mean = shares @ x
        # In the precision of training: the curvature is needed to a percent, and its product is most of the work.
        scaled = (x - mean).astype(precision(len(x)), copy=False)
        scaled *= np.sqrt(shares)[:, None].astype(scaled.dtype)
        size = float(np.linalg.norm(scaled)) or 1.0
        gram = (scaled.T @ scaled if x.shape[1] <= len(x) else scaled @ scaled.T) / size**2
        return cls(mean, size, 2.0 / (float(np.linalg.eigvalsh(gram)[-1]) + CONSTANT**2))

    def inside(self, x: Array, trained: int | None = None) -> Array:
        """x' (sample, axis), in the precision of training on so many points."""
        points = (x - self.mean) / self.size
        return points if trained is None else points.astype(precision(trained), copy=False)


def precision(count: int) -> Any:
    """The type of number in which `count` points are trained on: up to two batches in double precision."""
    return np.float64 if count <= 2 * BATCH else np.float32


@dataclass(frozen=True)
class State:
    """A network in the frame: f = A ReLU(W x' + b)."""

    weights: Array  # (neuron, axis)  W
    biases: Array  # (neuron,)  b
    second: Array  # (output, neuron)  A

    def outputs(self, x: Array) -> Array:
        """F (sample, output)."""
        return self.up(np.maximum(x @ self.weights.T + self.biases, 0.0))

    def up(self, hidden: Array) -> Array:
        """hidden Aᵀ: (sample, neuron) to (sample, output)."""
        return hidden @ self.second.T if self._blocks is None else self._blocks.up(hidden.T).T

    def down(self, outputs: Array) -> Array:
        """outputs A: (sample, output) to (sample, neuron)."""
        return outputs @ self.second if self._blocks is None else self._blocks.down(outputs.T).T

    @cached_property
    def _blocks(self) -> EqualBlocks | None:
        return EqualBlocks.of(self.second)

    def network(self, frame: Frame, class_labels: Ints | None = None) -> Network:
        """The same network on the points as they came."""
        weights = self.weights.astype(np.float64) / frame.size
        biases = self.biases.astype(np.float64) - weights @ frame.mean
        second = self.second.astype(np.float64)
        return MulticlassNetwork(weights, biases, second, np.zeros(len(second)), class_labels)


Seen = Callable[[int, State], Any]  # told (step, state) at each mark


def at_centers(centers: Array, width: int, seed: int, sharpness: float = SHARPNESS) -> State:
    """`width` neurons for each center (subclass, axis) of the frame, all on: f_j = s (⟨c_j, x'⟩ − ½‖c_j‖² + 2).

    The most probable sub-class is the one of the nearest center.

    >>> at_centers(np.array([[1.0, 0.0], [0.0, 3.0]]), width=1, seed=0).outputs(np.ones((1, 2))).argmax(axis=1)
    array([0])
    """
    rng = np.random.default_rng(seed)
    weights = sharpness * np.repeat(centers, width, axis=0)
    if width > 1:  # equal neurons would stay equal
        weights = weights + 0.1 * np.sqrt((weights**2).mean()) * rng.standard_normal(weights.shape)
    biases = sharpness * (ON - np.repeat((centers**2).sum(axis=1), width) / 2)
    return State(weights, biases, _blocks(len(centers), width) / width)


def at_random(outputs: int, width: int, axes: int, seed: int) -> State:
    """`width` small random neurons for each of the coarse classes: where an ordinary network starts."""
    weights = 0.1 / np.sqrt(axes) * np.random.default_rng(seed).standard_normal((outputs * width, axes))
    return State(weights, np.zeros(len(weights)), _blocks(outputs, width) / np.sqrt(width))


def _blocks(outputs: int, width: int) -> Array:
    return np.repeat(np.eye(outputs), width, axis=1)


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


@dataclass(frozen=True)
class Scale:
    """z = (x − mean)/deviation, column by column; a constant column keeps its unit."""

    mean: Array  # (axis,)
    deviation: Array  # (axis,)

    @classmethod
    def of(cls, x: Array) -> Scale:
        """That of the columns of x (sample, axis).

        >>> Scale.of(np.array([[0.0, 5.0], [4.0, 5.0]])).deviation
        array([2., 1.])
        """
        deviation = x.std(axis=0)
        return cls(x.mean(axis=0), np.where(deviation > 0, deviation, 1.0))

    def inside(self, x: Array) -> Array:
        """z of points x."""
        return (x - self.mean) / self.deviation

    def raw(self, network: Network) -> Network:
        """A network on z as one on x: W z + b = (W/deviation) x + b − (W/deviation) mean."""
        return _moved(network, network.weights / self.deviation, self.mean)

    def scaled(self, network: Network) -> Network:
        """A network on x as one on z: W x + b = (W deviation) z + b + (W deviation) (mean/deviation)."""
        return _moved(network, network.weights * self.deviation, -self.mean / self.deviation)


@dataclass(frozen=True)
class Span:
    """c = V(x − mean), V with orthonormal rows: distances between the points stay as they are."""

    mean: Array  # (axis,)
    basis: Array  # (coordinate, axis)  V

    @classmethod
    def of(cls, x: Array) -> Span:
        """That of points x (sample, axis).

        >>> x = np.array([[0.0, 0.0, 1.0], [3.0, 4.0, 1.0]])
        >>> np.abs(Span.of(x).inside(x)).round(6).tolist()
        [[2.5], [2.5]]
        """
        mean = x.mean(axis=0)
        _, sizes, basis = np.linalg.svd(x - mean, full_matrices=False)
        return cls(mean, basis[sizes > NEGLIGIBLE * sizes.max()])

    def inside(self, x: Array) -> Array:
        """c of points x."""
        return (x - self.mean) @ self.basis.T

    def raw(self, network: Network) -> Network:
        """A network on c as one on x: W c + b = (W V) x + b − (W V) mean."""
        return _moved(network, network.weights @ self.basis, self.mean)


def _moved(network: Network, weights: Array, origin: Array) -> Network:
    """The network with other first weights, on points whose origin is elsewhere: V (x − origin) + b."""
    first, *rest = network.layers
    return replace(network, layers=(Layer(weights, first.biases - weights @ origin), *rest))
