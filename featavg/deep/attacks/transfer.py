"""Perturbations of one network tried on another: what they share, and what a network's own gradients hide."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch

from featavg.deep.attacks.base import DeepAttack, Found
from featavg.deep.attacks.checks import counted
from featavg.deep.attacks.field import Field
from featavg.errors import InputError
from featavg.robustness import RadiusBracket

SCALES = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 8.0)


@dataclass(frozen=True, kw_only=True)
class Transfer(DeepAttack):
    """The rays from x through the witnesses of another network, searched for the boundary of this one."""

    name: ClassVar[str] = "transfer"
    source: RadiusBracket  # of the other network at the same points
    scales: tuple[float, ...] = SCALES  # how far along the ray, in lengths of the witness's perturbation

    def search(self, field: Field) -> Found:
        """One ray a point."""
        if not np.array_equal(self.source.question.x, field.question.x):
            raise InputError("transfer needs witnesses of the same points; ask both networks about the same images")
        witness = torch.from_numpy(self.source.witness)
        rays = witness.to(field.x.dtype)[field.rows] - field.x
        # A point that the other network has wrong as it is brings no direction.
        rays[field.ball.norm(rays) < 1e-6] = torch.nan
        return Found(field.first_along(rays, self.scales), counted("no witness to transfer", ~rays.isfinite().all(1)))
