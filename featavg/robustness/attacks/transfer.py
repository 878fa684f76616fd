"""Perturbations of one network tried on another: what they share, and what a network's own gradients hide."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from featavg.errors import InputError
from featavg.robustness.attacks.base import Attack, Found
from featavg.robustness.attacks.checks import counted
from featavg.robustness.attacks.field import Field, whole_rows
from featavg.robustness.bracket import RadiusBracket

SCALES = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 8.0)


@dataclass(frozen=True, kw_only=True)
class Transfer(Attack):
    """The rays from x through the witnesses of another network, searched for the boundary of this one.

    What no neuron of a two-layer network sees of a ray is left out, as it only adds length.

    >>> from featavg.robustness.attacks import MinimalNorm
    >>> one, other = ([[3.0, 4.0]], [0.0], [[1.0]], [-2.0]), ([[4.0, 3.0]], [0.0], [[1.0]], [-2.0])
    >>> source = MinimalNorm()(one, [[1.0, 1.0]], [1])
    >>> Transfer(source=source)(other, [[1.0, 1.0]], [1]).upper.round(6)
    array([1.])
    """

    name: ClassVar[str] = "transfer"
    source: RadiusBracket  # of the other network at the same points
    scales: tuple[float, ...] = SCALES  # how far along the ray, in lengths of its perturbation, if it is not exact

    def search(self, field: Field) -> Found:
        """One ray per point."""
        if not np.array_equal(self.source.question.x, field.question.x):
            raise InputError("transfer needs witnesses of the same points; ask both networks about the same points")
        rays = field.coordinates(self.source.witness[field.rows]) - field.coordinates(field.x)
        # A point that the other network has wrong as it is brings no direction.
        rays[~(field.norm.length(rays) >= 1e-6)] = np.nan
        known = whole_rows(rays)
        best = field.nothing
        if known.any():
            best[known] = field.take(known).first_along(rays[known], self.scales)
        return Found(best, counted("no witness to transfer", ~known))
