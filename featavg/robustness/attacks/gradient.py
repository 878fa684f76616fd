"""A walk down the gradient of the margin (after DeepFool, Moosavi-Dezfooli et al. 2016), and back along a ray."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from featavg.arrays import Array, Bools
from featavg.errors import InputError
from featavg.robustness.attacks.base import Attack, Found
from featavg.robustness.attacks.checks import counted
from featavg.robustness.attacks.field import Field

# Newton steps aim a little behind the boundary, or rounding would keep them before it.
OVERSHOOT = 1e-6
# In float32 even that may not do: rays that are not exact are followed a little farther than the end of the walk.
FARTHER = (1.0, 1.001, 1.1)


@dataclass(frozen=True, kw_only=True)
class GradientWalk(Attack):
    """Newton steps δ ← δ − m/‖g‖_* · steepest(g) to the linearised boundary until fooled; then the first fooled point
    on the segment from x to the end of the walk.

    The walk starts at x and, `restarts` times more, at random points of the ball whose radius was found before.

    >>> GradientWalk()(([[3.0, 4.0]], [0.0], [[1.0]], [-2.0]), [[1.0, 1.0]], [1]).upper.round(9)
    array([1.])
    """

    name: ClassVar[str] = "gradient walk"
    steps: int = 50
    restarts: int = 3
    seed: int = 0

    def __post_init__(self) -> None:
        if self.steps < 1 or self.restarts < 0:
            raise InputError(f"need steps >= 1 and restarts >= 0, got {self.steps} and {self.restarts}")

    def search(self, field: Field) -> Found:
        """The best of all walks."""
        rng = np.random.default_rng(self.seed)
        end, stuck = self._walk(field, field.at_rest)
        best = field.first_along(end, FARTHER)
        for _ in range(self.restarts):
            length = field.norm.length(best)
            around = np.where(np.isfinite(length), length, field.size)
            end, _ = self._walk(field, field.random(rng, around))
            best = field.shorter(best, field.first_along(end, FARTHER))
        dead = counted("dead start (all rival neurons off)", field.dead_starts())
        return Found(best, counted("zero gradient", stuck) + dead)

    def _walk(self, field: Field, delta: Array) -> tuple[Array, Bools]:
        """The end of the walk, fooled or not, and which walks met a zero gradient before they fooled."""
        stuck = np.zeros(len(field), dtype=bool)
        for _ in range(self.steps):
            margin, gradient = field.gradients(delta)
            falling = (margin > field.tie(delta)) & ~stuck
            stuck |= falling & (field.norm.dual(gradient) == 0)
            falling &= ~stuck
            if not falling.any():
                break
            step = field.norm.foot(gradient, np.where(falling, margin, 0.0)) * (1 + OVERSHOOT)
            delta = field.inside(delta + step)
        return delta, stuck
