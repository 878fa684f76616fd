"""What training leaves behind: the path of the network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from featavg.arrays import Array, Bools
from featavg.data import Dataset
from featavg.model import Layer, Network
from featavg.training.losses import Loss


@dataclass(frozen=True, eq=False, repr=False)
class Trajectory:
    """The saved moments of a training run.

    In coefficient space w_r(t) = s_r(t) w_r(0) + Σ_i C_ir(t) x_i, and weights are computed when asked for; s is 1
    unless weights decay or are normalised. A dense run stores the weights and has no coefficients.
    """

    initial: Network
    data: Dataset
    loss: Loss
    steps: Array  # (time,)  steps made until each saved moment
    times: Array  # (time,)  Σ η until then
    moments: Mapping[str, Sequence[Array]]  # (time,) of the trained parameters, as the engine held them
    holds_coefficients: bool  # whether the first layer is [s | C] (time, neuron, 1 + sample), or W (time, neuron, axis)
    outputs: Sequence[Array] | None  # (time,) of F (sample, output), where training came by them
    status: str  # finished, or why it ended early
    sample_weight: Array | None = None  # (sample,)  of mean 1

    def __repr__(self) -> str:
        return f"Trajectory({self.initial!r}; {len(self)} moments up to step {self.steps[-1]:g}, {self.status})"

    @property
    def log_losses(self) -> Array:
        """log L on all training points: (time,)."""
        return self._evaluations[0]

    @property
    def losses(self) -> Array:
        """The training loss: (time,)."""
        return np.exp(self.log_losses)

    @property
    def margins(self) -> Array:
        """By how much each training point is on its side: (time, sample)."""
        return self._evaluations[1]

    @cached_property
    def coefficients(self) -> Array | None:
        """C (time, sample, neuron) of a run in coefficient space."""
        if not (self.holds_coefficients and "weights_1" in self.moments):
            return None
        return np.swapaxes(np.array([block[:, 1:] for block in self.moments["weights_1"]], dtype=np.float64), 1, 2)

    @property
    def biases(self) -> Array:
        """b(t) of the first layer: (time, neuron)."""
        stored = self.moments.get("biases_1", [self.initial.biases] * len(self))
        return np.array(stored, dtype=np.float64)

    def weights_at(self, t: int) -> Array:
        """W at the t-th saved moment: (neuron, axis)."""
        if "weights" in self.__dict__:  # all of them have been asked for before
            return self.weights[t]
        if "weights_1" not in self.moments:
            return self.initial.weights
        block = self.moments["weights_1"][t].astype(np.float64, copy=False)
        return block[:, :1] * self.initial.weights + block[:, 1:] @ self.data.x if self.holds_coefficients else block

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
        layers = [Layer(self.weights_at(t), self._block("biases_1", t, self.initial.biases))]
        for number, layer in enumerate(self.initial.layers[1:], start=2):
            weights = self._block(f"weights_{number}", t, layer.weights)
            layers.append(Layer(weights, self._block(f"biases_{number}", t, layer.biases)))
        return replace(self.initial, layers=tuple(layers))

    def _block(self, name: str, t: int, initial: Array) -> Array:
        return self.moments[name][t] if name in self.moments else initial

    @property
    def final(self) -> Network:
        """The trained network."""
        return self.at(-1)

    def active(self, t: int) -> Bools:
        """Which neurons are on at which training points at the t-th saved moment: (sample, neuron)."""
        return self.at(t).active(self.data.x)

    def __len__(self) -> int:
        return len(self.times)

    @cached_property
    def _evaluations(self) -> tuple[Array, Array]:
        target = self.loss.targets(self.initial, self.data)
        outputs = self.outputs or [self.at(t).outputs(self.data.x) for t in range(len(self))]
        log_losses, margins = zip(*[self.loss.measure(f, target) for f in outputs], strict=True)
        totals = [self.loss.total(each, self.sample_weight) for each in log_losses]
        return np.array(totals, dtype=np.float64), np.array(margins, dtype=np.float64)
