"""What an attack asks of a question: margins, their slopes, and the same of some of its points."""

from __future__ import annotations

from typing import Protocol

from numpy.typing import ArrayLike

from featavg.arrays import Array, Bools, Ints
from featavg.model import Readout
from featavg.robustness.bracket import Asked


class Attackable(Asked, Protocol):
    """A decision at labelled points, be it that of a two-layer or of a deep network: arrays in, arrays out."""

    @property
    def readout(self) -> Readout:
        """How outputs become a decision."""

    @property
    def precision(self) -> str:
        """The floats that the network computes in: float32 or float64."""

    def slopes(self, points: ArrayLike) -> tuple[Array, Array]:
        """The margin at point i (sample,) and its gradient there (sample, axis)."""

    def part(self, chosen: Bools | Ints) -> Attackable:
        """The same question at some of its points, each as often as it is named."""
