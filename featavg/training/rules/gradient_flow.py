"""Gradient flow, by steps short enough."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from featavg.training.iterate import Iterate
from featavg.training.rules.base import Rule, check_positive


@dataclass(frozen=True, kw_only=True)
class GradientFlow(Rule):
    """dθ/dt = −∇L up to `time` = Σ η, by midpoint steps with max|ΔZ of −η∇L| <= `accuracy` · min(mean|Z|, 1).

    The 1 is the change of a margin over which a logistic or exponential loss changes by a factor e. Halve `accuracy` to
    see how far the answer is from the flow: the error is of second order in it, except for steps that switch a neuron.
    """

    stacks = False
    open_ended = True

    time: float
    accuracy: float = 0.05
    most_steps: int = 100_000

    def __post_init__(self) -> None:
        check_positive("time", self.time)
        check_positive("accuracy", self.accuracy)
        check_positive("most_steps", self.most_steps)

    @property
    def limit(self) -> int:
        """The most steps."""
        return self.most_steps

    @property
    def end_time(self) -> float:
        """`time`."""
        return self.time

    def step(self, at: Iterate, state: Any) -> tuple[Iterate, Any]:
        """θ ← θ − η ∇L(θ − η/2 ∇L(θ)) with η = accuracy · min(mean|Z|, 1) / max|ΔZ of a unit step|."""
        fastest = np.abs(at.effect(at.gradient)).max()
        allowed = self.accuracy * min(float(np.abs(at.z).mean()), 1.0)
        eta = min(float(allowed / fastest) if fastest > 0 else np.inf, at.until - at.time)
        halfway = at.move(at.gradient, -eta / 2)
        return at.move(halfway.gradient, -eta), state
