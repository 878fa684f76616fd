"""Attacks that start on the other side of the boundary: no gradient at x is needed, and if asked none at all."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any, ClassVar

import torch
from torch import Tensor

from featavg.deep.attacks.base import DeepAttack, Found
from featavg.deep.attacks.checks import counted
from featavg.deep.attacks.field import Field, finite_rows, rows_where
from featavg.deep.attacks.minimal import shrink
from featavg.deep.images import as_images, as_pixels, outputs_of
from featavg.errors import InputError

HALVINGS = 8
SHORTEST_STRIDE = 1 / 64
# Probes of the boundary's normal lie this share of ‖δ‖ away from it.
PROBE = 0.05


@dataclass(frozen=True, kw_only=True)
class BoundaryWalk(DeepAttack):
    """From the nearest images of another decision straight back to the boundary, then along it towards x.

    The walk follows gradients near the boundary, as `MinimalNorm` does from x. With `queries` it takes none: the
    normal of the boundary is the mean of so many pairs of random probes that fool (HopSkipJump, Chen et al. 2020),
    and a step that does not shorten is tried again at half the stride. A network whose gradients are masked falls to
    this walk and not to the attacks that start at x.
    """

    name: ClassVar[str] = "boundary walk"
    candidates: Any = None  # images (sample, ...) to start from, the batch itself unless told
    starts: int = 1  # how many of the nearest ones each point tries
    steps: int = 40
    queries: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        if self.starts < 1 or self.steps < 0 or self.queries < 0:
            raise InputError(
                f"need starts >= 1, steps >= 0 and queries >= 0, got {self.starts}, {self.steps} and {self.queries}"
            )

    def search(self, field: Field) -> Found:
        """The best of all starts."""
        pool = field.question.start
        if self.candidates is not None:
            pool = as_pixels(as_images(self.candidates, "candidates"), pool.dtype).flatten(1)
        generator = torch.Generator().manual_seed(self.seed)
        best = torch.full_like(field.x, torch.nan)
        for chosen in _nearest_fooled(field, pool, self.starts).T:
            rows = rows_where(chosen >= 0)
            begin = field.take(rows).first_along(pool[chosen[rows]] - field.x[rows])
            whole = finite_rows(begin)
            rows, begin = rows[whole], begin[whole]
            part = field.take(rows)
            end = self._probe(part, begin, generator) if self.queries else shrink(part, begin, begin, self.steps)[0]
            best[rows] = part.shorter(best[rows], part.shorter(end, part.first_along(end)))
        return Found(best, counted("no start on the other side", ~finite_rows(best)))

    def _probe(self, field: Field, best: Tensor, generator: torch.Generator) -> Tensor:
        """The walk without gradients."""
        stride = torch.ones(len(field), dtype=field.x.dtype)
        for count in range(self.steps):
            rows = rows_where(stride >= SHORTEST_STRIDE)
            if not len(rows):
                break
            part, here = field.take(rows), best[rows]
            length = stride[rows] * part.ball.norm(here) / sqrt(count + 1)
            aim = here - length[:, None] * self._normal(part, here, generator)
            there = part.first_along(aim, halvings=HALVINGS)
            won = torch.nan_to_num(part.ball.norm(there), nan=torch.inf) < part.ball.norm(here)
            best[rows] = torch.where(won[:, None], there, here)
            stride[rows] = torch.where(won, (2 * stride[rows]).clamp(max=1.0), stride[rows] / 2)
        return best

    def _normal(self, field: Field, delta: Tensor, generator: torch.Generator) -> Tensor:
        """The steepest direction towards the own side, from decisions alone."""
        normal = torch.zeros_like(delta)
        size = PROBE * delta.norm(dim=1, keepdim=True)
        for _ in range(self.queries):
            probe = torch.randn(delta.shape, generator=generator, dtype=delta.dtype)
            probe /= probe.norm(dim=1, keepdim=True)
            # Asked on both sides, a bend of the boundary cancels instead of drowning the normal.
            for side in (probe, -probe):
                normal -= field.fooled(delta + size * side).to(delta.dtype)[:, None] * side
        return field.ball.steepest(normal)


def _nearest_fooled(field: Field, pool: Tensor, count: int) -> Tensor:
    """For each point the `count` ℓ2-nearest images of the pool that are not decided as its label, −1 where none is.

    pool is (image, axis), the answer (sample, count).
    """
    question = field.question
    outputs = outputs_of(question.module, pool.reshape(-1, *question.shape), question.batch).reshape(len(pool), -1)
    chosen = torch.full((len(field), count), -1, dtype=torch.int64)
    for y in torch.unique(field.y):
        members = rows_where(field.y == y)
        lost = rows_where(question.torch_margins(outputs, y.repeat(len(pool))) <= 0)
        if len(lost):
            distances = torch.cdist(field.x[members], pool[lost])
            nearest = distances.topk(min(count, len(lost)), largest=False).indices
            chosen[members, : nearest.shape[1]] = lost[nearest]
    return chosen
