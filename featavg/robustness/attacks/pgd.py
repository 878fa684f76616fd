"""Projected gradient descent (Madry et al. 2018) on the margin of the decision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from featavg.arrays import Array, Bools
from featavg.errors import InputError
from featavg.robustness.attacks.descent import BallDescent
from featavg.robustness.attacks.field import Field


@dataclass(frozen=True, kw_only=True)
class PGD(BallDescent):
    """δ ← project(δ − step · steepest(∇m), radius), from δ = 0 and from `restarts` random points of the ball.

    On two-layer networks, in ℓ2 without a box, random starts lie in span(W), where all of their length is seen; a
    start in all d dimensions has only a share √(neurons/d) of its length there and is far weaker.

    >>> attack = PGD(radii=[1.0, 3.0], shorten=False)
    >>> attack(([[3.0, 4.0]], [0.0], [[1.0]], [-2.0]), [[1.0, 1.0]], [1]).upper <= 3.0
    array([ True])
    """

    name: ClassVar[str] = "pgd"
    step_size: float | None = None  # 2.5·radius/steps by default

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.step_size is not None and not self.step_size > 0:
            raise InputError(f"step_size must be positive, got {self.step_size}")

    def descend(self, field: Field, delta: Array, radius: float) -> tuple[Array, Bools]:
        """Plain steps."""
        step = 2.5 * radius / self.steps if self.step_size is None else self.step_size
        found, stuck, alive = field.nothing, np.zeros(len(field), dtype=bool), np.arange(len(field))
        part = field
        for _ in range(self.steps):
            margin, gradient = part.gradients(delta)
            lost = margin <= part.tie(delta)
            if lost.any():
                found[alive[lost]] = delta[lost]
                part, alive, delta, gradient = part.take(~lost), alive[~lost], delta[~lost], gradient[~lost]
            if not len(alive):
                return found, stuck
            stuck[alive[~gradient.any(axis=1)]] = True
            moved = delta - step * part.norm.steepest(gradient)
            # Clipping to the box after projecting on the ball never makes a perturbation longer.
            delta = part.inside(part.norm.project(moved, radius))
        lost = part.fooled(delta)
        found[alive[lost]] = delta[lost]
        return found, stuck
