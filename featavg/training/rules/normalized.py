"""Normalised gradient descent: every step has the same length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from featavg.training.iterate import Iterate
from featavg.training.rules.base import FixedSteps


@dataclass(frozen=True, kw_only=True)
class NormalizedDescent(FixedSteps):
    """θ ← θ − η ∇L/‖∇L‖."""

    step_size: float | None = 1e-3  # η; 3.072/dim if None

    def step(self, at: Iterate, state: Any) -> tuple[Iterate, Any]:
        """θ ← θ − η ∇L/‖∇L‖, by the gradient of log L, whose direction is the same and which does not underflow."""
        gradient = at.log_gradient
        return at.move(gradient / at.norm(gradient), -self.eta(at)), state
