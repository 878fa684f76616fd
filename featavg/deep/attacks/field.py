"""What an attack moves in: some points of a question, the ball around them, and how the margin changes there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from featavg.deep.attacks.balls import BALLS, Ball
from featavg.deep.images import batches_of
from featavg.deep.question import DeepQuestion

HALVINGS = 12


@dataclass(frozen=True, eq=False)
class Field:
    """Perturbations δ (sample, axis) of the points `rows` of a question; all are clipped to the box before use."""

    question: DeepQuestion
    rows: Tensor  # (sample,)
    x: Tensor  # (sample, axis)
    y: Tensor  # (sample,)

    @classmethod
    def of(cls, question: DeepQuestion) -> Field:
        """All points of a question."""
        return cls(question, torch.arange(len(question.x)), question.start, question.labels)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def ball(self) -> Ball:
        """The ball of the question's norm."""
        return BALLS[self.question.norm]

    @property
    def at_rest(self) -> Tensor:
        """No perturbation."""
        return torch.zeros_like(self.x)

    def take(self, rows: Tensor) -> Field:
        """Some of the points, by number or mask."""
        return replace(self, rows=self.rows[rows], x=self.x[rows], y=self.y[rows])

    def points(self, delta: Tensor) -> Tensor:
        """x + δ, clipped to the box."""
        box = self.question.box
        return self.x + delta if box is None else (self.x + delta).clamp(*box)

    def inside(self, delta: Tensor) -> Tensor:
        """What is left of δ inside the box; never longer than δ."""
        return delta if self.question.box is None else self.points(delta) - self.x

    def margins(self, delta: Tensor) -> Tensor:
        """The margin at x + δ: (sample,)."""
        question = self.question
        with torch.inference_mode():
            found = [
                question.torch_margins(question.outputs(points), y) for points, y in self._parts(self.points(delta))
            ]
        return torch.cat([torch.zeros(0, dtype=self.x.dtype), *found])

    def fooled(self, delta: Tensor) -> Tensor:
        """Whether x + δ is misclassified, without the question's slack for rounding: (sample,)."""
        return self.margins(delta) <= 0

    def gradients(self, delta: Tensor) -> tuple[Tensor, Tensor]:
        """The margin at x + δ (sample,) and its gradient there (sample, axis)."""
        question, margins, slopes = self.question, [], []
        for points, y in self._parts(self.points(delta)):
            leaf = points.detach().clone().requires_grad_()
            margin = question.torch_margins(question.outputs(leaf), y)
            slope = torch.autograd.grad(margin.sum(), leaf)[0] if margin.requires_grad else torch.zeros_like(points)
            margins.append(margin.detach())
            slopes.append(torch.nan_to_num(slope))
        nothing = torch.zeros(0, dtype=self.x.dtype)
        return torch.cat([nothing, *margins]), torch.cat([nothing.reshape(0, self.x.shape[1]), *slopes])

    def first_along(self, delta: Tensor, scales: Sequence[float] = (1.0,), halvings: int = HALVINGS) -> Tensor:
        """The boundary on the ray from x through δ, found by bisection below the first of the rising `scales` that
        fools: (sample, axis), NaN where none does.
        """
        low, high = torch.zeros(len(self), dtype=self.x.dtype), torch.full((len(self),), torch.nan, dtype=self.x.dtype)
        for scale in scales:
            left = rows_where(high.isnan() & finite_rows(delta))
            lost = self.take(left).fooled(scale * delta[left])
            high[left[lost]] = scale
            low[left[~lost]] = scale
        found = rows_where(~high.isnan())
        part, ray, below, above = self.take(found), delta[found], low[found], high[found]
        for _ in range(halvings):
            middle = (below + above) / 2
            lost = part.fooled(middle[:, None] * ray)
            above, below = torch.where(lost, middle, above), torch.where(lost, below, middle)
        ends = torch.full_like(self.x, torch.nan)
        ends[found] = part.inside(above[:, None] * ray)
        return ends

    def shorter(self, best: Tensor, delta: Tensor) -> Tensor:
        """Row by row the shorter of two perturbations; NaN is longer than all."""
        lengths = [torch.nan_to_num(self.ball.norm(one), nan=torch.inf) for one in (best, delta)]
        return torch.where((lengths[1] < lengths[0])[:, None], delta, best)

    def _parts(self, points: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        """Points and labels, one batch at a time."""
        batch = self.question.batch
        return zip(batches_of(points, batch), batches_of(self.y, batch), strict=True)


def rows_where(mask: Tensor) -> Tensor:
    """The numbers of the rows where a mask (sample,) is true."""
    return mask.nonzero()[:, 0]


def finite_rows(delta: Tensor) -> Tensor:
    """Which rows hold a perturbation: (sample,), False where they are NaN."""
    return delta.isfinite().all(dim=1)
