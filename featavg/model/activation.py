"""What a hidden neuron does with its pre-activation: a power of ReLU, perhaps leaky."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from featavg.arrays import Array
from featavg.errors import InputError


@dataclass(frozen=True)
class Activation:
    """φ(z) = ReLU(z)^p + leak · min(z, 0); p = 1 without leak is ReLU.

    At a pre-activation of exactly 0 a neuron counts as active (paper, Def. 2.4: ReLU'(0) = 1; torch takes 0).

    >>> Activation(power=2).value(np.array([-1.0, 3.0]))
    array([0., 9.])
    """

    power: int = 1
    leak: float = 0.0

    def __post_init__(self) -> None:
        if self.power < 1 or self.power != int(self.power):
            raise InputError(f"the power of an activation must be a whole number from 1, got {self.power}")
        if not 0 <= self.leak < 1 or (self.leak and self.power > 1):
            raise InputError(f"a leak must lie in [0, 1) and needs power 1, got {self.leak} and power {self.power}")

    def value(self, z: Array) -> Array:
        """φ(z), of the same shape as z."""
        on: Array = np.maximum(z, 0)
        if self.leak:
            return on + z.dtype.type(self.leak) * np.minimum(z, 0)
        return on if self.power == 1 else on**self.power

    def slope(self, z: Array) -> Array:
        """φ'(z), of the same shape as z."""
        if self.power > 1:
            return z.dtype.type(self.power) * np.maximum(z, 0) ** (self.power - 1)
        return np.where(z >= 0, z.dtype.type(1), z.dtype.type(self.leak))

    @property
    def is_relu(self) -> bool:
        """Whether this is the plain ReLU, for which everything here is exact."""
        return self.power == 1 and self.leak == 0


RELU = Activation()
