"""What a norm is to a search, an attack or a bound."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from featavg.arrays import Array


class Norm(ABC):
    """‖δ‖, its dual, and its balls {‖δ‖ <= radius}; vectors lie along the last axis and keep their precision."""

    @abstractmethod
    def length(self, delta: Array) -> Array:
        """‖δ‖: (...,)."""

    @abstractmethod
    def dual(self, w: Array) -> Array:
        """‖w‖_* = max ⟨w, δ⟩ over ‖δ‖ <= 1: (...,)."""

    @abstractmethod
    def steepest(self, gradient: Array) -> Array:
        """The δ of that maximum, 0 where the gradient is 0: (..., axis)."""

    @abstractmethod
    def project(self, delta: Array, radius: Array | float) -> Array:
        """A nearest point of the ball; clipping it to a box that holds the center never makes it longer."""

    @abstractmethod
    def random(self, rng: np.random.Generator, shape: tuple[int, int], radius: Array | float) -> Array:
        """Points drawn uniformly from the ball: (sample, axis)."""

    def foot(self, gradient: Array, height: Array) -> Array:
        """The nearest δ with ⟨gradient, δ⟩ = −height, −height/‖g‖_* · steepest(g): (..., axis), 0 if all is flat.

        Its length is the distance height/‖g‖_* of the half-space beyond.
        """
        slope = self.dual(gradient)
        share = np.divide(-height, slope, out=np.zeros_like(slope), where=slope > 0)
        return share[..., None] * self.steepest(gradient)
