"""The smallest perturbation directly: the whole curve of robust accuracy in one pass.

After FMN (Pintor et al. 2021) and DDN (Rony et al. 2019): the perturbation lives in a ball whose radius shrinks while
it fools and grows while it does not. Steps and changes are shares of the radius itself, so that no length has to be
tuned to the data.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import cos, log2, pi
from typing import ClassVar

import numpy as np

from featavg.arrays import Array, Bools
from featavg.errors import InputError
from featavg.robustness.attacks.base import Attack, Found
from featavg.robustness.attacks.checks import counted
from featavg.robustness.attacks.field import Field, whole_rows

# First and last step, and first and last change of the radius, as shares of it; in between they fall by a cosine.
STEP, LAST_STEP = 0.5, 0.02
CHANGE, LAST_CHANGE = 0.1, 0.002
# A flat margin must not send a perturbation to infinity.
LARGEST = 1e6
# A ray that is still on the own side is followed to 2·4^19 times the distance by its linearisation, which fills a box.
FAR, FINE_HALVINGS = 20, 24


@dataclass(frozen=True, kw_only=True)
class MinimalNorm(Attack):
    """δ ← project(δ − a·ε·steepest(∇m), ε); ε shrinks by a share g if x + δ is fooled, else it grows by g.

    Until a point is fooled for the first time ε is the distance to the boundary by its linearisation,
    ‖δ‖ + m/‖∇m‖_*. At the end each perturbation is moved back along its ray to the boundary.

    >>> MinimalNorm()(([[3.0, 4.0]], [0.0], [[1.0]], [-2.0]), [[1.0, 1.0]], [1]).upper.round(6)
    array([1.])
    """

    name: ClassVar[str] = "minimal norm"
    steps: int = 60
    restarts: int = 0  # more passes, from random points within the distance that was found
    seed: int = 0

    def __post_init__(self) -> None:
        if self.steps < 1 or self.restarts < 0:
            raise InputError(f"need steps >= 1 and restarts >= 0, got {self.steps} and {self.restarts}")

    def search(self, field: Field) -> Found:
        """The shortest fooled iterate of all passes."""
        rng = np.random.default_rng(self.seed)
        best, flat = shrink(field, field.at_rest, field.nothing, self.steps)
        for _ in range(self.restarts):
            length = np.where(whole_rows(best), field.norm.length(best), 1.0)
            best, _ = shrink(field, field.random(rng, length), best, self.steps)
        missed = np.flatnonzero(~whole_rows(best))
        if len(missed):
            best[missed] = step_over(field.take(missed))
        return Found(field.shorter(best, field.first_along(best)), counted("zero gradient", flat))


def shrink(field: Field, delta: Array, best: Array, steps: int) -> tuple[Array, Bools]:
    """From δ to the shortest fooled perturbation, or to `best` (NaN if none is known): (sample, coordinate).

    The second answer is where the first gradient was 0: (sample,).
    """
    norm, best = field.norm, best.copy()
    shortest = field.lengths(best)
    radius, flat = np.full_like(shortest, np.inf), np.zeros(len(field), dtype=bool)
    for count in range(steps):
        margin, gradient = field.gradients(delta)
        length, slope = norm.length(delta), norm.dual(gradient)
        if not count:
            flat = slope == 0
        lost = margin <= field.tie(delta)
        won = lost & (length < shortest)
        best[won], shortest[won] = delta[won], length[won]
        change = _cosine(CHANGE, LAST_CHANGE, count / steps)
        smaller = np.minimum(radius, shortest) * (1 - change)
        # A pass that starts again has no radius of its own yet and takes the best one.
        larger = np.where(np.isinf(radius), shortest, radius * (1 + change))
        # Longer from step to step, or rounding could hold a point just before a straight boundary for ever.
        beyond = 1 + min(float(np.finfo(length.dtype).eps) * 2.0**count, CHANGE)
        linear = (length + _quotient(margin, slope)) * beyond
        radius = np.minimum(np.where(lost, smaller, np.where(np.isinf(shortest), linear, larger)), LARGEST)
        stride = _cosine(STEP, LAST_STEP, count / steps) * radius
        moved = field.inside(delta - stride[:, None] * norm.steepest(gradient))
        delta = field.inside(norm.project(moved, radius))
    won = field.fooled(delta) & (norm.length(delta) < shortest)
    best[won] = delta[won]
    return best, flat


def step_over(field: Field) -> Array:
    """The boundary on the steepest ray from x, first where the margin is 0 by its linearisation, then ever farther.

    Of a linear network it is the nearest point of the boundary, in a box too: (sample, coordinate), NaN where none is
    met.
    """
    margin, gradient = field.gradients(field.at_rest)
    rays = np.where((field.norm.dual(gradient) > 0)[:, None], field.norm.foot(gradient, margin), np.nan)
    small = float(np.finfo(rays.dtype).eps)
    near = [1 + small * 4.0**power for power in range(int(-log2(small) / 2))]
    return field.first_along(rays, [1.0, *near, *(2 * 4.0**power for power in range(FAR))], FINE_HALVINGS)


def _quotient(margin: Array, slope: Array) -> Array:
    """margin/slope, at most LARGEST: (sample,)."""
    steep = slope * LARGEST > np.abs(margin)
    return np.divide(margin, slope, out=np.full_like(margin, LARGEST), where=steep)


def _cosine(first: float, last: float, done: float) -> float:
    return last + (first - last) * (1 + cos(pi * done)) / 2
