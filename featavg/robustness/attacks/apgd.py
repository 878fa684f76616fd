"""PGD that finds its own step sizes (Croce & Hein 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from featavg.arrays import Array, Bools
from featavg.robustness.attacks.descent import BallDescent
from featavg.robustness.attacks.field import Field


@dataclass(frozen=True, kw_only=True)
class APGD(BallDescent):
    """PGD with momentum whose step, 2·radius at first, is halved when it stops paying.

    At checkpoints that come ever faster a point whose margin fell in fewer than three quarters of the steps since the
    last one, or which has not improved since, goes back to its best iterate with half the step.

    >>> APGD(radii=1.01)(([[3.0, 4.0]], [0.0], [[1.0]], [-2.0]), [[1.0, 1.0]], [1]).upper.round(6)
    array([1.])
    """

    name: ClassVar[str] = "apgd"
    steps: int = 100
    restarts: int = 1

    def descend(self, field: Field, delta: Array, radius: float) -> tuple[Array, Bools]:
        """Adaptive steps."""
        state = _Adaptive(field, delta, radius)
        last, gap = 0, max(1, int(0.22 * self.steps))
        for count in range(1, self.steps + 1):
            if not len(state.alive):
                break
            state.advance()
            if count - last >= gap:
                state.review(count - last)
                last, gap = count, max(gap - max(1, int(0.03 * self.steps)), max(1, int(0.06 * self.steps)))
        return state.found, state.stuck


class _Adaptive:
    """The points of a run that are not fooled yet: iterates, steps, and the best so far."""

    def __init__(self, field: Field, delta: Array, radius: float) -> None:
        self.field, self.radius = field, radius
        self.alive, self.found, self.stuck = np.arange(len(field)), field.nothing, np.zeros(len(field), dtype=bool)
        margin, gradient = field.gradients(delta)
        self.delta, self.before, self.margin, self.gradient = delta, delta, margin, gradient
        self.best, self.best_margin, self.best_gradient = delta, margin, gradient
        self.stride, self.fell = np.full_like(margin, 2 * radius), np.zeros_like(margin)
        self.reviewed_margin, self.reviewed_stride = margin, self.stride
        self._drop_fooled()

    def advance(self) -> None:
        """One step with momentum 3/4, and the margin after it."""
        field, norm = self.field, self.field.norm
        step = self.stride[:, None] * norm.steepest(self.gradient)
        plain = field.inside(norm.project(self.delta - step, self.radius))
        moved = self.delta + 0.75 * (plain - self.delta) + 0.25 * (self.delta - self.before)
        self.before, self.delta = self.delta, field.inside(norm.project(moved, self.radius))
        margin, self.gradient = field.gradients(self.delta)
        self.fell = self.fell + (margin < self.margin)
        self.margin = margin
        won = margin < self.best_margin
        self.best_margin = np.where(won, margin, self.best_margin)
        self.best = np.where(won[:, None], self.delta, self.best)
        self.best_gradient = np.where(won[:, None], self.gradient, self.best_gradient)
        self._drop_fooled()

    def review(self, steps: int) -> None:
        """Halve the steps that do not pay and go back to the best iterate."""
        stalled = (self.stride == self.reviewed_stride) & (self.best_margin >= self.reviewed_margin)
        poor = (self.fell < 0.75 * steps) | stalled
        self.reviewed_margin, self.reviewed_stride = self.best_margin, self.stride
        self.stride = np.where(poor, self.stride / 2, self.stride)
        self.delta = np.where(poor[:, None], self.best, self.delta)
        self.before = np.where(poor[:, None], self.best, self.before)
        self.gradient = np.where(poor[:, None], self.best_gradient, self.gradient)
        self.margin = np.where(poor, self.best_margin, self.margin)
        self.fell = np.zeros_like(self.fell)

    def _drop_fooled(self) -> None:
        """Keep what fools and go on without it."""
        lost = self.margin <= self.field.tie(self.delta)
        if lost.any():
            self.found[self.alive[lost]] = self.delta[lost]
            keep = ~lost
            self.field, self.alive = self.field.take(keep), self.alive[keep]
            for name in ("delta", "before", "margin", "gradient", "best", "best_margin", "best_gradient",
                         "stride", "fell", "reviewed_margin", "reviewed_stride"):  # fmt: skip
                setattr(self, name, getattr(self, name)[keep])
        self.stuck[self.alive[~self.gradient.any(axis=1)]] = True
