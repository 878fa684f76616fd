"""The smallest perturbation directly: the whole curve of robust accuracy in one pass.

After FMN (Pintor et al. 2021) and DDN (Rony et al. 2019): the perturbation lives in a ball whose radius shrinks while
it fools and grows while it does not. Steps and changes are shares of the radius itself, so that no length has to be
tuned to the data.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import cos, log2, pi
from typing import ClassVar

import torch
from torch import Tensor

from featavg.deep.attacks.base import DeepAttack, Found
from featavg.deep.attacks.checks import counted
from featavg.deep.attacks.field import Field, finite_rows, rows_where
from featavg.errors import InputError

# First and last step, and first and last change of the radius, as shares of it; in between they fall by a cosine.
STEP, LAST_STEP = 0.5, 0.02
CHANGE, LAST_CHANGE = 0.1, 0.002
# A flat margin must not send a perturbation to infinity.
LARGEST = 1e6
# A ray that is still on the own side is followed to 2·4^19 times the distance by its linearisation, which fills a box.
FAR, FINE_HALVINGS = 20, 24


@dataclass(frozen=True, kw_only=True)
class MinimalNorm(DeepAttack):
    """δ ← project(δ − a·ε·steepest(∇m), ε); ε shrinks by a share g if x + δ is fooled, else it grows by g.

    Until a point is fooled for the first time ε is the distance to the boundary by its linearisation,
    ‖δ‖ + m/‖∇m‖_*. At the end each perturbation is moved back along its ray to the boundary.
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
        generator = torch.Generator().manual_seed(self.seed)
        best, flat = shrink(field, field.at_rest, torch.full_like(field.x, torch.nan), self.steps)
        for _ in range(self.restarts):
            length = torch.nan_to_num(field.ball.norm(best), nan=1.0)
            around = field.inside(field.ball.random(field.x, length, generator))
            best, _ = shrink(field, around, best, self.steps)
        missed = rows_where(~finite_rows(best))
        best[missed] = step_over(field.take(missed))
        return Found(field.shorter(best, field.first_along(best)), counted("zero gradient", flat))


def shrink(field: Field, delta: Tensor, best: Tensor, steps: int) -> tuple[Tensor, Tensor]:
    """From δ to the shortest fooled perturbation, or to `best` (NaN if none is known): (sample, axis).

    The second answer is where the first gradient was 0: (sample,).
    """
    ball, best = field.ball, best.clone()
    shortest = torch.nan_to_num(ball.norm(best), nan=torch.inf)
    radius, flat = torch.full_like(shortest, torch.inf), torch.zeros(len(field), dtype=torch.bool)
    for count in range(steps):
        margin, gradient = field.gradients(delta)
        length, slope = ball.norm(delta), ball.dual_norm(gradient)
        if not count:
            flat = slope == 0
        lost = margin <= 0
        won = lost & (length < shortest)
        best[won], shortest[won] = delta[won], length[won]
        change = _cosine(CHANGE, LAST_CHANGE, count / steps)
        smaller = torch.minimum(radius, shortest) * (1 - change)
        # A pass that starts again has no radius of its own yet and takes the best one.
        larger = torch.where(radius.isinf(), shortest, radius * (1 + change))
        # Longer from step to step, or rounding could hold a point just before a straight boundary for ever.
        beyond = 1 + min(torch.finfo(length.dtype).eps * 2.0**count, CHANGE)
        linear = (length + margin / slope.clamp(min=1e-30)) * beyond
        radius = torch.where(lost, smaller, torch.where(shortest.isinf(), linear, larger)).clamp(max=LARGEST)
        stride = _cosine(STEP, LAST_STEP, count / steps) * radius
        moved = field.inside(delta - stride[:, None] * ball.steepest(gradient))
        delta = field.inside(ball.project(moved, radius))
    won = field.fooled(delta) & (ball.norm(delta) < shortest)
    best[won] = delta[won]
    return best, flat


def step_over(field: Field) -> Tensor:
    """The boundary on the steepest ray from x, first where the margin is 0 by its linearisation, then ever farther.

    Of a linear network it is the nearest point of the boundary, in a box too: (sample, axis), NaN where none is met.
    """
    margin, gradient = field.gradients(field.at_rest)
    slope = field.ball.dual_norm(gradient)
    rays = -(margin / slope)[:, None] * field.ball.steepest(gradient)  # NaN where the margin is flat
    small = torch.finfo(rays.dtype).eps
    near = [1 + small * 4.0**power for power in range(int(-log2(small) / 2))]
    return field.first_along(rays, [1.0, *near, *(2 * 4.0**power for power in range(FAR))], FINE_HALVINGS)


def _cosine(first: float, last: float, done: float) -> float:
    return last + (first - last) * (1 + cos(pi * done)) / 2
