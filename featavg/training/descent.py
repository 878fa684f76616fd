"""Many steps of one size in place, where that is faster than one iterate after the other and gives the same."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from featavg.training.engines import Gram
from featavg.training.engines.gram import SMALL
from featavg.training.iterate import BIASES, WEIGHTS, Iterate, Vector

if TYPE_CHECKING:
    from featavg.training.engines.active_set import ActiveSet


class Descent:
    """θ ← θ − η∇L, again and again, from the initial weights (and biases) of a first layer in coefficient space."""

    def __init__(self, start: Iterate, eta: float) -> None:
        from featavg.training.engines.active_set import ActiveSet  # compiles, so only where it pays

        problem, first = start.problem, start.problem.first
        assert isinstance(first, Gram)
        assert first.matrix is not None
        assert problem.groups is not None
        second, output_bias = problem.fixed["weights_2"], problem.fixed["biases_2"]
        biases = start.parameters.blocks.get(BIASES)
        self.start, self.at, self.eta = start, start, eta
        self.active: ActiveSet = ActiveSet(first.matrix, start.z, biases, second, output_bias, problem.groups)

    def advance(self, count: int) -> Iterate:
        """The iterate `count` steps on."""
        problem, active = self.start.problem, self.active
        loss, target, kind = problem.loss, problem.target, active.matrix.dtype.type
        scale = kind(self.eta / (len(target) if loss.reduction == "mean" else 1))
        weights = scale if problem.shares is None else scale * problem.shares[:, None]
        for _ in range(count):
            pulls = (loss.derivative(active.outputs.T, target) * weights).T
            active.step(np.ascontiguousarray(pulls), loss.monotone)
        self.at = self._iterate(self.at.time + count * self.eta)
        return self.at

    def _iterate(self, time: float) -> Iterate:
        blocks = dict(self.start.parameters.blocks)
        weights = np.empty_like(blocks[WEIGHTS])
        weights[:, 0] = 1
        if BIASES in blocks:
            blocks[BIASES] = blocks[BIASES].copy()
        self.active.write(weights[:, 1:], blocks.get(BIASES))
        blocks[WEIGHTS] = weights
        at = replace(self.start, parameters=Vector(blocks), found_z=None, time=time)
        at.__dict__["outputs"] = self.active.outputs.copy().T  # it need not find them again
        return at


def fast_descent(start: Iterate, eta: float) -> Descent | None:
    """A `Descent` if this problem is one that it can run, and large enough to pay."""
    problem, first = start.problem, start.problem.first
    trained = set(start.parameters.blocks)
    runs = (
        isinstance(first, Gram)
        and first.matrix is not None
        and problem.target.ndim == 1
        and problem.groups is not None
        and problem.upper.activation.is_relu
        and WEIGHTS in trained <= {WEIGHTS, BIASES}
        and start.z.shape[1] ** 2 * start.z.shape[0] >= SMALL
    )
    return Descent(start, eta) if runs else None
