"""Losses: the derivative by the outputs that a step needs, and the loss itself as a logarithm.

Logarithms, so that losses far below the smallest float are still told apart.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Literal

import numpy as np
from scipy.special import expit

from featavg.arrays import Array, Ints
from featavg.errors import InputError
from featavg.model import Argmax, Network

LossName = Literal["logistic", "exponential", "cross-entropy"]


class Loss(ABC):
    """A loss ℓ(F_i, y_i) of the outputs F (sample, output) and targets (sample,)."""

    @abstractmethod
    def derivative(self, outputs: Array, target: Ints) -> Array:
        """∂(Σ_i ℓ_i)/∂F: (sample, output)."""

    @abstractmethod
    def log_losses(self, outputs: Array, target: Ints) -> Array:
        """log ℓ_i: (sample,)."""

    @abstractmethod
    def margins(self, outputs: Array, target: Ints) -> Array:
        """y f, or F_y − max over the other classes: (sample,)."""

    def log_mean(self, outputs: Array, target: Ints) -> float:
        """log (1/n) Σ_i ℓ_i."""
        return float(_log_sum_exp(self.log_losses(outputs, target)) - np.log(len(target)))


class _Binary(Loss):
    def margins(self, outputs: Array, target: Ints) -> Array:
        """y f."""
        return target.astype(outputs.dtype) * outputs[:, 0]


class Logistic(_Binary):
    """ℓ = log(1 + exp(−y f))."""

    def derivative(self, outputs: Array, target: Ints) -> Array:
        """−y σ(−y f)."""
        return -(target * expit(-self.margins(outputs, target)))[:, None].astype(outputs.dtype, copy=False)

    def log_losses(self, outputs: Array, target: Ints) -> Array:
        """log log(1 + exp(−y f))."""
        return _log_softplus(-self.margins(outputs, target))


class Exponential(_Binary):
    """ℓ = exp(−y f)."""

    def derivative(self, outputs: Array, target: Ints) -> Array:
        """−y exp(−y f)."""
        return -(target * np.exp(-self.margins(outputs, target)))[:, None].astype(outputs.dtype, copy=False)

    def log_losses(self, outputs: Array, target: Ints) -> Array:
        """−y f."""
        return -self.margins(outputs, target)


class CrossEntropy(Loss):
    """ℓ = −log softmax(F)_y."""

    def derivative(self, outputs: Array, target: Ints) -> Array:
        """softmax(F) − onehot(y)."""
        rows = np.arange(len(target))
        derivative = np.exp(outputs - outputs.max(axis=1, keepdims=True))
        derivative /= derivative.sum(axis=1, keepdims=True)
        derivative[rows, target] = 0.0
        # 1 − p_y as the sum of the others: no digits are lost when it is tiny.
        derivative[rows, target] = -derivative.sum(axis=1)
        return derivative

    def log_losses(self, outputs: Array, target: Ints) -> Array:
        """log softplus(log Σ_{j≠y} exp(F_j − F_y)), which is log(−log softmax_y)."""
        rows = np.arange(len(target))
        rivals = outputs - outputs[rows, target][:, None]
        rivals[rows, target] = -np.inf
        return _log_softplus(_log_sum_exp(rivals))

    def margins(self, outputs: Array, target: Ints) -> Array:
        """F_y − max over the other classes."""
        return Argmax(np.arange(outputs.shape[1])).margins(outputs, target)


LOSSES: dict[LossName, Loss] = {
    "logistic": Logistic(),
    "exponential": Exponential(),
    "cross-entropy": CrossEntropy(),
}


def loss_for(network: Network, name: LossName | None) -> Loss:
    """Return the named loss if it fits the network, or its own: logistic for one output, cross-entropy for several."""
    binary = network.output_count == 1
    fitting: tuple[LossName, ...] = ("logistic", "exponential") if binary else ("cross-entropy",)
    if name is not None and name not in fitting:
        raise InputError(
            f"a network of {network.output_count} outputs is trained with {' or '.join(fitting)} loss, got {name!r}"
        )
    return LOSSES[name or fitting[0]]


def _log_sum_exp(values: Array) -> Array:
    """log Σ exp over the last axis; SciPy's knows complex numbers too, and takes as long as ten steps of training."""
    top = values.max(axis=-1, keepdims=True)
    total: Array = np.log(np.exp(values - top).sum(axis=-1))
    return total + top[..., 0]


def _log_softplus(values: Array) -> Array:
    """log log(1 + exp v), which for v below −30 is v to machine precision."""
    return np.where(values < -30, values, np.log(np.logaddexp(0.0, np.maximum(values, -30))))
