"""Crowded problems: all neurons may switch on the way to the boundary, so that the search needs its curves.

With a ≤ 0 throughout, Σ_j a_j ReLU(z_j) is the least of Σ_{j in S} a_j z_j over all subsets S. So the fooled set is a
union of 2ⁿ half-spaces, whose distances are a formula: no cell, no program, no search.
"""

from __future__ import annotations

import numpy as np

from campaign.soundness.families import Array
from campaign.soundness.problem import Problem, Readout
from campaign.soundness.rationals import ZERO, dot, exact_network, rational, rationals, rivals
from campaign.soundness.truth import Truth, rounded

READOUTS: tuple[Readout, ...] = ("sign", "sign", "argmax", "summed-logits")
FORMULA_AGREES = 1e-9  # relative; sums of some twenty floats that do not cancel are good to 1e-13


def crowded_problem(seed: int, number: int) -> Problem:
    """Return crowded problem `number` of a campaign: 12 to 15 neurons, most of them off at the point, near kinks."""
    rng = np.random.default_rng([seed, number, 3])
    neurons, axes, readout = int(rng.integers(12, 16)), int(rng.integers(12, 41)), READOUTS[rng.integers(4)]
    outputs = 1 if readout == "sign" else int(rng.integers(2, 5))
    weights = rng.standard_normal((neurons, axes)) / np.sqrt(axes)
    # Neurons that share a direction move together.
    weights += float(rng.choice([0.0, 0.0, 0.3])) * rng.standard_normal(axes) / np.sqrt(axes)
    if rng.random() < 0.2:
        weights[-1] = weights[0] * (1.0 + 1e-9 * rng.standard_normal(axes))
    x = rng.standard_normal(axes) * rng.choice([0.3, 1.0, 3.0])
    spread, near = float(rng.choice([0.1, 0.3, 1.0])), float(rng.choice([0.2, 0.4]))
    second = 1.0 + spread * np.abs(rng.standard_normal((outputs, neurons)))
    second[0] *= -1.0
    hidden = near * (rng.standard_normal(neurons) - 1.0)
    units = 2.0 ** rng.integers(-200, 200, 2) if rng.random() < 0.3 else np.ones(2)
    constants = np.zeros(outputs)
    constants[0] = np.abs(second @ np.maximum(hidden, 0.0)).sum() + outputs * rng.uniform(1.0, 6.0)
    return Problem(
        "crowded",
        tuple(map(tuple, (units[0] * weights).tolist())),
        tuple((units[0] * (hidden - weights @ x)).tolist()),
        tuple(map(tuple, (units[1] * second).tolist())),
        tuple((units[0] * units[1] * constants).tolist()),
        tuple(x.tolist()),
        0 if readout == "argmax" else 1,
        readout,
        class_labels=tuple(1 if o == 0 else -1 for o in range(outputs)) if readout == "summed-logits" else None,
    )


def subset_radius(problem: Problem) -> Truth:
    """Return the radius by the formula: over all rivals and subsets the least (c + Σ_S a_j z_j)/‖Σ_S a_j w_j‖.

    The upper end is that of one half-space, in rationals; the lower end allows for the floats that chose it.

    >>> network = ((3.0, 0.0), (0.0, 4.0)), (0.0, 0.0), ((-1.0, -1.0),), (10.0,)
    >>> round(subset_radius(Problem("by hand", *network, (0.0, 0.0), 1)).radius, 9)
    2.0
    """
    network, x = exact_network(problem), rationals(problem.x)
    hidden, squares = network.hidden(x), []
    for (row,) in rivals(problem, network):
        if any(a > 0 for a in row.coefficients):
            raise ValueError("a coefficient is positive: the network is not the least over subsets")
        chosen = _nearest_subset(problem, [rounded(a) for a in row.coefficients], rounded(row.constant))
        a = [row.coefficients[j] for j in chosen]
        lead = row.constant + dot(a, [hidden[j] for j in chosen])
        normal = [dot(a, [network.weights[j][k] for j in chosen]) for k in range(len(x))]
        squares.append(lead * lead / dot(normal, normal) if lead > 0 else ZERO)
    return Truth(problem.norm, min(squares) * rational(1.0 - FORMULA_AGREES) ** 2, min(squares))


def _nearest_subset(problem: Problem, slopes: list[float], constant: float) -> list[int]:
    """The neurons of the half-space that is nearest, in floats."""
    weights, a = np.array(problem.weights), np.array(slopes)
    subsets = np.arange(1, 2 ** len(a))[:, None] >> np.arange(len(a)) & 1
    leads = constant + subsets @ (a * (weights @ np.array(problem.x) + np.array(problem.biases)))
    lengths: Array = np.linalg.norm(subsets @ (a[:, None] * weights), axis=1)
    return [int(j) for j in np.flatnonzero(subsets[np.argmin(leads / lengths)])]
