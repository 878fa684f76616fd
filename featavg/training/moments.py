"""Which moments of a run are saved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from featavg.arrays import Array
from featavg.errors import InputError
from featavg.training.rules import Rule, check_positive


@dataclass(frozen=True)
class every:
    """Save every `interval` steps, and the last."""

    interval: int

    def __post_init__(self) -> None:
        check_positive("the interval between saved steps", self.interval)


def goals_of(rule: Rule, save_at: every | Sequence[float] | None) -> Array:
    """The steps, or times of a flow, to save; rising, with the first and the last among them: (time,)."""
    last: float = rule.limit if rule.end_time is None else rule.end_time
    if isinstance(save_at, every):
        wanted = np.arange(0, last, save_at.interval)
    elif save_at is None:
        wanted = np.linspace(0, last, 101)
    else:
        wanted = np.asarray(save_at, dtype=np.float64)
    if rule.end_time is None:
        wanted = np.round(wanted)
    goals = np.unique(np.concatenate([[0.0], wanted, [last]]))
    if not (goals[0] >= 0 and goals[-1] <= last):  # NaN is neither
        raise InputError(f"save_at must lie in 0 ... {last}, got {goals[0]} ... {goals[-1]}")
    return goals
