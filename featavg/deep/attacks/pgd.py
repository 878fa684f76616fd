"""Projected gradient descent on the margin of the decision, at given radii: plain, and with its own step sizes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from featavg.arrays import finite_vector
from featavg.deep.attacks.base import DeepAttack, Found
from featavg.deep.attacks.checks import counted
from featavg.deep.attacks.field import Field, finite_rows, rows_where
from featavg.deep.images import batches_of
from featavg.errors import InputError

# A point on the sphere must not fall out of the ball by the rounding of its length.
WITHIN = {torch.float32: 1 - 1e-5, torch.float64: 1 - 1e-12}


@dataclass(frozen=True, kw_only=True)
class BallDescent(DeepAttack):
    """A descent inside balls of given radii, from x and from `restarts` random points of the ball.

    Radii are tried from the smallest to the largest; a point that is fooled within one is fooled within all larger
    ones. With `shorten` what was found is moved back along its ray to the boundary.
    """

    radii: Sequence[float]
    steps: int = 40
    restarts: int = 0
    shorten: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        radii = finite_vector(list(self.radii), "radii")
        if not len(radii) or radii.min() <= 0:
            raise InputError(f"radii must be one or more positive numbers, got {self.radii}")
        if self.steps < 1 or self.restarts < 0:
            raise InputError(f"need steps >= 1 and restarts >= 0, got {self.steps} and {self.restarts}")

    @property
    def reach(self) -> float:
        """The largest radius."""
        return float(max(self.radii))

    def search(self, field: Field) -> Found:
        """The first fooled point over all radii and starts."""
        generator = torch.Generator().manual_seed(self.seed)
        best = torch.full_like(field.x, torch.nan)
        flat = field.ball.dual_norm(field.gradients(field.at_rest)[1]) == 0
        for radius in sorted(self.radii):
            for start in range(1 + self.restarts):
                rows = rows_where(~finite_rows(best))
                if not len(rows):
                    break
                part = field.take(rows)
                around = torch.full((len(part),), radius * WITHIN[field.x.dtype], dtype=field.x.dtype)
                first = part.inside(part.ball.random(part.x, around, generator)) if start else part.at_rest
                best[rows] = self._descend_all(part, first, around)
        if self.shorten:
            best = field.shorter(best, field.first_along(best))
        return Found(best, counted("zero gradient", flat))

    def _descend_all(self, field: Field, delta: Tensor, radius: Tensor) -> Tensor:
        # In blocks of one batch, so that the points of a block that are fooled make its later steps cheaper.
        blocks = batches_of(torch.arange(len(field)), field.question.batch)
        return torch.cat([self.descend(field.take(rows), delta[rows], radius[rows]) for rows in blocks])

    @abstractmethod
    def descend(self, field: Field, delta: Tensor, radius: Tensor) -> Tensor:
        """The first fooled iterate, NaN where there is none."""


@dataclass(frozen=True, kw_only=True)
class PGD(BallDescent):
    """δ ← project(δ − 2.5·radius/steps · steepest(∇m), radius) (Madry et al. 2018); every iterate is tested."""

    name: ClassVar[str] = "pgd"

    def descend(self, field: Field, delta: Tensor, radius: Tensor) -> Tensor:
        """Plain steps."""
        found = torch.full_like(delta, torch.nan)
        alive = torch.arange(len(field))
        for _ in range(self.steps):
            part = field.take(alive)
            margin, gradient = part.gradients(delta)
            lost = margin <= 0
            found[alive[lost]] = delta[lost]
            part, alive, delta, gradient = part.take(~lost), alive[~lost], delta[~lost], gradient[~lost]
            if not len(alive):
                return found
            stride = 2.5 / self.steps * radius[alive, None]
            moved = delta - stride * part.ball.steepest(gradient)
            delta = part.inside(part.ball.project(moved, radius[alive]))
        lost = field.take(alive).fooled(delta)
        found[alive[lost]] = delta[lost]
        return found


@dataclass(frozen=True, kw_only=True)
class APGD(BallDescent):
    """PGD with momentum whose step, 2·radius at first, is halved when it stops paying (Croce & Hein 2020).

    At checkpoints that come ever faster a point whose margin fell in fewer than three quarters of the steps since the
    last one, or which has not improved since, goes back to its best iterate with half the step.
    """

    name: ClassVar[str] = "apgd"
    steps: int = 100
    restarts: int = 1

    def descend(self, field: Field, delta: Tensor, radius: Tensor) -> Tensor:
        """Adaptive steps."""
        state = _Adaptive(field, delta, radius)
        last, gap = 0, max(1, int(0.22 * self.steps))
        for count in range(1, self.steps + 1):
            state.advance()
            if not len(state.alive):
                break
            if count - last >= gap:
                state.review(count - last)
                last, gap = count, max(gap - max(1, int(0.03 * self.steps)), max(1, int(0.06 * self.steps)))
        return state.found


class _Adaptive:
    """The points of an APGD run that are not fooled yet: iterates, steps, and the best so far."""

    def __init__(self, field: Field, delta: Tensor, radius: Tensor) -> None:
        self.field, self.radius = field, radius
        self.alive = torch.arange(len(field))
        self.found = torch.full_like(delta, torch.nan)
        margin, gradient = field.gradients(delta)
        self.delta, self.before, self.margin, self.gradient = delta, delta, margin, gradient
        self.best, self.best_margin, self.best_gradient = delta, margin, gradient
        self.stride, self.fell = 2 * radius, torch.zeros(len(field))
        self.reviewed_margin, self.reviewed_stride = margin, self.stride
        self._drop(margin <= 0)

    def advance(self) -> None:
        """One step with momentum 3/4, and the margin after it."""
        field, ball = self.field, self.field.ball
        plain = field.inside(
            ball.project(self.delta - self.stride[:, None] * ball.steepest(self.gradient), self.radius)
        )
        moved = self.delta + 0.75 * (plain - self.delta) + 0.25 * (self.delta - self.before)
        self.before, self.delta = self.delta, field.inside(ball.project(moved, self.radius))
        margin, self.gradient = field.gradients(self.delta)
        self.fell = self.fell + (margin < self.margin)
        self.margin = margin
        won = margin < self.best_margin
        self.best_margin = torch.where(won, margin, self.best_margin)
        self.best = torch.where(won[:, None], self.delta, self.best)
        self.best_gradient = torch.where(won[:, None], self.gradient, self.best_gradient)
        self._drop(margin <= 0)

    def review(self, steps: int) -> None:
        """Halve the steps that do not pay and go back to the best iterate."""
        stalled = (self.stride == self.reviewed_stride) & (self.best_margin >= self.reviewed_margin)
        poor = (self.fell < 0.75 * steps) | stalled
        self.reviewed_margin, self.reviewed_stride = self.best_margin, self.stride
        self.stride = torch.where(poor, self.stride / 2, self.stride)
        self.delta = torch.where(poor[:, None], self.best, self.delta)
        self.before = torch.where(poor[:, None], self.best, self.before)
        self.gradient = torch.where(poor[:, None], self.best_gradient, self.gradient)
        self.margin = torch.where(poor, self.best_margin, self.margin)
        self.fell = torch.zeros_like(self.fell)

    def _drop(self, lost: Tensor) -> None:
        """Keep what fools and go on without it."""
        if not lost.any():
            return
        self.found[self.alive[lost]] = self.delta[lost]
        keep = ~lost
        self.field, self.alive = self.field.take(keep), self.alive[keep]
        for name in ("radius", "delta", "before", "margin", "gradient", "best", "best_margin", "best_gradient",
                     "stride", "fell", "reviewed_margin", "reviewed_stride"):  # fmt: skip
            setattr(self, name, getattr(self, name)[keep])
