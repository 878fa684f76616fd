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


@dataclass(frozen=True, eq=False)
class Upper:
    """Depth and activation; the parameters come with each call, trained or not."""

    depth: int  # of the whole network
    activation: Activation

    def forward(self, z: Array, sizes: Array | None, blocks: Blocks) -> tuple[list[Array], list[Array]]:
        """Pre-activations Z_1 ... Z_L and inputs H_1 ... H_(L−1) of the layers above; Z_L are the outputs.

        `sizes` (..., neuron) are ‖w_r‖ of the first layer, where the activation divides by a power of them.
        """
        heights, inputs = [z], []
        for number in range(2, self.depth + 1):
            inputs.append(self.activation.value(heights[-1], sizes if number == 2 else None))
            heights.append(blocks[f"weights_{number}"] @ inputs[-1] + blocks[f"biases_{number}"][..., None])
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
            dh = np.swapaxes(blocks[f"weights_{number}"], -1, -2) @ dz
        if self.depth > 1:
            dz = dh * self.activation.slope(heights[0], sizes)
        return dz, dh, found

    def groups(self, blocks: Blocks) -> Groups | None:
        """Neurons with parallel columns of the last layer of two have proportional rows of ∂L/∂Z where both are on."""
        if self.depth != 2:
            return None
        columns = blocks["weights_2"]
        found = [_parallel(one) for one in columns.reshape(-1, *columns.shape[-2:])]
        shape = (*columns.shape[:-2], columns.shape[-1])
        number, ratio = (np.stack(part).reshape(shape) for part in zip(*found, strict=True))
        return Groups(number, ratio)


def _parallel(columns: Array) -> tuple[Ints, Array]:
    """Which columns are positive multiples of each other, and of what ratio to the first of their kind."""
    sizes = np.abs(columns).max(axis=0)
    sizes = np.where(sizes > 0, sizes, 1)
    _, first, number = np.unique(columns / sizes, axis=1, return_index=True, return_inverse=True)
    number = number.reshape(-1).astype(np.int64)
    return number, sizes / sizes[first[number]]
