"""Gradient descent, with weight decay if wanted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from featavg.errors import InputError
from featavg.training.iterate import Iterate
from featavg.training.rules.base import FixedSteps, HasDimension


@dataclass(frozen=True, kw_only=True)
class GradientDescent(FixedSteps):
    """θ ← θ − η (∇L + λθ).

    The default step size 3.072/dim is the paper's 1e-3 at d = 3072 and holds η·dim fixed elsewhere.

    >>> GradientDescent(steps=10, step_size=0.1).weight_decay
    0.0
    """

    weight_decay: float = 0.0  # λ

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.weight_decay >= 0:
            raise InputError(f"weight_decay must not be negative, got {self.weight_decay}")

    def constant_step(self, at: HasDimension) -> float | None:
        """η, unless weights decay."""
        return None if self.weight_decay else self.eta(at)

    def step(self, at: Iterate, state: Any) -> tuple[Iterate, Any]:
        """θ ← θ − η (∇L + λθ)."""
        direction = at.gradient + self.weight_decay * at.parameters if self.weight_decay else at.gradient
        return at.move(direction, -self.eta(at)), state
