"""What a hidden neuron does with its pre-activation: a power of ReLU, perhaps leaky, perhaps normalised."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from featavg.arrays import Array
from featavg.errors import InputError


@dataclass(frozen=True)
class Activation:
    """φ(z) = ReLU(z)^p + leak · min(z, 0); p = 1 without leak is ReLU.

    Normalised (Min & Vidal 2024) it is ReLU(z)^p/‖w‖^(p−1), of degree 1 in the weights w of the neuron for every p.

    At a pre-activation of exactly 0 a neuron counts as active (paper, Def. 2.4: ReLU'(0) = 1; torch takes 0).

    >>> Activation(power=2).value(np.array([-1.0, 3.0]))
    array([0., 9.])
    """

    power: int = 1
    leak: float = 0.0
    normalized: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.power, int | float | np.number) or not (self.power >= 1 and self.power % 1 == 0):
            raise InputError(f"the power of an activation must be a whole number from 1, got {self.power!r}")
        if not 0 <= self.leak < 1 or (self.leak and self.power > 1):
            raise InputError(f"a leak must lie in [0, 1) and needs power 1, got {self.leak} and power {self.power}")

    def value(self, z: Array, sizes: Array | None = None) -> Array:
        """φ(z), of the same shape as z; `sizes` are ‖w‖ of the neurons, shaped to divide z, for the normalised form."""
        on: Array = np.maximum(z, 0)
        if self.leak:
            return on + z.dtype.type(self.leak) * np.minimum(z, 0)
        return on if self.power == 1 else on**self.power / self._divisor(sizes)

    def slope(self, z: Array, sizes: Array | None = None) -> Array:
        """φ'(z) at fixed ‖w‖, of the same shape as z."""
        if self.power > 1:
            return z.dtype.type(self.power) * np.maximum(z, 0) ** (self.power - 1) / self._divisor(sizes)
        on: Array = (z >= 0).astype(z.dtype)
        return np.where(on, on, z.dtype.type(self.leak)) if self.leak else on

    def degree(self, inner: int, trained: bool) -> int:
        """How φ scales where the pre-activation has degree `inner` in the parameters; are the weights among these?"""
        return self.power * inner - (self.power - 1) * (self.normalized and trained)

    def _divisor(self, sizes: Array | None) -> Array | int:
        if not self.normalized:
            return 1
        assert sizes is not None, "a normalised activation needs the sizes of its neurons"
        return sizes ** (self.power - 1)

    @property
    def is_relu(self) -> bool:
        """Whether this is the plain ReLU, for which everything here is exact."""
        return self.power == 1 and self.leak == 0


RELU = Activation()
