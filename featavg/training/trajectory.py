"""What training leaves behind: the path of the network."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from featavg.arrays import Array, Bools
from featavg.data import Dataset
from featavg.model import Network


@dataclass(frozen=True)
class Trajectory:
    """The saved moments of a training run.

    In coefficient space w_r(t) = w_r(0) + Σ_i C_ir(t) x_i, and weights are computed when asked for; a primal run
    stores the weights and has no coefficients.
    """

    initial: Network
    data: Dataset
    steps: Array  # (time,)  steps made until each saved moment
    times: Array  # (time,)  Σ η until then
    log_losses: Array  # (time,)
    margins: Array  # (time, sample)
    coefficients: Array | None  # (time, sample, neuron)  C
    stored_weights: Array | None  # (time, neuron, axis)  of a primal run
    biases: Array  # (time, neuron)
    status: str  # finished, or why it ended early

    @property
    def losses(self) -> Array:
        """Mean training loss: (time,)."""
        return np.exp(self.log_losses)

    def weights_at(self, t: int) -> Array:
        """W at the t-th saved moment: (neuron, axis)."""
        if "weights" in self.__dict__:  # all of them have been asked for before
            return self.weights[t]
        if self.coefficients is not None:
            return self.initial.weights + self.coefficients[t].T @ self.data.x
        assert self.stored_weights is not None
        return self.stored_weights[t]

    @cached_property
    def weights(self) -> Array:
        """W(t): (time, neuron, axis)."""
        return np.stack([self.weights_at(t) for t in range(len(self))])

    @property
    def growth(self) -> Array:
        """W(t) − W(0): (time, neuron, axis)."""
        return self.weights - self.initial.weights

    def at(self, t: int) -> Network:
        """Return the network of the t-th saved moment."""
        return self.initial.changed(weights=self.weights_at(t), biases=self.biases[t])

    @property
    def final(self) -> Network:
        """The trained network."""
        return self.at(-1)

    def active(self, t: int) -> Bools:
        """Which neurons are on at which training points at the t-th saved moment: (sample, neuron)."""
        return self.at(t).active(self.data.x)

    def __len__(self) -> int:
        return len(self.times)
