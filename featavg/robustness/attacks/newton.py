"""Newton's walk to the nearest point of the boundary: each step forgets the way and keeps the plane."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from featavg.errors import InputError
from featavg.robustness.attacks.base import Attack, Found
from featavg.robustness.attacks.field import Field
from featavg.robustness.attacks.gradient import GradientWalk

# The last plane may end before the boundary does; the ray is searched this much farther.
FARTHER = 1.1


@dataclass(frozen=True, kw_only=True)
class NewtonWalk(Attack):
    """δ ← −(m − ⟨g,δ⟩)/‖g‖_* · steepest(g), the nearest point of the boundary linearised at δ, from δ = 0; then the
    first fooled point on the ray through its end, or that of a gradient walk where this is nearer.

    A gradient walk adds its steps up and ends where it meets the boundary; this one ends where the boundary is
    perpendicular to δ. It costs little more, and where many sub-classes bend the boundary it finds nearer points.

    >>> NewtonWalk()(([[3.0, 4.0]], [0.0], [[1.0]], [-2.0]), [[1.0, 1.0]], [1]).upper.round(9)
    array([1.])
    """

    name: ClassVar[str] = "Newton walk"
    steps: int = 12

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise InputError(f"need steps >= 1, got {self.steps}")

    def search(self, field: Field) -> Found:
        """The better of the two walks."""
        walked, flags = GradientWalk(restarts=0, steps=20).search(field)
        delta = field.at_rest
        for _ in range(self.steps):
            margin, gradient = field.gradients(delta)
            foot = field.inside(field.norm.foot(gradient, margin - (gradient * delta).sum(axis=1)))
            delta = np.where((field.norm.dual(gradient) > 0)[:, None], foot, delta)
        return Found(field.shorter(walked, field.first_along(field.inside(FARTHER * delta))), flags)
