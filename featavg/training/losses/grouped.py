"""The coarse loss of a network whose classes are sums of its outputs' probabilities."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from featavg.arrays import Array, Ints
from featavg.data import Dataset
from featavg.errors import InputError
from featavg.model import Network
from featavg.training.losses.base import Loss, log_softplus, log_sum_exp
from featavg.training.losses.cross_entropy import shares_of


@dataclass(frozen=True, eq=False)
class GroupedCrossEntropy(Loss):
    """ℓ = −log Σ_{j in own} softmax(F)_j, where output j belongs to the coarse class `class_of[j]`.

    >>> GroupedCrossEntropy(class_of=np.array([0, 1, 1])).derivative(np.zeros((1, 3)), np.array([1])).round(3)
    array([[ 0.333, -0.167, -0.167]])
    """

    class_of: Ints = field(kw_only=True)  # (output,)  positions of coarse classes

    def targets(self, network: Network, data: Dataset) -> Ints:
        """The coarse labels as positions: (sample,)."""
        return data.labels.codes

    def derivative(self, outputs: Array, target: Ints, log_scale: ArrayLike = 0.0) -> Array:
        """p − p·own/Σ_own p: (Σ_others p)·p/Σ_own p is taken from the own outputs, so that no digits are lost."""
        own = self._own(target)
        shares = shares_of(outputs, log_scale)
        others = np.where(own, 0, shares)
        # An own class that has lost all of its probability is pulled alike in all its outputs.
        inside = np.where(own, shares_of(outputs), 0) + np.finfo(outputs.dtype).tiny * own
        pulled: Array = others - others.sum(axis=-1, keepdims=True) * inside / inside.sum(axis=-1, keepdims=True)
        return pulled.astype(outputs.dtype, copy=False)

    def measure(self, outputs: Array, target: Ints) -> tuple[Array, Array]:
        """log softplus(−q), and q = log Σ_own exp F − log Σ_others exp F."""
        own = self._own(target)
        inside, outside = np.where(own, outputs, -np.inf), np.where(own, -np.inf, outputs)
        margins = log_sum_exp(inside) - log_sum_exp(outside)
        return log_softplus(-margins), margins

    def check(self, outputs: int) -> None:
        """One coarse class for each output."""
        if len(self.class_of) != outputs:
            raise InputError(f"class_of must name the class of each of {outputs} outputs, got {len(self.class_of)}")

    def _own(self, target: Ints) -> Array:
        return target[..., None] == np.asarray(self.class_of)
