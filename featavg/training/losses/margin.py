"""Losses of the margin q = y f of one output, with labels y of −1 and +1."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from featavg.arrays import Array, Ints
from featavg.errors import InputError
from featavg.training.losses.base import Loss, log_softplus


@dataclass(frozen=True)
class MarginLoss(Loss):
    """ℓ(q)."""

    @abstractmethod
    def pull(self, margins: Array, log_scale: Array) -> Array:
        """−ℓ'(q) · e^(−log_scale)."""

    def derivative(self, outputs: Array, target: Ints, log_scale: ArrayLike = 0.0) -> Array:
        """y ℓ'(q)."""
        signs = target.astype(outputs.dtype)
        pull = self.pull(signs * outputs[..., 0], np.asarray(log_scale)[..., None])
        return (-signs * pull)[..., None].astype(outputs.dtype, copy=False)

    @abstractmethod
    def logarithm(self, margins: Array) -> Array:
        """log ℓ(q)."""

    def measure(self, outputs: Array, target: Ints) -> tuple[Array, Array]:
        """log ℓ(q), and q = y f."""
        margins = self.margins(outputs, target)
        return self.logarithm(margins), margins

    def margins(self, outputs: Array, target: Ints) -> Array:
        """q = y f."""
        return target.astype(outputs.dtype) * outputs[..., 0]

    def check(self, outputs: int) -> None:
        """One output only."""
        if outputs != 1:
            raise InputError(
                f"a network of {outputs} outputs is trained with cross-entropy loss, got {type(self).__name__}"
            )


class Logistic(MarginLoss):
    """ℓ = log(1 + exp(−q)).

    >>> Logistic().derivative(np.zeros((1, 1)), np.array([1]))
    array([[-0.5]])
    """

    def pull(self, margins: Array, log_scale: Array) -> Array:
        """σ(−q), or exp(−softplus(q) − scale) where a scale keeps it from underflowing."""
        if not np.count_nonzero(log_scale):
            return expit(-margins)
        return np.exp(-np.logaddexp(0.0, margins) - log_scale)

    def logarithm(self, margins: Array) -> Array:
        """log log(1 + exp(−q))."""
        return log_softplus(-margins)

    def log_inverse(self, log_loss: ArrayLike) -> Array:
        """ℓ⁻¹(L) = −log(e^L − 1), which is log(1/L) to machine precision once L is tiny."""
        value = np.asarray(log_loss, dtype=np.float64)
        return np.where(value < -36, -value, -np.log(np.expm1(np.exp(np.maximum(value, -36)))))


class Exponential(MarginLoss):
    """ℓ = exp(−q)."""

    def pull(self, margins: Array, log_scale: Array) -> Array:
        """exp(−q)."""
        return np.exp(-margins - log_scale)

    def logarithm(self, margins: Array) -> Array:
        """−q."""
        return -margins

    def log_inverse(self, log_loss: ArrayLike) -> Array:
        """ℓ⁻¹(L) = log(1/L)."""
        return -np.asarray(log_loss, dtype=np.float64)


class Squared(MarginLoss):
    """ℓ = (1 − q)²/2, which is (f − y)²/2.

    >>> Squared().derivative(np.zeros((1, 1)), np.array([-1]))
    array([[1.]])
    """

    monotone = False

    def pull(self, margins: Array, log_scale: Array) -> Array:
        """1 − q."""
        return (1 - margins) * np.exp(-log_scale)

    def logarithm(self, margins: Array) -> Array:
        """2 log|1 − q| − log 2; −∞ where the output is the label."""
        with np.errstate(divide="ignore"):
            return 2 * np.log(np.abs(1 - margins)) - np.log(2)
