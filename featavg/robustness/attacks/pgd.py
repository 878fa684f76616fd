"""Projected gradient descent (Madry et al. 2018) on the margin of the decision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from featavg.arrays import Array, Bools, finite_vector
from featavg.errors import InputError
from featavg.robustness.attacks.base import Attack, Found, counted, dead_start, shorter, whole_rows
from featavg.robustness.attacks.field import Field


@dataclass(frozen=True, kw_only=True)
class PGD(Attack):
    """δ ← project(δ − step · steepest(∇m), radius), from δ = 0 and from `restarts` random points of the ball.

    Every iterate is tested, not only the last. With several radii they are tried from the smallest to the largest, and
    a point that is fooled within one is fooled within all larger ones; `upper` is the shortest fooled perturbation.
    With `shorten` it is moved back along its ray to the first fooled point, which may lie below the smallest radius.
    In ℓ2 without a box random starts lie in span(W), where all of their length is seen; a start in all d dimensions
    has only a share √(neurons/d) of its length there and is far weaker.

    >>> attack = PGD(radii=[1.0, 3.0], shorten=False)
    >>> attack(([[3.0, 4.0]], [0.0], [[1.0]], [-2.0]), [[1.0, 1.0]], [1]).upper <= 3.0
    array([ True])
    """

    name: ClassVar[str] = "pgd"
    radii: tuple[float, ...] | list[float] | float
    steps: int = 50
    restarts: int = 3
    step_size: float | None = None  # 2.5·radius/steps unless told
    shorten: bool = True
    seed: int = 0

    def __post_init__(self) -> None:
        radii = finite_vector(np.atleast_1d(np.asarray(self.radii, dtype=np.float64)), "radii")
        if not len(radii) or radii.min() <= 0:
            raise InputError(f"radii must be one or more positive numbers, got {self.radii}")
        if self.steps < 1 or self.restarts < 0:
            raise InputError(f"need steps >= 1 and restarts >= 0, got {self.steps} and {self.restarts}")
        if self.step_size is not None and not self.step_size > 0:
            raise InputError(f"step_size must be positive, got {self.step_size}")

    def search(self, field: Field) -> Found:
        """The shortest fooled iterate over all radii and starts."""
        rng = np.random.default_rng(self.seed)
        best = np.full(field.at_rest.shape, np.nan)
        flat = np.zeros(len(field), dtype=bool)
        for radius in np.sort(np.atleast_1d(np.asarray(self.radii, dtype=np.float64))):
            for start in range(1 + self.restarts):
                # Those that a smaller radius fooled have nothing to gain from a larger one.
                rows = np.flatnonzero(~whole_rows(best))
                part = field.take(rows)
                noise = part.ball.random(rng, part.at_rest.shape, radius)
                found, stuck = self._descend(part, part.inside(noise if start else part.at_rest), float(radius))
                best[rows] = shorter(part, best[rows], found)
                flat[rows[stuck]] |= not start
        if self.shorten:
            rows = np.flatnonzero(whole_rows(best))
            best[rows] = shorter(field.take(rows), best[rows], field.take(rows).first_along(best[rows]))
        return Found(best, counted("zero gradient", flat) + dead_start(field))

    def _descend(self, field: Field, delta: Array, radius: float) -> tuple[Array, Bools]:
        """The first fooled iterate (NaN if none), and whether a zero gradient was met before."""
        step = 2.5 * radius / self.steps if self.step_size is None else self.step_size
        found = np.full(delta.shape, np.nan)
        stuck = np.zeros(len(field), dtype=bool)
        for count in range(self.steps + 1):
            fooled = field.fooled(delta) & ~whole_rows(found)
            found[fooled] = delta[fooled]
            if count == self.steps or whole_rows(found).all():
                break
            _, gradient = field.gradients(delta)
            stuck |= ~whole_rows(found) & ~gradient.any(axis=1)
            # Clipping to the box after projecting on the ball never makes a perturbation longer.
            delta = field.inside(field.ball.project(delta - step * field.ball.steepest(gradient), radius))
        return found, stuck
