"""Every rule against an independent loop: autograd for the gradient, a line of torch for the rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from featavg import (
    BinaryNetwork,
    Exponential,
    GradientDescent,
    Logistic,
    LossBasedDescent,
    MomentumDescent,
    NormalizedDescent,
    SignDescent,
    SpectralDescent,
    sample_clusters,
    train,
)
from featavg.data import Dataset
from featavg.model import Activation

ETA, STEPS = 3e-3, 40
Tensors = list[torch.Tensor]
Step = Callable[[Tensors, Tensors, Tensors], Tensors]  # parameters, gradients, memory -> directions


def decay(parameters: Tensors, gradients: Tensors, memory: Tensors) -> Tensors:
    return [g + 0.3 * p for p, g in zip(parameters, gradients, strict=True)]


def momentum(parameters: Tensors, gradients: Tensors, memory: Tensors) -> Tensors:
    memory[:] = [0.8 * m + g for m, g in zip(memory or [0.0] * len(gradients), gradients, strict=True)]
    return memory


def normalised(parameters: Tensors, gradients: Tensors, memory: Tensors) -> Tensors:
    size = torch.sqrt(sum((g**2).sum() for g in gradients))
    return [g / size for g in gradients]


def polar(gradient: torch.Tensor) -> torch.Tensor:
    u, s, v = torch.linalg.svd(gradient, full_matrices=False)
    return u @ torch.diag((s > 1e-7 * s[0]).double()) @ v


def spectral(parameters: Tensors, gradients: Tensors, memory: Tensors) -> Tensors:
    return [polar(g) if g.ndim == 2 else g / g.norm() for g in gradients]


RULES: dict[str, tuple[Any, Step]] = {
    "plain": (GradientDescent(steps=STEPS, step_size=ETA), lambda p, g, m: g),
    "decay": (GradientDescent(steps=STEPS, step_size=ETA, weight_decay=0.3), decay),
    "momentum": (MomentumDescent(steps=STEPS, step_size=ETA, momentum=0.8), momentum),
    "normalised": (NormalizedDescent(steps=STEPS, step_size=ETA), normalised),
    "spectral": (SpectralDescent(steps=STEPS, step_size=ETA), spectral),
    "sign": (SignDescent(steps=STEPS, step_size=1e-4), lambda p, g, m: [torch.sign(one) for one in g]),
}


@pytest.fixture(scope="module")
def data() -> Dataset:
    return sample_clusters(clusters=4, dim=80, samples=30, coordinates="ambient", seed=1)


def activate(z: torch.Tensor, weights: torch.Tensor, activation: Activation) -> torch.Tensor:
    on = torch.relu(z) ** activation.power + activation.leak * torch.clamp(z, max=0)
    return on / weights.norm(dim=1) ** (activation.power - 1) if activation.normalized else on


def torch_loop(network: Any, data: Dataset, step: Step, eta: float, exponential: bool, total: bool) -> Tensors:
    """All parameters of two layers, without an output bias, after STEPS steps."""
    own = [network.weights, network.biases, network.second]
    parameters = [torch.tensor(array, requires_grad=True) for array in own]
    x, y, memory = torch.tensor(data.x), torch.tensor(data.y), []
    for _ in range(STEPS):
        weights, biases, second = parameters
        outputs = activate(x @ weights.T + biases, weights, network.activation) @ second.T
        exponent = -y * outputs[:, 0]
        losses = torch.exp(exponent) if exponential else torch.nn.functional.softplus(exponent)
        gradients = torch.autograd.grad(losses.sum() if total else losses.mean(), parameters)
        with torch.no_grad():
            for parameter, way in zip(parameters, step(parameters, list(gradients), memory), strict=True):
                parameter -= eta * way
    return [parameter.detach() for parameter in parameters]


def compare(network: Any, data: Dataset, name: str, loss: Any) -> None:
    rule, step = RULES[name]
    exponential, total = isinstance(loss, Exponential), loss.reduction == "sum"
    expected = torch_loop(network, data, step, rule.step_size, exponential, total)
    engines: Any = ("dense",) if name == "sign" else ("dense", "gram")
    for engine in engines:
        run = train(network, data, rule, loss=loss, trained=("weights", "biases", "second"), engine=engine)
        found = (run.final.weights, run.final.biases, run.final.second)
        for mine, theirs in zip(found, expected, strict=True):
            assert_allclose(mine, theirs.numpy(), rtol=0, atol=1e-8 * float(theirs.abs().max()))


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("loss", [Logistic(), Exponential(), Logistic(reduction="sum")], ids=str)
def test_both_layers_follow_the_rule(data: Dataset, name: str, loss: Any) -> None:
    compare(BinaryNetwork.random(data, 2, seed=2, scale=3e-2), data, name, loss)


@pytest.mark.parametrize(
    "activation",
    [
        Activation(2),
        Activation(3),
        Activation(leak=0.5),
        Activation(2, normalized=True),
        Activation(3, normalized=True),
    ],
    ids=str,
)
def test_other_activations_follow_autograd(data: Dataset, activation: Activation) -> None:
    network = replace(BinaryNetwork.random(data, 2, seed=2, scale=3e-2), activation=activation)
    compare(network, data, "plain", Logistic())
    compare(network, data, "decay", Exponential())


def capped_loss_based(network: Any, data: Dataset, goal: float) -> tuple[Any, list[float]]:
    """Lyu & Li's rule in plain NumPy for one layer of ReLU and the exponential loss; weights and log-losses."""
    weights, second, alpha, losses = network.weights.copy(), network.second[0], 0.1, []

    def margins(w: Any) -> Any:
        return data.y * (np.maximum(data.x @ w.T, 0) @ second)

    def log_loss(w: Any) -> float:
        q = margins(w)
        return float(np.log(np.mean(np.exp(-(q - q.min())))) - q.min())

    while not losses or losses[-1] > goal:
        q = margins(weights)
        shares = np.exp(-(q - q.min()))
        shares /= shares.sum()
        slope = (data.x @ weights.T >= 0) * second * (data.y * shares)[:, None]
        way = slope.T @ data.x
        new = weights + alpha * way
        while (moved := np.abs(margins(new) - q).max()) > 1:
            alpha *= max(0.999 / moved, 1e-3)
            new = weights + alpha * way
        if log_loss(new) <= log_loss(weights):
            weights, alpha = new, alpha * 2**0.2
        else:
            alpha /= 2**0.1
        losses.append(log_loss(weights))
    return weights, losses


def test_loss_based_steps_follow_their_own_loop(data: Dataset) -> None:
    network = BinaryNetwork.random(data, 2, seed=2, scale=3e-2)
    network = network.changed(biases=np.zeros(4))
    expected, losses = capped_loss_based(network, data, -50.0)
    run = train(network, data, LossBasedDescent(log_loss=-50.0), loss="exponential", trained=("weights",))
    assert run.status == "finished"
    assert run.steps[-1] == len(losses)
    assert run.log_losses[-1] == pytest.approx(losses[-1], rel=1e-9)
    assert_allclose(run.final.weights, expected, rtol=0, atol=1e-9 * np.abs(expected).max())
