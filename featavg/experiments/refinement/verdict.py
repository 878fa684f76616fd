"""The verdict on one classifier at one radius: what is proved and what is refuted, point by point.

First PGD: a point it fools within the radius is lost. The others are searched exactly (`robust_radius`), or, for
summed probabilities over many outputs, excluded slab by slab (`featavg.robustness.slabs`). What neither settles counts
as lost below and as standing above.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from featavg.arrays import Array, Bools, Ints
from featavg.model import Network
from featavg.robustness import PGD, Budget, Question, Readout, ask, robust_radius
from featavg.robustness.certificate import Stage
from featavg.robustness.question import part
from featavg.robustness.slabs import Slabs

BUDGET = Budget(nodes=2000, seconds=0.15)
SLABS = (2, 16)  # two settle most points
ROUNDING = 3e-14


@dataclass(frozen=True)
class Verdict:
    """Robust accuracy at one radius lies between `lower`, proved, and `upper`, not refuted."""

    lower: float
    upper: float


def verdict(network: Network, x: Array, y: Ints, radius: float, readout: Readout) -> Verdict:
    """Return the bracket of the robust accuracy of `network` at `radius` under a binary read-out."""
    question = ask(network, x, y, readout=readout)
    attack = PGD(radii=radius, steps=40, restarts=1, shorten=False).on(question)
    survives: Bools = attack.upper > radius
    standing = np.flatnonzero(survives)
    if len(standing) and readout == "summed-probabilities" and len(network.second) > 2:
        proved = excluded(part(question, standing), radius)
    elif len(standing):
        # Two outputs have one read-out: what holds more than half of the probability is the maximum.
        found = robust_radius(network, x[standing], y[standing], readout="maximum", budget=BUDGET, proofs=False)
        proved, survives[standing] = found.lower > radius, found.upper > radius
    else:
        proved = np.zeros(0, dtype=bool)
    return Verdict(float(proved.sum() / len(x)), float(survives.mean()))


def excluded(question: Question, radius: float) -> Bools:
    """Which points (sample,) no ℓ2 perturbation up to `radius` fools, by slabs along the gradient of the margin."""
    stage = Stage.of(question)
    sides, neurons = stage.fooled.sides, stage.fooled.neurons
    weights = stage.outline(np.array([0])).ball.weights  # in coordinates of their span, the same for all points
    proved = np.zeros(len(question.x), dtype=bool)
    for i, (start, magnitude) in enumerate(zip(stage.start, stage.magnitude, strict=True)):
        own, methods = (np.flatnonzero(sides == sign * question.y[i]) for sign in (1, -1))
        votes = neurons.outputs @ np.maximum(start, 0.0) + neurons.constants
        pull = _soft(votes[methods]) @ neurons.outputs[methods] - _soft(votes[own]) @ neurons.outputs[own]
        toward = (pull * (start > 0)) @ weights
        toward /= max(float(np.linalg.norm(toward)), 1e-300)
        slabs = Slabs(neurons, own, methods, weights, start, magnitude, toward)
        proved[i] = any(_empty(slabs, np.linspace(-radius, radius, count + 1), radius) for count in SLABS)
    return proved


def _empty(slabs: Slabs, edges: Array, radius: float) -> bool:
    return all(
        slabs.empty(slabs.tangent(max(0.5 * (low + high), 0.0)), low, high, radius, ROUNDING)
        for low, high in pairwise(edges.tolist())
    )


def _soft(votes: Array) -> Array:
    shares = np.exp(votes - votes.max())
    return np.asarray(shares / shares.sum())
