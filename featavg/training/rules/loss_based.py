"""Loss-based steps (Lyu & Li 2020): a loss of 1e-800 within thousands of steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from featavg.errors import InputError
from featavg.training.iterate import Iterate
from featavg.training.rules.base import Rule, check_positive

GROWTH, BACK_OFF = 2 ** (1 / 5), 2 ** (1 / 10)
# So many steps taken back while the log-loss falls by less than FALL are the end: where points cannot be separated,
# steps of the largest size that is not taken back go on for ever around the lowest loss.
PATIENCE, FALL = 200, 1e-6
LARGEST = 1e100  # of α, which grows without end where the gradient is 0 to all digits


class State(NamedTuple):
    """What a step knows of those before it."""

    alpha: float
    mark: float  # the log-loss when it had last fallen by FALL
    rejected: int  # steps taken back since then
    margin: float  # the largest smallest margin of all iterates


@dataclass(frozen=True, kw_only=True)
class LossBasedDescent(Rule):
    """θ ← θ − (α/L) ∇L; if the loss has not risen α grows by 2^(1/5), else the step is taken back and α/2^(1/10).

    No margin moves by more than `reach` in a step: without that cap the loss falls fast and the direction is a bad one.

    >>> LossBasedDescent(log_loss=-120 * np.log(10)).start
    0.1
    """

    stacks = False
    open_ended = True

    log_loss: float  # where to stop
    start: float = 0.1  # α at the start
    reach: float = 1.0  # max|Δq|
    most_steps: int = 100_000

    def __post_init__(self) -> None:
        if not np.isfinite(self.log_loss):
            raise InputError(f"log_loss must be the finite logarithm of a loss, got {self.log_loss}")
        check_positive("start", self.start)
        check_positive("reach", self.reach)
        check_positive("most_steps", self.most_steps)

    @property
    def limit(self) -> int:
        """The most steps."""
        return self.most_steps

    def init(self, at: Iterate) -> State:
        """α, and no step taken back."""
        return State(self.start, float(at.log_loss), 0, float(at.margins.min()))

    def step(self, at: Iterate, state: State) -> tuple[Iterate, State]:
        """θ − α ∇ log L, if the loss there is not larger."""
        alpha = state.alpha
        new = at.move(at.log_gradient, -alpha)
        while (moved := _farthest(new, at)) > self.reach:
            # Margins are nearly linear in a short step; a little less, so that it ends.
            alpha *= max(0.999 * self.reach / moved, 1e-3)
            new = at.move(at.log_gradient, -alpha)
        # `<=`: from a tiny start the loss does not change in its last digit for many steps.
        if not new.log_loss <= at.log_loss:
            return at, state._replace(alpha=alpha / BACK_OFF, rejected=state.rejected + 1)
        state = state._replace(alpha=min(alpha * GROWTH, LARGEST), margin=max(state.margin, float(new.margins.min())))
        if new.log_loss <= state.mark - FALL:
            state = state._replace(mark=float(new.log_loss), rejected=0)
        return new, state

    def ended(self, at: Iterate, state: State) -> str | None:
        """The loss is reached, or no longer falls."""
        if at.log_loss <= self.log_loss:
            return "finished"
        if state.rejected < PATIENCE and state.alpha < LARGEST:
            return None
        why = "its gradient is 0" if state.alpha >= LARGEST else f"{PATIENCE} steps were taken back"
        return (
            f"ended early: the loss no longer falls, {why} (log-loss {float(at.log_loss):.4g}, best smallest margin "
            f"{state.margin:.3g}); points that this network cannot separate end like this"
        )


def _farthest(new: Iterate, at: Iterate) -> float:
    """max_i |Δq_i|; a step out of the finite numbers is infinitely far."""
    moved = float(np.abs(new.margins - at.margins).max())
    return moved if np.isfinite(moved) else np.inf
