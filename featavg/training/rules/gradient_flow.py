"""Gradient flow, by steps short enough."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from featavg.training.iterate import Iterate
from featavg.training.rules.base import Rule, check_positive


@dataclass(frozen=True, kw_only=True)
class GradientFlow(Rule):
    """dθ/dt = −∇L up to `time` = Σ η, by Euler steps short enough that max|ΔZ| <= `accuracy` · mean|Z|.

    Halve `accuracy` to see how far the answer is from the flow: the error is of first order in it.
    """

    stacks = False
    open_ended = True

    time: float
    accuracy: float = 0.02
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
        """θ ← θ − η ∇L with η = accuracy · mean|Z| / max|ΔZ of a unit step|."""
        fastest = np.abs(at.effect(at.gradient)).max()
        eta = float(self.accuracy * np.abs(at.z).mean() / fastest) if fastest > 0 else np.inf
        return at.move(at.gradient, -min(eta, at.until - at.time)), state
