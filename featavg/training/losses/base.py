"""What every loss offers: the derivative by the outputs that a step needs, and the loss itself as a logarithm.

Logarithms, so that losses far below the smallest float are still told apart.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from featavg.arrays import Array, Ints
from featavg.data import Dataset
from featavg.errors import InputError
from featavg.model import Network

Reduction = Literal["mean", "sum"]


@dataclass(frozen=True)
class Loss(ABC):
    """L = Σ_i ℓ(F_i, y_i), or the mean over the points; outputs F (..., sample, output), targets (..., sample)."""

    reduction: Reduction = "mean"
    monotone: ClassVar[bool] = True  # whether no derivative by an output ever changes its sign

    def __post_init__(self) -> None:
        if self.reduction not in ("mean", "sum"):
            raise InputError(f"the reduction of a loss must be mean or sum, got {self.reduction!r}")

    @abstractmethod
    def derivative(self, outputs: Array, target: Ints, log_scale: ArrayLike = 0.0) -> Array:
        """∂(Σ_i ℓ_i)/∂F · e^(−log_scale): (..., sample, output). With log L as the scale no digit underflows."""

    @abstractmethod
    def measure(self, outputs: Array, target: Ints) -> tuple[Array, Array]:
        """log ℓ_i, and by how much each point is on its side, q_i: two (..., sample)."""

    def log_losses(self, outputs: Array, target: Ints) -> Array:
        """log ℓ_i: (..., sample)."""
        return self.measure(outputs, target)[0]

    def margins(self, outputs: Array, target: Ints) -> Array:
        """q_i: (..., sample)."""
        return self.measure(outputs, target)[1]

    def log_inverse(self, log_loss: ArrayLike) -> Array:
        """The margin at which one point has this loss, ℓ⁻¹(e^log_loss); where a loss has no such number, an error."""
        raise InputError(f"{type(self).__name__} is no function of the margin alone; use exponential or logistic loss")

    def targets(self, network: Network, data: Dataset) -> Ints:
        """The labels of `data` that this loss compares outputs with: (sample,)."""
        return network.readout.targets(data)

    @abstractmethod
    def check(self, outputs: int) -> None:
        """Refuse a number of outputs that this loss has no meaning for."""

    def log_total(self, outputs: Array, target: Ints, shares: Array | None = None) -> Array:
        """log L: (...,); `shares` (..., sample) are sample weights of mean 1."""
        return self.total(self.log_losses(outputs, target), shares)

    def total(self, log_losses: Array, shares: Array | None = None) -> Array:
        """log L from log ℓ_i."""
        if shares is not None:
            with np.errstate(divide="ignore"):
                log_losses = log_losses + np.log(shares)
        total = log_sum_exp(log_losses)
        return total if self.reduction == "sum" else total - np.log(log_losses.shape[-1])


def log_sum_exp(values: Array) -> Array:
    """log Σ exp over the last axis; SciPy's knows complex numbers too, and takes as long as ten steps of training."""
    top = values.max(axis=-1, keepdims=True)
    total: Array = np.log(np.exp(values - top).sum(axis=-1))
    return total + top[..., 0]


def log_softplus(values: Array) -> Array:
    """log log(1 + exp v), which for v below −30 is v to machine precision."""
    return np.where(values < -30, values, np.log(np.logaddexp(0.0, np.maximum(values, -30))))


def over_outputs(log_scale: ArrayLike) -> Array:
    """A number per run, shaped to act on (..., sample, output)."""
    return np.asarray(log_scale)[..., None, None]
