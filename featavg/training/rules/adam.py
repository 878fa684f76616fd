"""Adam (Kingma & Ba 2015)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from featavg.training.iterate import Iterate, Vector
from featavg.training.rules.base import FixedSteps

Moments = tuple[int, Vector, Vector]


@dataclass(frozen=True, kw_only=True)
class Adam(FixedSteps):
    """m ← β₁m + (1−β₁)∇L,  v ← β₂v + (1−β₂)∇L²,  θ ← θ − η m̂/(√v̂ + 1e-8), with m̂ and v̂ corrected for their start.

    It looks at single coordinates and so has a meaning in ambient ones only.
    """

    needs = frozenset({"coordinates"})

    step_size: float | None = 1e-3  # η; 3.072/dim if None
    decay: tuple[float, float] = (0.9, 0.999)  # β₁, β₂

    def init(self, at: Iterate) -> Moments:
        """m = v = 0."""
        return 0, 0.0 * at.parameters, 0.0 * at.parameters

    def step(self, at: Iterate, state: Moments) -> tuple[Iterate, Moments]:
        """θ ← θ − η m̂/(√v̂ + 1e-8)."""
        (slow, fast), (count, mean, square) = self.decay, state
        count += 1
        mean = slow * mean + (1 - slow) * at.gradient
        square = fast * square + (1 - fast) * at.gradient.map(lambda g: g**2)
        unbiased, size = mean / (1 - slow**count), square / (1 - fast**count)
        direction = unbiased.map(lambda m, v: m / (np.sqrt(v) + v.dtype.type(1e-8)), size)
        return at.move(direction, -self.eta(at)), (count, mean, square)
