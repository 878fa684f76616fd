"""The largest eigenvalue of the Hessian, from gradients alone."""

from __future__ import annotations

import numpy as np

from featavg.training import Iterate


def sharpness(at: Iterate, rng: np.random.Generator, steps: int = 30, short: float = 1e-7) -> float:
    """max |eigenvalue| of ∇²L by power iteration, H v = (∇L(θ + εv) − ∇L(θ − εv))/2ε for unit v.

    The iterate must hold the weights themselves (`engine="dense"`). A neuron that is switched within ε makes H v huge,
    which is why it is so short.

    >>> import featavg as fa
    >>> from featavg.data import Dataset, Labels
    >>> from featavg.training import Squared
    >>> data, start = Dataset(np.array([[3.0]]), Labels.of([1])), fa.BinaryNetwork([[1.0]], [0.0], [[1.0]], [0.0])
    >>> found = []  # of (3w − 1)²/2 it is 9
    >>> look = lambda moment: found.append(sharpness(moment.at, np.random.default_rng(0)))
    >>> rule = fa.GradientDescent(steps=1, step_size=0.01)
    >>> run = fa.train(start, data, rule, loss=Squared(), trained=("weights",), engine="dense", observe=look)
    >>> round(found[0], 6)
    9.0
    """
    way = at.parameters.map(lambda block: rng.standard_normal(block.shape))
    for _ in range(steps):
        way = way / at.norm(way)
        way = (at.move(way, short).gradient - at.move(way, -short).gradient) / (2 * short)
    return float(at.norm(way))
