"""The state that training moves: coefficients of the training points, or the weights themselves."""

from __future__ import annotations

from typing import Any

import numpy as np

from featavg.arrays import Array, Ints
from featavg.data import Dataset
from featavg.model import Network
from featavg.training.watch import Team, Watch, teams

# Above this many samples the Gram matrix would take more memory than it saves time.
LARGEST_GRAM = 8192
# A watch shorter than this costs more than the plain steps it saves.
WORTH = 4


class CoefficientMotion:
    """C ← C − η G, Z ← Z − η K G, with G = ∂loss/∂Z and K = X Xᵀ (+ 1 where biases are trained).

    A step costs n² · neurons at most, whatever the dimension. With more points than axes, or too many for K, the
    product is K G = X (Xᵀ G).
    """

    def __init__(self, network: Network, data: Dataset, train_biases: bool, dtype: Any) -> None:
        self.x = data.x.astype(dtype, copy=False)
        self.second = network.second.astype(dtype)
        self.output_bias = network.output_bias.astype(dtype)
        self.biases = network.biases.astype(dtype)
        self.train_biases = train_biases
        self.initial = network.preactivations(data.x).astype(dtype, copy=False)
        self.z = self.initial.copy()
        self.coefficients = np.zeros_like(self.z)
        fits = len(self.x) <= min(LARGEST_GRAM, self.x.shape[1])
        self.gram = self.x @ self.x.T + self.x.dtype.type(train_biases) if fits else None
        self.teams: list[Team] = []
        self.watch: Watch | None = None
        self.plain_steps = self.patience = 8

    def outputs(self) -> Array:
        """F (sample, output) = ReLU(Z) Aᵀ + c."""
        if self.watch is None:
            return np.maximum(self.z, 0) @ self.second.T + self.output_bias
        return self.watch.outputs((len(self.x), len(self.second))) + self.output_bias

    def slope(self, derivative: Array) -> Array:
        """G (sample, neuron) = (∂loss/∂F A) · 1[Z >= 0]."""
        return (derivative @ self.second) * (self.z >= 0)

    def product(self, coefficients: Array) -> Array:
        """K C: (sample, neuron)."""
        if self.gram is not None:
            return (coefficients.T @ self.gram).T  # K is symmetric, and BLAS is a quarter faster this way round
        moved = self.x @ (self.x.T @ coefficients)
        return moved + coefficients.sum(axis=0) if self.train_biases else moved

    def move(self, slope: Array, change: Array, eta: float) -> None:
        """Step by η along −G, whose `change` is K G."""
        self.coefficients -= self.x.dtype.type(eta) * slope
        self.z -= self.x.dtype.type(eta) * change

    def advance(self, derivative: Array, eta: float) -> None:
        """Make one step of gradient descent; watch the active points alone while that provably changes nothing."""
        if self.watch is not None:
            if not self.watch.advance(derivative, eta):
                self._look_again(self.watch)
            return
        slope = self.slope(derivative)
        self.move(slope, self.product(slope), eta)
        self.plain_steps -= 1
        if self.gram is not None and self.plain_steps <= 0:
            self.teams = self.teams or teams(self.gram, self.second, derivative)
            if self.teams:
                self.watch = Watch(self.gram, self.z, self.coefficients, self.teams)

    def _look_again(self, ended: Watch) -> None:
        self.settle()
        self.z = self.initial + self.product(self.coefficients)
        # A watch that ended at once was not worth its start: wait longer before the next.
        self.patience = 2 * self.patience if ended.steps < WORTH else self.patience
        self.plain_steps = self.patience
        assert self.gram is not None
        self.watch = Watch(self.gram, self.z, self.coefficients, self.teams, ended) if ended.steps >= WORTH else None

    def settle(self) -> None:
        """Bring the coefficients up to date."""
        if self.watch is not None:
            self.watch.write(self.coefficients)

    def snapshot(self) -> tuple[Array, Array]:
        """C (sample, neuron), and b(t) = b(0) + Σ_i C_ir where biases are trained: (neuron,)."""
        self.settle()
        return self.coefficients.copy(), self.biases + self.coefficients.sum(axis=0) * self.train_biases


class PrimalMotion:
    """W ← W − η Gᵀ X, b ← b − η Gᵀ 1: the textbook way, for batches, for rules that look at coordinates, as a check."""

    def __init__(self, network: Network, data: Dataset, train_biases: bool, dtype: Any) -> None:
        self.x = data.x.astype(dtype, copy=False)
        self.weights = network.weights.astype(dtype)
        self.biases = network.biases.astype(dtype)
        self.second = network.second.astype(dtype)
        self.output_bias = network.output_bias.astype(dtype)
        self.train_biases = train_biases

    def look(self, rows: Ints | slice) -> None:
        """Turn to some of the points: their pre-activations are computed, and outputs and gradients are theirs."""
        self.seen = self.x[rows]
        self.z = self.seen @ self.weights.T + self.biases

    def outputs(self) -> Array:
        """F (sample, output) of the points looked at."""
        return np.maximum(self.z, 0) @ self.second.T + self.output_bias

    def gradients(self, derivative: Array) -> tuple[Array, Array]:
        """∂loss/∂W (neuron, axis) and ∂loss/∂b (neuron,)."""
        slope = (derivative @ self.second) * (self.z >= 0)
        return slope.T @ self.seen, slope.sum(axis=0) * self.train_biases

    def move(self, steps: tuple[Array, Array], eta: float) -> None:
        """Step by η along −(weights, biases)."""
        eta = self.x.dtype.type(eta)
        self.weights -= eta * steps[0]
        self.biases -= eta * steps[1]

    def snapshot(self) -> tuple[Array, Array]:
        """W (neuron, axis) and b (neuron,)."""
        return self.weights.copy(), self.biases.copy()
