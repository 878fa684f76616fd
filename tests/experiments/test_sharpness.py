"""The exact Hessian against differences of the training room's own gradients, and against what a kink does to them."""

from __future__ import annotations

import numpy as np

import featavg as fa
from featavg.data import Dataset, Labels
from featavg.experiments.implicit_bias.other_biases import hessian, sharpness
from featavg.training import Squared

ALL = ("weights", "biases", "second", "output_bias")


def test_hessian_is_the_derivative_of_the_gradient_away_from_kinks() -> None:
    rng = np.random.default_rng(3)
    data = Dataset(rng.standard_normal((7, 2)), Labels.of(rng.choice([-1, 1], 7)))
    network = fa.BinaryNetwork(rng.standard_normal((4, 2)), rng.standard_normal(4), rng.standard_normal((1, 4)), [0.3])
    assert np.abs(network.preactivations(data.x)).min() > 1e-3  # no neuron is switched by the differences below
    found, step = hessian(network, data), 1e-5
    columns = [
        (_gradient(network, data, step * way) - _gradient(network, data, -step * way)) / (2 * step)
        for way in np.eye(len(found))
    ]
    np.testing.assert_allclose(found, np.stack(columns, axis=1), atol=1e-8)
    assert sharpness(network, data) == np.linalg.eigvalsh(found).max()


def test_a_neuron_next_to_its_kink_does_not_spoil_it() -> None:
    data = Dataset(np.array([[1.0], [2.0]]), Labels.of([1, -1]))
    near, nearer = (sharpness(fa.BinaryNetwork([[1.0], [1.0]], [0.5, kink - 1.0], [[1.0, 1.0]], [0.0]), data)
                    for kink in (1e-3, 1e-12))  # fmt: skip
    assert abs(near - nearer) < 0.01


def _gradient(network: fa.Network, data: Dataset, moved: np.ndarray) -> np.ndarray:
    """∇L where the parameters were moved, from one step of gradient descent of size 1."""
    rows, axes = network.weights.shape
    inner, second = moved[: rows * (axes + 1)].reshape(rows, axes + 1), moved[rows * (axes + 1) : -1]
    start = fa.BinaryNetwork(network.weights + inner[:, :-1], network.biases + inner[:, -1],
                             network.second + second, network.output_bias + moved[-1:])  # fmt: skip
    end = fa.train(start, data, fa.GradientDescent(steps=1, step_size=1.0), loss=Squared(), trained=ALL).final
    first = np.column_stack([start.weights - end.weights, start.biases - end.biases])
    return np.concatenate([first.ravel(), (start.second - end.second)[0], start.output_bias - end.output_bias])
