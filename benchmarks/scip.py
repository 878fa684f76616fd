"""The exact question as a mixed-integer program for SCIP, in span(W): the general-purpose way."""

from __future__ import annotations

from typing import Any

import numpy as np
from pyscipopt import Model, quicksum


def survives(network: Any, x: np.ndarray, y: int, radius: float) -> bool:
    """Whether y f > 0 within ℓ2 distance `radius` of x: minimise y f over the ball, with one binary a neuron."""
    basis = np.linalg.qr(network.weights.T)[0]
    weights, start = network.weights @ basis, network.weights @ x + network.biases
    model = Model()
    model.hideOutput()
    delta = [model.addVar(lb=-radius, ub=radius) for _ in range(weights.shape[1])]
    model.addCons(quicksum(d * d for d in delta) <= radius**2)
    hidden = []
    for w, z0 in zip(weights, start, strict=True):
        reach = float(np.linalg.norm(w) * radius)
        z = z0 + quicksum(float(c) * d for c, d in zip(w, delta, strict=True))
        h, on = model.addVar(lb=0.0), model.addVar(vtype="B")
        model.addCons(h >= z)
        model.addCons(h <= z + (reach - z0) * (1 - on))
        model.addCons(h <= (z0 + reach) * on if z0 + reach > 0 else h <= 0)
        hidden.append(h)
    model.setObjective(quicksum(float(y * a) * h for a, h in zip(network.second[0], hidden, strict=True)))
    model.optimize()
    return bool(model.getObjVal() + y * network.output_bias[0] > 0)
