"""What a search may cost, and the clock that holds it to that."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field

from featavg.errors import InputError


@dataclass(frozen=True)
class Budget:
    """Nodes and CPU seconds that one point may cost, and wall seconds for all of them together."""

    nodes: int = 1_000_000
    seconds: float = 30.0
    wall: float = math.inf

    def __post_init__(self) -> None:
        numbers = (self.nodes, self.seconds, self.wall)
        if not all(isinstance(number, int | float) and number > 0 for number in numbers):
            raise InputError(
                f"a budget needs nodes >= 1 and positive seconds, got nodes={self.nodes}, seconds={self.seconds} "
                f"and wall={self.wall}"
            )


# The share of a point's seconds that the search may take: the check takes about a quarter of what the search does.
SEARCHING = 0.85


@dataclass
class Clock:
    """How much of a budget one point has left."""

    budget: Budget
    ends: float  # wall time at which everything ends
    began: float = field(default_factory=time.process_time)
    nodes: int = 0

    def left(self) -> float:
        """Seconds, CPU or wall, whichever are fewer; never below 0, however late it is."""
        seconds = SEARCHING * self.budget.seconds - (time.process_time() - self.began)
        return max(min(seconds, self.ends - time.monotonic()), 0.0)

    def nodes_left(self) -> int:
        """How many nodes may still be looked at."""
        return max(0, self.budget.nodes - self.nodes)

    def spent(self) -> str:
        """Why the search must end, empty if it need not."""
        if self.nodes >= self.budget.nodes:
            return f"budget of {self.budget.nodes} nodes"
        if self.ends <= time.monotonic():
            return f"budget of {self.budget.wall:g} wall seconds"
        return "" if self.left() > 0 else f"budget of {self.budget.seconds:g} seconds"
