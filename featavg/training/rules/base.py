"""What a rule is: a state to begin with, and a step."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from featavg.errors import InputError
from featavg.training.engines import Need
from featavg.training.iterate import Iterate


class HasDimension(Protocol):
    """Data, or an iterate."""

    @property
    def dim(self) -> int:
        """d."""


class Rule(ABC):
    """One step, written as its equation: `at.move(direction, step)` with what the iterate `at` offers.

    A rule knows neither data, network nor engine. It ends after `limit` steps, at `end_time`, or for a reason of its
    own (`ended`).
    """

    needs: ClassVar[frozenset[Need]] = frozenset()
    stacks: ClassVar[bool] = True  # whether several runs can be stepped at once, without branching on their numbers
    open_ended: ClassVar[bool] = False  # whether running out of steps is an early end

    @property
    @abstractmethod
    def limit(self) -> int:
        """The most steps."""

    @property
    def end_time(self) -> float | None:
        """The time Σ η to end at, for a rule that counts time and not steps."""
        return None

    def init(self, at: Iterate) -> Any:
        """What the rule remembers from step to step, at the start."""
        return None

    @abstractmethod
    def step(self, at: Iterate, state: Any) -> tuple[Iterate, Any]:
        """The next iterate, and what is remembered of this step."""

    def constant_step(self, at: HasDimension) -> float | None:
        """η, if every step is θ ← θ − η∇L with the same η: then many of them may be made at once."""
        return None

    def ended(self, at: Iterate, state: Any) -> str | None:
        """Why to stop before the last step, if there is a reason."""
        return None


@dataclass(frozen=True, kw_only=True)
class FixedSteps(Rule):
    """What rules share that make a number of steps of one size."""

    steps: int = 100
    step_size: float | None = None  # η

    def __post_init__(self) -> None:
        check_positive("steps", self.steps)
        check_positive("step_size", self.step_size)

    @property
    def limit(self) -> int:
        """All of them."""
        return self.steps

    def eta(self, at: HasDimension) -> float:
        """η for this data."""
        return default_step(at) if self.step_size is None else self.step_size


def default_step(at: HasDimension) -> float:
    """η = 3.072/dim: the paper's 1e-3 at d = 3072, with η·dim held fixed elsewhere."""
    return 3.072 / at.dim


def check_positive(name: str, value: float | None) -> None:
    """Refuse a rule's number that is not positive."""
    if value is not None and not (np.isfinite(value) and value > 0):
        raise InputError(f"{name} must be positive, got {value}")


def check_share(name: str, value: float) -> None:
    """Refuse a rule's number that does not lie in [0, 1)."""
    if not 0 <= value < 1:
        raise InputError(f"{name} must lie in [0, 1), got {value}")
