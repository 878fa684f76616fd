"""Hostile problems, each from its own seed: a family's network with a read-out, a norm, a box and a label."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from campaign.soundness.families import FAMILIES, Array, Draft, Generator
from campaign.soundness.problem import READOUTS, Matrix, Norm, Problem, Readout, Vector
from campaign.soundness.rationals import ZERO, exact_network, fooled, groups, rationals, value
from campaign.soundness.truth import rounded


def hostile_problem(seed: int, number: int) -> Problem:
    """Return problem `number` of a campaign; the same two numbers give the same problem.

    >>> hostile_problem(0, 3) == hostile_problem(0, 3)
    True
    """
    rng = np.random.default_rng([seed, number])
    family = list(FAMILIES)[number % len(FAMILIES)]
    readout: Readout = READOUTS[rng.choice(5, p=[0.4, 0.2, 0.16, 0.16, 0.08])]
    axes = int(rng.choice([1, 2, 3], p=[0.2, 0.45, 0.35]))
    neurons = int(rng.choice([1, 2, 3, 4, 5, 6], p=[0.1, 0.25, 0.3, 0.25, 0.06, 0.04]))
    if readout == "summed-probabilities":
        axes, neurons = min(axes, 2), min(neurons, 4)
    outputs = int(rng.choice([2, 3, 4, 6, 12], p=[0.3, 0.3, 0.2, 0.1, 0.1]))
    return bent(rng, family, readout, (axes, neurons, outputs))


def bent(rng: Generator, family: str, readout: Readout, sizes: tuple[int, int, int]) -> Problem:
    """Draw a network of (axes, neurons, outputs), let the family bend it, and ask about a point of it."""
    axes, neurons, outputs = sizes
    outputs = 1 if readout == "sign" else outputs
    norm: Norm = "l2" if rng.random() < 0.6 else "linf"
    draft = Draft(
        rng.standard_normal((neurons, axes)),
        rng.standard_normal(neurons),
        rng.standard_normal((outputs, neurons)),
        0.5 * rng.standard_normal(outputs),
        rng.standard_normal(axes) * rng.choice([0.3, 1.0, 3.0]),
    )
    FAMILIES[family](rng, draft)
    labels = None if readout in ("sign", "argmax") else _class_labels(rng, outputs)
    box = _box(rng, draft.x) if rng.random() < 0.35 else None
    problem = Problem(
        family, _matrix(draft.weights), _vector(draft.biases), _matrix(draft.second), _vector(draft.constants),
        _vector(draft.x), 0 if readout == "argmax" else 1, readout, norm, labels, box,
    )  # fmt: skip
    return _placed(rng, problem)


def _class_labels(rng: Generator, outputs: int) -> tuple[int, ...]:
    """Half of the outputs on either side, or one against all others."""
    labels = rng.permuted(np.where(np.arange(outputs) % 2 == 0, 1, -1))
    if outputs > 2 and rng.random() < 0.3:
        labels = np.where(np.arange(outputs) == rng.integers(outputs), 1, -1)
    return tuple(int(label) for label in labels)


def _box(rng: Generator, x: Array) -> tuple[Vector, Vector]:
    """Around the point: one for all axes, or one each, some sides open, and some of them at the point itself."""
    size = float(np.abs(x).max()) + 1e-3
    room = rng.uniform(0.05, 2.0, (2, len(x))) * size
    if rng.random() < 0.4:
        low, high = np.full(len(x), x.min() - room[0, 0]), np.full(len(x), x.max() + room[1, 0])
    else:
        low, high = x - room[0], x + room[1]
    for side, end in ((low, -np.inf), (high, np.inf)):
        if rng.random() < 0.3:
            side[:] = end
        elif rng.random() < 0.3:
            axis = rng.integers(len(x))
            side[axis] = x[axis]
    has_width = low < high  # a box without width is no question
    return _vector(np.where(has_width, low, x - room[0])), _vector(high)


def _placed(rng: Generator, problem: Problem) -> Problem:
    """Give the point the label it has, decided exactly, and to some another; put some on the boundary itself."""
    draw = rng.random()
    if draw < 0.04 and problem.readout in ("sign", "argmax"):
        problem = _on_the_boundary(problem)
    labels = range(len(problem.second)) if problem.readout == "argmax" else (1, -1)
    right = [y for y in labels if not _is_fooled(replace(problem, y=y))]
    if not right or draw > 0.95:
        return replace(problem, y=int(rng.choice(list(labels))))
    return replace(problem, y=right[0])


def _on_the_boundary(problem: Problem) -> Problem:
    """Shift the first output so that it ties, exactly if the shift is a float."""
    network = exact_network(problem)
    active = [max(z, ZERO) for z in network.hidden(rationals(problem.x))]
    values = [value(row, active) for row in network.outputs]
    goal = max(values[1:], default=ZERO)
    shifted = network.outputs[0].constant + goal - values[0]
    return replace(problem, constants=(rounded(shifted), *problem.constants[1:]))


def _is_fooled(problem: Problem) -> bool:
    if problem.readout != "summed-probabilities":
        return fooled(problem, problem.x)
    own, others = groups(problem)  # in floats: a label that is wrong by rounding is a problem like any other
    hidden = np.array(problem.weights) @ problem.x + np.array(problem.biases)
    outputs = np.array(problem.second) @ np.maximum(hidden, 0.0) + np.array(problem.constants)
    return bool(np.logaddexp.reduce(outputs[own]) <= np.logaddexp.reduce(outputs[others]))


def _vector(values: Array) -> Vector:
    return tuple(float(entry) for entry in values)


def _matrix(values: Array) -> Matrix:
    return tuple(_vector(row) for row in values)
