"""Where training stands. Nothing here changes: a step makes a new iterate, and rejecting one means keeping the old."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from featavg.arrays import Array, Ints
from featavg.training.engines import ALL, Batch, FirstLayer, Groups
from featavg.training.losses import Loss
from featavg.training.once import once
from featavg.training.upper import Upper

WEIGHTS, BIASES = "weights_1", "biases_1"


@dataclass(frozen=True, eq=False)
class Vector:
    """Trained parameters, or a direction among them: blocks by name, to be added and multiplied by numbers.

    In a stack of runs every block has the run as its first axis, and a number may be one per run.

    >>> (2 * Vector({"biases_1": np.ones(3)}) - Vector({"biases_1": np.ones(3)}))["biases_1"]
    array([1., 1., 1.])
    """

    blocks: Mapping[str, Array]
    __array_ufunc__ = None  # a NumPy number times a vector is the vector's business

    def __getitem__(self, name: str) -> Array:
        return self.blocks[name]

    def __contains__(self, name: object) -> bool:
        return name in self.blocks

    def map(self, change: Callable[..., Array], *others: Vector) -> Vector:
        """The vector of change(block, other blocks of the same name ...)."""
        if not others:
            return Vector({name: change(block) for name, block in self.blocks.items()})
        return Vector({name: change(block, *[o.blocks[name] for o in others]) for name, block in self.blocks.items()})

    def __add__(self, other: Vector) -> Vector:
        return self.map(operator.add, other)

    def __sub__(self, other: Vector) -> Vector:
        return self.map(operator.sub, other)

    def __mul__(self, number: ArrayLike) -> Vector:
        return self.map(lambda mine: per_run(number, mine) * mine)

    __rmul__ = __mul__

    def __truediv__(self, number: ArrayLike) -> Vector:
        return self.map(lambda mine: mine / per_run(number, mine))


@dataclass(frozen=True, eq=False)
class Problem:
    """What stays as it is while parameters move."""

    first: FirstLayer
    upper: Upper
    fixed: Vector  # blocks that are not trained
    loss: Loss
    target: Ints  # (..., sample)
    shares: Array | None  # (..., sample)  sample weights of mean 1
    dim: int  # d
    groups: Groups | None  # as long as the second layer is not trained


@dataclass(frozen=True, eq=False)
class Iterate:
    """Parameters, and all that follows from them at the points looked at; computed when asked for."""

    problem: Problem
    parameters: Vector
    batch: Batch = ALL
    found_z: Array | None = None  # Z, where the step that led here has found it already
    time: float = 0.0  # Σ η
    until: float = np.inf  # a time not to be stepped over

    @property
    def dim(self) -> int:
        """d, the dimension of the space."""
        return self.problem.dim

    def block(self, name: str) -> Array:
        """A block of parameters, trained or not."""
        return self.parameters[name] if name in self.parameters else self.problem.fixed[name]

    @once
    def z(self) -> Array:
        """Pre-activations of the first layer: (..., neuron, sample)."""
        if self.found_z is not None:
            return self.found_z
        return self.problem.first.products(self.block(WEIGHTS), self.batch) + self.block(BIASES)[..., None]

    @once
    def outputs(self) -> Array:
        """F (..., sample, output)."""
        return self._layers[0][-1].swapaxes(-1, -2)

    @once
    def log_loss(self) -> Array:
        """log L: one number per run."""
        return self.problem.loss.total(self._measured[0], self._shares)

    @once
    def margins(self) -> Array:
        """q_i: (..., sample)."""
        return self._measured[1]

    @once
    def gradient(self) -> Vector:
        """∇L."""
        return self._gradient(0.0)

    @once
    def log_gradient(self) -> Vector:
        """∇ log L = ∇L / L, with all its digits where L itself is far below the smallest float."""
        return self._gradient(self.log_loss)

    @once
    def input_gradient(self) -> Array:
        """∂L/∂x_i times the number of points, as an attack climbs it: (..., sample, axis)."""
        dz = self._backward(0.0)[0]
        return self.problem.first.input_gradient(self.block(WEIGHTS), dz) * self.target.shape[-1]

    def on(self, rows: Ints | None, x: Array | None = None) -> Iterate:
        """The same parameters, looking at some of the points, which may have been moved to x (row, axis)."""
        if rows is None and x is None:
            return self
        return Iterate(self.problem, self.parameters, Batch(rows, x), None, self.time, self.until)

    def before(self, until: float) -> Iterate:
        """The same, not to step over this time."""
        return replace(self, until=until)

    def move(self, direction: Vector, step: ArrayLike) -> Iterate:
        """θ + step · direction."""
        parameters = self.parameters.map(lambda mine, way: _moved(mine, per_run(step, way), way), direction)
        found_z = None
        if self.batch is ALL:
            change = self.effect(direction)
            found_z = self.z + per_run(step, change) * change
        time = self.time - float(step if isinstance(step, float) else np.mean(np.asarray(step)))
        # The last step towards a time lands on it, whatever rounding made of the sum.
        time = self.until if time > self.until * (1 - 1e-14) else time
        return Iterate(self.problem, parameters, self.batch, found_z, time, self.until)

    def effect(self, direction: Vector) -> Array:
        """ΔZ of a unit step, at all points: (..., neuron, sample)."""
        last: tuple[Vector, Array] | None = self.__dict__.get("_effect")
        if last is None or last[0] is not direction:
            last = direction, self._effect_of(direction)
            self.__dict__["_effect"] = last
        return last[1]

    def inner(self, one: Vector, other: Vector) -> dict[str, Array]:
        """Inner products of the rows of two vectors, block by block: (..., row, row); a vector of biases is one row."""
        found = {}
        for name, block in one.blocks.items():
            if name == WEIGHTS:
                found[name] = self.problem.first.inner(block, other[name])
            elif name.startswith("biases"):
                found[name] = (block * other[name]).sum(axis=-1)[..., None, None]
            else:
                found[name] = block @ np.swapaxes(other[name], -1, -2)
        return found

    def norm(self, vector: Vector) -> Array:
        """‖v‖ over all blocks: one number per run."""
        traces = [np.trace(gram, axis1=-2, axis2=-1) for gram in self.inner(vector, vector).values()]
        return np.sqrt(np.maximum(sum(traces), 0.0))

    def choose(self, accepted: ArrayLike, other: Iterate) -> Iterate:
        """Itself where `accepted`, the other where not; one truth per run."""
        if np.ndim(accepted) == 0:
            return self if accepted else other

        def pick(mine: Array, its: Array) -> Array:
            return np.where(per_run(accepted, mine), mine, its)

        parameters = self.parameters.map(pick, other.parameters)
        return replace(self, parameters=parameters, found_z=pick(self.z, other.z))

    @property
    def target(self) -> Ints:
        """The labels of the points looked at: (..., sample)."""
        rows = self.batch.rows
        return self.problem.target if rows is None else self.problem.target[..., rows]

    @property
    def _shares(self) -> Array | None:
        shares, rows = self.problem.shares, self.batch.rows
        return shares if shares is None or rows is None else shares[..., rows]

    @once
    def _sizes(self) -> Array | None:
        """‖w_r‖ (..., neuron, 1) where the activation divides by a power of it."""
        if not self.problem.upper.activation.normalized:
            return None
        block, first = self.block(WEIGHTS), self.problem.first
        if self.batch is ALL:
            square = first.square_norms(block, self.z - self.block(BIASES)[..., None])
        else:
            square = np.diagonal(first.inner(block, block), axis1=-2, axis2=-1)
        return np.sqrt(np.maximum(square, np.finfo(square.dtype).tiny))[..., None]

    @once
    def _measured(self) -> tuple[Array, Array]:
        return self.problem.loss.measure(self.outputs, self.target)

    @once
    def _blocks(self) -> dict[str, Array]:
        return {**self.problem.fixed.blocks, **self.parameters.blocks}

    @once
    def _layers(self) -> tuple[list[Array], list[Array]]:
        return self.problem.upper.forward(self.z, self._sizes, self._blocks)

    def _backward(self, log_scale: ArrayLike) -> tuple[Array, Array, dict[str, Array]]:
        """∂L/∂Z, ∂L/∂H and the gradients above the first layer, times e^(−log_scale)."""
        derivative = self.problem.loss.derivative(self.outputs, self.target, log_scale)
        count = derivative.dtype.type(self.target.shape[-1] if self.problem.loss.reduction == "mean" else 1)
        derivative *= 1 / count if self._shares is None else self._shares[..., None] / count
        dz = derivative.swapaxes(-1, -2)
        return self.problem.upper.backward(dz, *self._layers, self._sizes, self._blocks, self.parameters.blocks)

    def _gradient(self, log_scale: ArrayLike) -> Vector:
        dz, dh, found = self._backward(log_scale)
        if WEIGHTS in self.parameters:
            found[WEIGHTS] = self.problem.first.gradient(dz, self.batch)
            if self._sizes is not None:
                # h = z₊^p/ρ^(p−1) also falls with ρ = ‖w‖: ∂h/∂w has the part −(p−1) h/ρ · w/ρ.
                power = self.problem.upper.activation.power
                pull = (dh * self._layers[1][0]).sum(axis=-1, keepdims=True) / self._sizes**2
                found[WEIGHTS] = found[WEIGHTS] - (power - 1) * pull * self.block(WEIGHTS)
        if BIASES in self.parameters:
            found[BIASES] = dz.sum(axis=-1)
        return Vector({name: found[name] for name in self.parameters.blocks})

    def _effect_of(self, direction: Vector) -> Array:
        change: Array | None = None
        if WEIGHTS in direction:
            change = self.problem.first.effect(direction[WEIGHTS], self.problem.groups)
        if BIASES in direction:
            shift = direction[BIASES][..., None]
            change = shift if change is None else change + shift
        return np.zeros_like(self.z) if change is None else change


def _moved(mine: Array, step: Array | float, way: Array) -> Array:
    moved: Array = step * way
    moved += mine  # of a large block every further copy costs as much as the step
    return moved


def per_run(number: ArrayLike, like: Array) -> Array | float:
    """A number, or one per run, shaped to act on a block with the run as its first axis, in the block's precision."""
    if type(number) is float:  # NumPy takes it in the precision of what it meets; one of its own numbers it does not
        return number
    values = np.asarray(number)
    if values.dtype.kind == "f":
        values = values.astype(like.dtype, copy=False)
    return values.reshape(values.shape + (1,) * (like.ndim - values.ndim))
