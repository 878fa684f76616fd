"""What an engine offers, whatever it holds. A stack of runs is one more axis in front of every array."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal

from featavg.arrays import Array, Ints
from featavg.errors import InputError

Need = Literal["coordinates", "inputs"]


@dataclass(frozen=True, eq=False)
class Batch:
    """Which points are looked at, and where these have been moved to."""

    rows: Ints | None = None  # (row,)  all points if None
    x: Array | None = None  # (..., row, axis)  where they are, if not where they were


ALL = Batch()


@dataclass(frozen=True, eq=False)
class Groups:
    """Neurons whose rows of ∂L/∂Z are multiples of each other wherever both are on."""

    number: Ints  # (..., neuron)  to which group each belongs
    ratio: Array  # (..., neuron)  its row divided by that of the first of its group


class FirstLayer(ABC):
    """The weights W of the first layer as a block (..., neuron, column). Knows no rule, loss or depth."""

    offers: ClassVar[frozenset[Need]] = frozenset()

    def __init__(self, x: Array, weights: Array) -> None:
        self.x, self.initial = x, weights  # (..., sample, axis), (..., neuron, axis)

    @abstractmethod
    def start(self) -> Array:
        """The block of the initial weights."""

    @abstractmethod
    def weights(self, block: Array) -> Array:
        """W (..., neuron, axis) of a block."""

    @abstractmethod
    def products(self, block: Array, batch: Batch = ALL) -> Array:
        """W Xᵀ, pre-activations without biases: (..., neuron, sample)."""

    @abstractmethod
    def gradient(self, dz: Array, batch: Batch = ALL) -> Array:
        """∂L/∂W as a block, from ∂L/∂Z (..., neuron, sample)."""

    @abstractmethod
    def effect(self, block: Array, groups: Groups | None = None) -> Array:
        """ΔZ of a unit step along a block, at all points: (..., neuron, sample)."""

    @abstractmethod
    def inner(self, one: Array, other: Array) -> Array:
        """⟨w_r, v_q⟩ of the rows of two blocks: (..., neuron, neuron)."""

    @abstractmethod
    def square_norms(self, block: Array, products: Array) -> Array:
        """‖w_r‖² (..., neuron), given W Xᵀ at all points."""

    def input_gradient(self, block: Array, dz: Array) -> Array:
        """∂L/∂x: (..., sample, axis)."""
        raise InputError(
            f"moved inputs need their coordinates, which {type(self).__name__} does not hold; drop engine="
        )
