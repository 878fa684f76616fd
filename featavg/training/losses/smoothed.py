"""Cross-entropy of softened labels (Szegedy et al. 2016)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from featavg.arrays import Array, Ints
from featavg.errors import InputError
from featavg.training.losses.base import over_outputs
from featavg.training.losses.cross_entropy import CrossEntropy, own_places


@dataclass(frozen=True, kw_only=True)
class SmoothedCrossEntropy(CrossEntropy):
    """ℓ = −Σ_j t_j log softmax(F)_j with t = (1 − s) onehot(y) + s/outputs.

    >>> SmoothedCrossEntropy(share=0.5).derivative(np.zeros((1, 2)), np.array([0]))
    array([[-0.25,  0.25]])
    """

    monotone = False

    share: float  # s

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.share < 1:
            raise InputError(f"the share of a smoothed label must lie in [0, 1), got {self.share}")

    def derivative(self, outputs: Array, target: Ints, log_scale: ArrayLike = 0.0) -> Array:
        """softmax(F) − t."""
        pulled = super().derivative(outputs, target) - outputs.dtype.type(self.share / outputs.shape[-1])
        pulled[own_places(target)] += outputs.dtype.type(self.share)
        scaled: Array = pulled * np.exp(-over_outputs(log_scale)).astype(outputs.dtype)
        return scaled

    def measure(self, outputs: Array, target: Ints) -> tuple[Array, Array]:
        """log ((1 − s)·(−log softmax_y) + s·mean_j(−log softmax_j)), and F_y − max_{j≠y} F_j."""
        log_plain, margins = super().measure(outputs, target)
        # mean_j(−log p_j) = −log p_y + F_y − mean_j F_j
        lead = outputs[own_places(target)] - outputs.mean(axis=-1)
        return np.log(np.exp(log_plain) + self.share * lead), margins
