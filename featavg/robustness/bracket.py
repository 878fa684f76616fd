"""A radius with its honesty: what is proved, what is shown, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from featavg.arrays import Array

if TYPE_CHECKING:
    from featavg.robustness.question import Question


@dataclass(frozen=True)
class RadiusBracket:
    """For each point lower <= true radius <= upper; an attack alone has lower 0, a certificate alone upper ∞."""

    lower: Array  # (sample,)  no smaller perturbation fools the network
    upper: Array  # (sample,)  this one does
    witness: Array  # (sample, axis)  the fooled point at distance upper, NaN where there is none
    status: tuple[str, ...]  # (sample,)  exact, open: why, attack only, certificate only, failed: why
    question: Question  # what was asked
    flags: tuple[str, ...] = field(default=())  # what a method says against itself

    def __len__(self) -> int:
        return len(self.lower)
