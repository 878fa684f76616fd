"""Many steps of one size in place, where that is faster than one iterate after the other and gives the same."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from featavg.arrays import Array
from featavg.training.engines import Gram
from featavg.training.engines.gram import SMALL
from featavg.training.iterate import BIASES, WEIGHTS, Iterate, Vector

if TYPE_CHECKING:
    from featavg.training.engines.active_set import Runs


class Descent:
    """θ ← θ − η∇L, again and again, from the initial weights (and biases) of a first layer in coefficient space.

    One run, or several on the same points.
    """

    def __init__(self, start: Iterate, eta: float) -> None:
        from featavg.training.engines.active_set import Runs  # compiles, so only where it pays

        problem, first = start.problem, start.problem.first
        assert isinstance(first, Gram)
        assert first.matrix is not None
        assert problem.groups is not None
        self.start, self.at, self.eta, self.made = start, start, eta, 0
        self.one = () if problem.target.ndim > 1 else (None,)  # what makes a stack of a single run
        upper = problem.fixed["weights_2"], problem.fixed["biases_2"], problem.groups.number
        second, output_bias, number = (block[self.one][0] for block in upper)
        z, shift = start.z[self.one], BIASES in start.parameters
        self.runs: Runs = Runs(first.matrix, z, shift, second, output_bias, number)

    def advance(self, count: int) -> Iterate:
        """The iterate `count` steps on."""
        problem, runs = self.start.problem, self.runs
        loss, target, kind = problem.loss, problem.target[self.one], runs.matrix.dtype.type
        scale = kind(self.eta / (target.shape[-1] if loss.reduction == "mean" else 1))
        weights = scale if problem.shares is None else scale * problem.shares[:, None]
        for _ in range(count):
            pulls = loss.derivative(runs.outputs.swapaxes(1, 2), target) * weights
            runs.step(np.ascontiguousarray(pulls.swapaxes(1, 2)), loss.monotone)
        self.made += count
        self.at = self._iterate(self.at.time + count * self.eta)
        return self.at

    def _iterate(self, time: float) -> Iterate:
        blocks = dict(self.start.parameters.blocks)
        weights = np.empty_like(blocks[WEIGHTS])
        weights[..., 0] = 1
        if BIASES in blocks:
            blocks[BIASES] = blocks[BIASES].copy()
        self.runs.write(weights[self.one][..., 1:], blocks[BIASES][self.one] if BIASES in blocks else None)
        blocks[WEIGHTS] = weights
        at = replace(self.start, parameters=Vector(blocks), found_z=None, time=time)
        outputs = self.runs.outputs.copy().swapaxes(1, 2)
        # An infinite step may leave every neuron off and the outputs finite: such a run has none.
        outputs[~np.isfinite(self.runs.coefficients.sum(axis=(1, 2)))] = np.nan
        at.__dict__["outputs"] = outputs[0] if self.one else outputs  # it need not find them again
        return at


def fast_descent(start: Iterate, eta: float) -> Descent | None:
    """A `Descent` if this problem is one that it can run, and large enough to pay."""
    problem, first = start.problem, start.problem.first
    trained = set(start.parameters.blocks)
    runs = (
        isinstance(first, Gram)
        and first.matrix is not None
        and first.matrix.ndim == 2
        and problem.groups is not None
        and (problem.target.ndim == 1 or all(_alike(problem.fixed[name]) for name in ("weights_2", "biases_2")))
        and problem.upper.activation.is_relu
        and WEIGHTS in trained <= {WEIGHTS, BIASES}
        and start.z.shape[-1] ** 2 * start.z.shape[-2] >= SMALL
    )
    return Descent(start, eta) if runs else None


def _alike(blocks: Array) -> bool:
    """Whether all runs have the same block."""
    return bool((blocks == blocks[0]).all())
