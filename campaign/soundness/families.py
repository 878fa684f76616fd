"""Families of hostile networks: what makes floating-point geometry go wrong, one family a function.

A family bends an ordinary random network and its point in place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Array = np.ndarray
Generator = np.random.Generator


@dataclass
class Draft:
    """A network and a point that a family may bend."""

    weights: Array  # (neuron, axis)
    biases: Array  # (neuron,)
    second: Array  # (output, neuron)
    constants: Array  # (output,)
    x: Array  # (axis,)


def power_of_ten(rng: Generator, low: float, high: float) -> float:
    """A number spread evenly over decades."""
    return float(10.0 ** rng.uniform(low, high))


def ordinary(rng: Generator, draft: Draft) -> None:
    """Leave it as it is: Gaussian."""


def near_parallel(rng: Generator, draft: Draft) -> None:
    """Neurons that differ from the first by 1e-15 … 1e-6 of their size, at any length and of both directions."""
    for j in range(1, len(draft.weights)):
        apart = power_of_ten(rng, -15, -6)
        factor = rng.choice([1.0, 1.0, -1.0, 2.0, 0.3])
        noise = rng.standard_normal(len(draft.x) + 1)
        draft.weights[j] = factor * (draft.weights[0] + apart * noise[1:])
        draft.biases[j] = factor * (draft.biases[0] + apart * noise[0])


def cancelling(rng: Generator, draft: Draft) -> None:
    """Near-parallel pairs whose second-layer weights cancel, wholly or by half, with a last word for what is left."""
    for j in range(1, len(draft.weights), 2):
        apart = power_of_ten(rng, -15, -6) * rng.choice([0.0, 1.0, 1.0, 1.0])
        draft.weights[j] = draft.weights[j - 1] + apart * rng.standard_normal(len(draft.x))
        draft.biases[j] = draft.biases[j - 1] + apart * rng.standard_normal()
        draft.second[:, j] = -draft.second[:, j - 1] * rng.choice([1.0, 0.5])
    if rng.random() < 0.5:
        draft.second *= power_of_ten(rng, 0, 8)
        draft.constants *= power_of_ten(rng, -8, 0)


def scaled_neurons(rng: Generator, draft: Draft) -> None:
    """Every neuron in units of its own, 1e-150 … 1e150, which its second-layer weights undo, nearly or not at all."""
    for j in range(len(draft.weights)):
        scale = power_of_ten(rng, -150, 150)
        draft.weights[j] *= scale
        draft.biases[j] *= scale
        draft.second[:, j] /= scale * power_of_ten(rng, -4, 4)


def scaled_layers(rng: Generator, draft: Draft) -> None:
    """Both layers in units of their own, 1e-150 … 1e150, and the lengths of the input space as well."""
    first, last = power_of_ten(rng, -150, 150), power_of_ten(rng, -150, 150)
    unit = power_of_ten(rng, -8, 8)
    draft.weights *= first
    draft.biases *= first * unit
    draft.second *= last
    draft.constants *= last * min(max(first * unit, 1e-150), 1e150)
    draft.x *= unit


def scaled_entries(rng: Generator, draft: Draft) -> None:
    """Every number in a unit of its own, 1e-8 … 1e8."""
    for array in (draft.weights, draft.biases, draft.second, draft.constants, draft.x):
        array *= 10.0 ** (rng.uniform(-8, 8, array.shape) * rng.choice([0, 1], array.shape))


def lattice(rng: Generator, draft: Draft) -> None:
    """Small integers throughout: points on kinks, parallel neurons and ties are common."""
    draft.weights[:] = rng.integers(-2, 3, draft.weights.shape)
    draft.biases[:] = rng.integers(-2, 3, draft.biases.shape)
    draft.second[:] = rng.integers(-2, 3, draft.second.shape)
    draft.constants[:] = rng.integers(-2, 3, draft.constants.shape)
    draft.x[:] = rng.integers(-3, 4, draft.x.shape)


def duplicated(rng: Generator, draft: Draft) -> None:
    """Copies and exact multiples of the first neuron, of both directions."""
    for j in range(1, len(draft.weights)):
        if rng.random() < 0.7:
            factor = float(rng.choice([1.0, 1.0, 2.0, 0.25, -1.0, -2.0]))
            draft.weights[j], draft.biases[j] = factor * draft.weights[0], factor * draft.biases[0]
            if rng.random() < 0.3:
                draft.second[:, j] = -draft.second[:, 0] / abs(factor)


def dead(rng: Generator, draft: Draft) -> None:
    """Neurons that are off for a long way, or constant, or silent."""
    for j in range(len(draft.weights)):
        what = rng.integers(4)
        if what == 0:
            draft.biases[j] = -power_of_ten(rng, 1, 6)
        elif what == 1:
            draft.weights[j] = 0.0
            draft.biases[j] *= rng.choice([0.0, 1.0])
        elif what == 2:
            draft.second[:, j] = 0.0


def tiny_kinks(rng: Generator, draft: Draft) -> None:
    """Kinks within 1e-13 … 1e-5 of the point, with little weight behind each."""
    for j in range(len(draft.weights)):
        draft.biases[j] = -draft.weights[j] @ draft.x + power_of_ten(rng, -13, -5) * rng.choice([-1.0, 0.0, 1.0])
        draft.second[:, j] *= power_of_ten(rng, -6, 2)


def far_away(rng: Generator, draft: Draft) -> None:
    """A point at 1e3 … 1e9 whose kinks are nearby, neurons that are nearly parallel and nearly cancel."""
    near_parallel(rng, draft)
    draft.x *= power_of_ten(rng, 3, 9)
    draft.biases[:] = -draft.weights @ draft.x + rng.standard_normal(len(draft.biases))
    for j in range(1, len(draft.weights)):
        if rng.random() < 0.5:
            draft.second[:, j] = -draft.second[:, 0]


def positive(rng: Generator, draft: Draft) -> None:
    """Outputs that mostly cannot meet: some labels are out of reach, others only just within it."""
    draft.second[:] = np.abs(draft.second) * np.sign(draft.second[:, :1])
    draft.constants[:] = np.sign(draft.second[:, 0]) * np.abs(draft.constants) * power_of_ten(rng, -12, 0)
    if len(draft.weights) > 1 and rng.random() < 0.5:
        near_parallel(rng, draft)


def touching(rng: Generator, draft: Draft) -> None:
    """A fooled set without interior: |z| ≤ 0 along one axis, in dyadic numbers so that a float can lie on it."""
    axis = int(rng.integers(len(draft.x)))
    size = 2.0 ** int(rng.integers(-20, 20))
    draft.weights[:] = np.round(8 * draft.weights) / 8
    draft.biases[:] = np.round(8 * draft.biases) / 8
    draft.second[:], draft.constants[:] = 0.0, 0.0
    draft.x[:] = np.round(8 * draft.x) / 8
    for j, sign in ((0, 1.0), (len(draft.weights) - 1, -1.0)):
        draft.weights[j] = 0.0
        draft.weights[j, axis] = sign * size
        draft.biases[j] = -sign * size
        draft.second[0, j] = 1.0


def unbiased(rng: Generator, draft: Draft) -> None:
    """No biases: every kink passes through the origin, where all outputs tie."""
    draft.biases[:], draft.constants[:] = 0.0, 0.0
    draft.x *= power_of_ten(rng, -9, 9)


FAMILIES: dict[str, Callable[[Generator, Draft], None]] = {
    family.__name__: family
    for family in (
        ordinary, near_parallel, cancelling, scaled_neurons, scaled_layers, scaled_entries, lattice, duplicated,
        dead, tiny_kinks, far_away, positive, touching, unbiased,
    )
}  # fmt: skip
