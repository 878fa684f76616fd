"""PGD with a library's default settings: steps in span(W) are those of plain PyTorch in all dimensions."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from featavg.experiments.paper.default_pgd import REACH, RELATIVE_STEP, STEPS, _uniform, default_pgd
from featavg.model import Argmax, Layer, Network, Sign


def network(outputs: int, dim: int, seed: int) -> Network:
    rng = np.random.default_rng(seed)
    first = Layer(rng.standard_normal((4, dim)) / np.sqrt(dim), rng.standard_normal(4))
    last = Layer(rng.standard_normal((outputs, 4)), rng.standard_normal(outputs))
    return Network((first, last), Sign() if outputs == 1 else Argmax(np.arange(outputs)))


def plain(net: Network, x: np.ndarray, classes: np.ndarray, radius: float, start: np.ndarray) -> np.ndarray:
    """The same attack from a start (sample, dim), by autograd in all dimensions."""
    weights, biases, second, bias = (
        torch.tensor(part) for part in (net.weights, net.biases, net.second, net.output_bias)
    )
    delta = torch.tensor(start)
    for _ in range(STEPS):
        point = (torch.tensor(x) + delta).requires_grad_()
        logits = torch.relu(point @ weights.T + biases) @ second.T + bias
        if logits.shape[1] == 1:
            logits = torch.cat([-logits / 2, logits / 2], dim=1)
        torch.nn.functional.cross_entropy(logits, torch.tensor(classes), reduction="sum").backward()
        step = torch.nn.functional.normalize(point.grad, dim=1, eps=1e-300)
        delta = delta + RELATIVE_STEP * radius * step
        delta = delta * torch.clamp(radius / delta.norm(dim=1, keepdim=True), max=1.0)
    return x + delta.numpy()


@pytest.mark.parametrize("outputs", [1, 3])
def test_it_ends_where_autograd_in_all_dimensions_ends(outputs: int) -> None:
    dim, radius, rng = 30, 2.5, np.random.default_rng(1)
    net, x, classes = network(outputs, dim, 0), rng.standard_normal((20, dim)), rng.integers(0, max(outputs, 2), 20)
    found = default_pgd(net, x, classes, radius, dim, np.random.default_rng(7))
    basis = np.linalg.qr(net.weights.T)[0]
    drawn = radius * _uniform(20, 4, dim, np.random.default_rng(7))
    unseen = np.linalg.qr(np.column_stack([basis, rng.standard_normal(dim)]))[0][:, -1]
    ends = plain(net, x, classes, radius, drawn[:, :-1] @ basis.T + drawn[:, -1:] * unseen)
    np.testing.assert_allclose(net.outputs(found), net.outputs(ends), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose((found - x) @ basis, (ends - x) @ basis, rtol=1e-9, atol=1e-9)


def test_starts_are_uniform_in_the_ball() -> None:
    """Each squared coordinate of a uniform point of the ball in d dimensions has the mean 1/(d + 2)."""
    points = _uniform(20_000, 3, 8, np.random.default_rng(0))
    squares = (points**2).mean(axis=0)
    np.testing.assert_allclose(squares, [0.1, 0.1, 0.1, 0.5], atol=0.01)  # five standard errors of 20,000 points
    assert np.linalg.norm(points, axis=1).max() <= 1


def test_in_many_dimensions_a_constant_gradient_is_followed_through_tanh_of_the_steps() -> None:
    ramp = Network((Layer(np.array([[1.0]]), np.zeros(1)), Layer(np.array([[1.0]]), np.array([-2.0]))))
    ends = default_pgd(ramp, np.full((50, 1), 9.0), np.ones(50, dtype=int), 8.0, 10**8, np.random.default_rng(0))
    np.testing.assert_allclose(9 - ends, 8 * REACH, rtol=0.005)  # steps of 0.025, not of 0
