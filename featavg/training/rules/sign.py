"""Sign descent: what Adam is without its memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from featavg.training.iterate import Iterate
from featavg.training.rules.base import FixedSteps


@dataclass(frozen=True, kw_only=True)
class SignDescent(FixedSteps):
    """θ ← θ − η sign(∇L), coordinate by coordinate."""

    needs = frozenset({"coordinates"})

    step_size: float | None = 1e-3  # η; 3.072/dim if None

    def step(self, at: Iterate, state: Any) -> tuple[Iterate, Any]:
        """θ ← θ − η sign(∇ log L), the same sign without underflow."""
        return at.move(at.log_gradient.map(np.sign), -self.eta(at)), state
