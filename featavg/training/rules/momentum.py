"""Polyak's heavy ball, as SGD of most libraries has it."""

from __future__ import annotations

from dataclasses import dataclass

from featavg.training.iterate import Iterate, Vector
from featavg.training.rules.base import FixedSteps, check_share


@dataclass(frozen=True, kw_only=True)
class MomentumDescent(FixedSteps):
    """v ← βv + ∇L,  θ ← θ − ηv."""

    momentum: float = 0.9  # β

    def __post_init__(self) -> None:
        super().__post_init__()
        check_share("momentum", self.momentum)

    def init(self, at: Iterate) -> Vector:
        """v = 0."""
        return 0.0 * at.parameters

    def step(self, at: Iterate, state: Vector) -> tuple[Iterate, Vector]:
        """v ← βv + ∇L,  θ ← θ − ηv."""
        velocity = self.momentum * state + at.gradient
        return at.move(velocity, -self.eta(at)), velocity
