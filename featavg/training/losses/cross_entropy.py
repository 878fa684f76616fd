"""Cross-entropy of several outputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from featavg.arrays import Array, Ints
from featavg.errors import InputError
from featavg.training.losses.base import Loss, log_softplus, over_outputs


@dataclass(frozen=True)
class CrossEntropy(Loss):
    """ℓ = −log softmax(F)_y.

    >>> CrossEntropy().derivative(np.zeros((1, 2)), np.array([1]))
    array([[ 0.5, -0.5]])
    """

    def derivative(self, outputs: Array, target: Ints, log_scale: ArrayLike = 0.0) -> Array:
        """softmax(F) − onehot(y)."""
        shares, own = shares_of(outputs, log_scale), own_places(target)
        shares[own] = 0.0
        # 1 − p_y as the sum of the others: no digits are lost when it is tiny.
        shares[own] = -shares.sum(axis=-1)
        return shares

    def measure(self, outputs: Array, target: Ints) -> tuple[Array, Array]:
        """log softplus(log Σ_{j≠y} exp(F_j − F_y)), which is log(−log softmax_y), and F_y − max_{j≠y} F_j."""
        own = own_places(target)
        leads: Array = outputs - outputs[own][..., None]
        leads[own] = -np.inf
        top = leads.max(axis=-1)
        leads -= top[..., None]
        return log_softplus(top + np.log(np.exp(leads).sum(axis=-1))), -top

    def check(self, outputs: int) -> None:
        """Several outputs only."""
        if outputs < 2:
            raise InputError(
                f"a network of one output is trained with logistic or exponential loss, got {type(self).__name__}"
            )


def own_places(target: Ints) -> tuple[Any, ...]:
    """Where the own outputs are among outputs (..., sample, output)."""
    rows = np.arange(target.shape[-1])
    return (rows, target) if target.ndim == 1 else (np.arange(len(target))[:, None], rows, target)


def shares_of(outputs: Array, log_scale: ArrayLike = 0.0) -> Array:
    """softmax(F) · e^(−log_scale): (..., sample, output)."""
    top = outputs.max(axis=-1, keepdims=True)
    shares: Array = np.exp(outputs - top)
    if not np.count_nonzero(log_scale):
        shares /= shares.sum(axis=-1, keepdims=True)
        return shares
    log_total = np.log(shares.sum(axis=-1, keepdims=True)) + top
    # The largest share would overflow at a tiny loss; whoever asks for a scale replaces it by the sum of the others.
    scaled: Array = np.exp(np.minimum(outputs - log_total - over_outputs(log_scale), 700.0))
    return scaled
