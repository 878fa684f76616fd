"""Steps of one size of small runs, in place: what Python adds to a step would cost more than its products."""

from __future__ import annotations

from math import isfinite

import numpy as np

from featavg.training.engines import ALL, Gram
from featavg.training.iterate import BIASES, WEIGHTS, Iterate, Vector


class SmallDescent:
    """θ ← θ − η∇L in coefficient space, for one run or a stack, with the very numbers of one iterate after the other.

    It is NumPy, so nobody waits for a compiler, and most arrays of a step are written where the last ones were.
    """

    def __init__(self, start: Iterate, eta: float) -> None:
        problem, first = start.problem, start.problem.first
        assert isinstance(first, Gram)
        self.start, self.eta, self.first, self.made, self.time = start, eta, first, 0, start.time
        self.z, self.outputs = start.z.copy(), start.outputs.swapaxes(-1, -2)
        self.block = start.parameters[WEIGHTS].copy()  # [s | C]
        self.biases = start.parameters[BIASES].copy() if BIASES in start.parameters else None
        self.gradient = np.zeros_like(self.block)[..., 1:]
        self.hidden, self.change = np.empty_like(self.z), np.empty_like(self.z)
        count = self.z.dtype.type(problem.target.shape[-1] if problem.loss.reduction == "mean" else 1)
        self.weight = 1 / count if problem.shares is None else problem.shares[..., None] / count

    def advance(self, count: int) -> Iterate:
        """The iterate `count` steps on, or where the outputs leave the finite numbers; `made` counts the steps."""
        until = self.made + count
        while self.made < until:
            self._step()
            self.made += 1
            self.time += self.eta
            if not isfinite(np.add.reduce(self.outputs, axis=None)):
                break
        blocks = {WEIGHTS: self.block.copy()} | ({} if self.biases is None else {BIASES: self.biases.copy()})
        at = Iterate(self.start.problem, Vector(blocks), ALL, self.z.copy(), self.time)
        at.__dict__["outputs"] = self.outputs.swapaxes(-1, -2)  # of this step alone: it need not find them again
        return at

    def _step(self) -> None:
        """G = ∂L/∂Z;  C ← C − ηG,  b ← b − ηG1,  Z ← Z − η(GK + G1)."""
        problem, eta, gradient = self.start.problem, self.eta, self.gradient
        weights, biases = problem.fixed["weights_2"], problem.fixed["biases_2"][..., None]
        pulls = problem.loss.derivative(self.outputs.swapaxes(-1, -2), problem.target)
        pulls *= self.weight
        np.multiply(problem.upper.down(2, pulls.swapaxes(-1, -2), weights), self.z >= 0, out=gradient)
        change = self.first.times_matrix(gradient, out=self.change)
        if self.biases is not None:
            total = np.add.reduce(gradient, axis=-1)
            change += total[..., None]
            self.biases += -eta * total
        change *= -eta
        gradient *= -eta
        self.z += change
        self.block[..., 1:] += gradient
        np.maximum(self.z, 0, out=self.hidden)
        self.outputs = problem.upper.up(2, self.hidden, weights) + biases


def small_descent(start: Iterate, eta: float) -> SmallDescent | None:
    """A `SmallDescent` if it can make the steps of this problem."""
    problem, first = start.problem, start.problem.first
    runs = (
        isinstance(first, Gram)
        and first.matrix is not None
        and problem.groups is not None
        and problem.upper.activation.is_relu
        and not first.large(start.z)
        and WEIGHTS in start.parameters
    )
    return SmallDescent(start, eta) if runs else None
