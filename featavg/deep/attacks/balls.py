"""Norms as objects on tensors: what an attack must know of the ball it moves in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from featavg.robustness.question import Norm


class Ball(Protocol):
    """The ball {‖δ‖ <= radius} of a norm, for rows of perturbations (sample, axis)."""

    def norm(self, delta: Tensor) -> Tensor:
        """‖δ‖: (sample,)."""

    def dual_norm(self, gradient: Tensor) -> Tensor:
        """max ⟨g, δ⟩ over ‖δ‖ <= 1: (sample,)."""

    def steepest(self, gradient: Tensor) -> Tensor:
        """The δ of that maximum, 0 where the gradient is 0: (sample, axis)."""

    def project(self, delta: Tensor, radius: Tensor) -> Tensor:
        """The nearest point of the ball of radius (sample,): (sample, axis)."""

    def random(self, like: Tensor, radius: Tensor, generator: torch.Generator) -> Tensor:
        """Points drawn from the ball: (sample, axis)."""


@dataclass(frozen=True)
class Euclidean:
    """ℓ2, its own dual."""

    def norm(self, delta: Tensor) -> Tensor:
        """√Σδ²."""
        return delta.norm(dim=1)

    def dual_norm(self, gradient: Tensor) -> Tensor:
        """√Σg²."""
        return gradient.norm(dim=1)

    def steepest(self, gradient: Tensor) -> Tensor:
        """g/‖g‖."""
        length = gradient.norm(dim=1, keepdim=True)
        return gradient / torch.where(length > 0, length, 1.0)

    def project(self, delta: Tensor, radius: Tensor) -> Tensor:
        """δ·min(1, radius/‖δ‖)."""
        length = delta.norm(dim=1)
        return delta * (radius / torch.where(length > 0, length, torch.inf)).clamp(max=1.0)[:, None]

    def random(self, like: Tensor, radius: Tensor, generator: torch.Generator) -> Tensor:
        """A Gaussian direction, a length of radius·U^(1/axes): uniform."""
        direction = self.steepest(torch.randn(like.shape, generator=generator, dtype=like.dtype))
        length = torch.rand(len(like), generator=generator, dtype=like.dtype) ** (1 / max(like.shape[1], 1))
        return direction * (radius * length)[:, None]


@dataclass(frozen=True)
class Chebyshev:
    """ℓ∞, dual to ℓ1."""

    def norm(self, delta: Tensor) -> Tensor:
        """max|δ|."""
        return delta.abs().amax(dim=1)

    def dual_norm(self, gradient: Tensor) -> Tensor:
        """Σ|g|."""
        return gradient.abs().sum(dim=1)

    def steepest(self, gradient: Tensor) -> Tensor:
        """sgn g."""
        return gradient.sign()

    def project(self, delta: Tensor, radius: Tensor) -> Tensor:
        """Each coordinate clipped to ±radius."""
        return delta.clamp(-radius[:, None], radius[:, None])

    def random(self, like: Tensor, radius: Tensor, generator: torch.Generator) -> Tensor:
        """Each coordinate uniform in ±radius."""
        return (2 * torch.rand(like.shape, generator=generator, dtype=like.dtype) - 1) * radius[:, None]


BALLS: dict[Norm, Ball] = {"l2": Euclidean(), "linf": Chebyshev()}
