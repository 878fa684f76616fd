"""Random questions and small attacks that several tests share."""

import numpy as np

import featavg as fa
from featavg.robustness.attacks import PGD, BoundaryWalk, GradientWalk, UniversalDirection
from featavg.robustness.question import ask

READOUTS = ("sign", "argmax", "maximum", "summed-logits", "summed-probabilities")
ATTACKS = [UniversalDirection(), GradientWalk(), PGD(radii=[1.0, 3.0], steps=15), BoundaryWalk(starts=2, steps=20)]


def random_question(rng, readout, norm="l2", box=None, samples=6, neurons=7, axes=4):
    outputs = 1 if readout == "sign" else 5
    weights, biases = rng.standard_normal((neurons, axes)), rng.standard_normal(neurons)
    second, constants = rng.standard_normal((outputs, neurons)), rng.standard_normal(outputs)
    if outputs == 1:
        model = fa.BinaryNetwork(weights, biases, second, constants)
        y = rng.choice([-1, 1], samples)
    else:
        model = fa.MulticlassNetwork(weights, biases, second, constants, np.array([1, 1, -1, -1, -1]))
        y = rng.integers(5, size=samples) if readout == "argmax" else rng.choice([-1, 1], samples)
    x = rng.uniform(-1, 1, (samples, axes)) if box else 2 * rng.standard_normal((samples, axes))
    return ask(model, x, y, norm=norm, readout=readout, box=box)
