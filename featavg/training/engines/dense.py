"""The weights themselves: the textbook way, for batches, for rules that look at coordinates, as a check."""

from __future__ import annotations

import numpy as np

from featavg.arrays import Array
from featavg.training.engines.base import ALL, Batch, FirstLayer, Groups


class Dense(FirstLayer):
    """A block is W (..., neuron, axis), and a step costs 2 · samples · axes · neurons."""

    offers = frozenset({"coordinates", "inputs"})

    def __init__(self, x: Array, weights: Array) -> None:
        super().__init__(x, weights)
        self.gathered: tuple[Batch, Array] = ALL, x  # a step looks twice at its batch

    def start(self) -> Array:
        """W(0)."""
        return self.initial

    def weights(self, block: Array) -> Array:
        """W."""
        return block

    def products(self, block: Array, batch: Batch = ALL) -> Array:
        """W Xᵀ."""
        return block @ self._points(batch).swapaxes(-1, -2)

    def gradient(self, dz: Array, batch: Batch = ALL) -> Array:
        """∂L/∂W = ∂L/∂Z X."""
        return dz @ self._points(batch)

    def effect(self, block: Array, groups: Groups | None = None) -> Array:
        """ΔW Xᵀ."""
        return self.products(block)

    def inner(self, one: Array, other: Array) -> Array:
        """W Vᵀ."""
        return one @ np.swapaxes(other, -1, -2)

    def square_norms(self, block: Array, products: Array) -> Array:
        """Σ_a W_ra²."""
        return (block**2).sum(axis=-1)

    def input_gradient(self, block: Array, dz: Array) -> Array:
        """∂L/∂x = (∂L/∂Z)ᵀ W."""
        return np.swapaxes(dz, -1, -2) @ block

    def _points(self, batch: Batch) -> Array:
        if batch.x is not None:
            return batch.x
        if batch.rows is None:
            return self.x
        if self.gathered[0] is not batch:
            self.gathered = batch, self.x[..., batch.rows, :]
        return self.gathered[1]
