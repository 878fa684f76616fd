"""The layers above the first, forwards and backwards: the same for every engine.

Samples are columns here, H (..., neuron, sample), so that a layer reads Z = W H + b as in the equation.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from featavg.arrays import Array, Ints
from featavg.model import Activation
from featavg.training.engines import Groups

Blocks = Mapping[str, Array]


@dataclass(frozen=True)
class EqualBlocks:
    """A second layer of which each output sums equally many neurons of its own, all with one weight.

    There A is no matrix to multiply by: with one neuron per output such products would cost half as much as those with
    the points.

    >>> EqualBlocks.of(np.array([[0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5]]))
    EqualBlocks(weight=0.5, width=2)
    """

    weight: float
    width: int  # neurons of each output

    @classmethod
    def of(cls, second: Array) -> EqualBlocks | None:
        """A (..., output, neuron) as equal blocks, if it has them, the same in all runs."""
        every = second.reshape(-1, *second.shape[-2:])
        second = every[0]
        outputs, neurons = second.shape
        if neurons % outputs:
            return None
        alike = second[0, 0] * np.repeat(np.eye(outputs), neurons // outputs, axis=1)
        return cls(float(second[0, 0]), neurons // outputs) if (every == alike).all() else None

    def up(self, hidden: Array) -> Array:
        """A H: (..., neuron, sample) to (..., output, sample)."""
        if self.width > 1:
            hidden = hidden.reshape(*hidden.shape[:-2], -1, self.width, hidden.shape[-1]).sum(axis=-2)
        return hidden if self.weight == 1 else hidden * hidden.dtype.type(self.weight)

    def down(self, outputs: Array) -> Array:
        """Aᵀ F: (..., output, sample) to (..., neuron, sample)."""
        scaled = outputs if self.weight == 1 else outputs * outputs.dtype.type(self.weight)
        return scaled if self.width == 1 else np.repeat(scaled, self.width, axis=-2)


@dataclass(frozen=True, eq=False)
class Upper:
    """Depth and activation; the parameters come with each call, trained or not."""

    depth: int  # of the whole network
    activation: Activation
    second: EqualBlocks | None = None  # what the second layer is made of, if it stays as it is

    def forward(self, z: Array, sizes: Array | None, blocks: Blocks) -> tuple[list[Array], list[Array]]:
        """Pre-activations Z_1 ... Z_L and inputs H_1 ... H_(L−1) of the layers above; Z_L are the outputs.

        `sizes` (..., neuron) are ‖w_r‖ of the first layer, where the activation divides by a power of them.
        """
        heights, inputs = [z], []
        for number in range(2, self.depth + 1):
            inputs.append(self.activation.value(heights[-1], sizes if number == 2 else None))
            weights, biases = blocks[f"weights_{number}"], blocks[f"biases_{number}"][..., None]
            heights.append(self.up(number, inputs[-1], weights) + biases)
        return heights, inputs

    def backward(
        self,
        dz: Array,
        heights: list[Array],
        inputs: list[Array],
        sizes: Array | None,
        blocks: Blocks,
        trained: Collection[str],
    ) -> tuple[Array, Array, dict[str, Array]]:
        """∂L/∂Z_1 (..., neuron, sample), ∂L/∂H_1, and the gradients of the trained blocks above the first layer."""
        found: dict[str, Array] = {}
        dh = dz
        for number in range(self.depth, 1, -1):
            if number < self.depth:
                dz = dh * self.activation.slope(heights[number - 1], None)
            if f"weights_{number}" in trained:
                found[f"weights_{number}"] = dz @ np.swapaxes(inputs[number - 2], -1, -2)
            if f"biases_{number}" in trained:
                found[f"biases_{number}"] = dz.sum(axis=-1)
            dh = self.down(number, dz, blocks[f"weights_{number}"])
        if self.depth > 1:
            dz = dh * self.activation.slope(heights[0], sizes)
        return dz, dh, found

    def up(self, number: int, hidden: Array, weights: Array) -> Array:
        """W H of a layer: (..., neuron, sample)."""
        return self.second.up(hidden) if number == 2 and self.second else weights @ hidden

    def down(self, number: int, dz: Array, weights: Array) -> Array:
        """∂L/∂H = Wᵀ ∂L/∂Z of a layer: (..., neuron, sample)."""
        return self.second.down(dz) if number == 2 and self.second else np.swapaxes(weights, -1, -2) @ dz

    def groups(self, blocks: Blocks) -> Groups | None:
        """Neurons with parallel columns of the last layer of two have proportional rows of ∂L/∂Z where both are on."""
        if self.depth != 2:
            return None
        columns = blocks["weights_2"]
        found = [parallel_columns(one) for one in columns.reshape(-1, *columns.shape[-2:])]
        shape = (*columns.shape[:-2], columns.shape[-1])
        number, ratio = (np.stack(part).reshape(shape) for part in zip(*found, strict=True))
        return Groups(number, ratio)


def parallel_columns(columns: Array) -> tuple[Ints, Array]:
    """Which columns are positive multiples of each other, and of what ratio to the first of their kind."""
    sizes = np.abs(columns).max(axis=0)
    sizes = np.where(sizes > 0, sizes, 1)
    _, first, number = np.unique(columns / sizes, axis=1, return_index=True, return_inverse=True)
    number = number.reshape(-1).astype(np.int64)
    return number, sizes / sizes[first[number]]
