"""Adversarial training: the inner attack is that of torch, and what it buys is seen in exact radii."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal

from featavg import (
    BinaryNetwork,
    GradientDescent,
    InputError,
    MulticlassNetwork,
    WorstInBall,
    robust_radius,
    sample_clusters,
    train,
    train_many,
)
from featavg.data import Dataset
from featavg.training import Iterate

RULE = GradientDescent(steps=15, step_size=3e-3)


@pytest.fixture(scope="module")
def data() -> Dataset:
    return sample_clusters(clusters=4, dim=80, samples=30, coordinates="ambient", seed=1)


def torch_loss(x: torch.Tensor, y: torch.Tensor, weights: torch.Tensor, biases: torch.Tensor, second: Any) -> Any:
    outputs = torch.relu(x @ weights.T + biases) @ second.T
    if outputs.shape[1] == 1:
        return torch.nn.functional.softplus(-y * outputs[:, 0])
    return torch.nn.functional.cross_entropy(outputs, y, reduction="none")


def torch_attack(x: torch.Tensor, y: torch.Tensor, parameters: Any, attack: WorstInBall) -> torch.Tensor:
    """Madry's loop, from the points themselves."""
    delta, stride = torch.zeros_like(x), 2.5 * attack.radius / attack.steps
    for _ in range(attack.steps):
        delta.requires_grad_(True)
        (slope,) = torch.autograd.grad(torch_loss(x + delta, y, *parameters).sum(), delta)
        with torch.no_grad():
            if attack.norm == "l2":
                delta = delta + stride * torch.nn.functional.normalize(slope, dim=1, eps=1e-300)
                delta = delta * torch.clamp(attack.radius / delta.norm(dim=1, keepdim=True), max=1.0)
            else:
                delta = (delta + stride * slope.sign()).clamp(-attack.radius, attack.radius)
            if attack.box is not None:
                delta = (x + delta).clamp(*attack.box) - x
    return (x + delta).detach()


@pytest.mark.parametrize("kind", [BinaryNetwork, MulticlassNetwork])
@pytest.mark.parametrize(
    "attack",
    [WorstInBall(2.0), WorstInBall(2.0, box=(-2.5, 2.5)), WorstInBall(0.3, steps=4, norm="linf")],
    ids=["l2", "l2 in a box", "linf"],
)
def test_training_on_worst_points_follows_autograd(data: Dataset, kind: Any, attack: WorstInBall) -> None:
    network = kind.random(data, 2, seed=2, scale=3e-2)
    run = train(network, data, RULE, perturb=attack, trained=("weights", "biases"))
    weights, biases = (torch.tensor(array, requires_grad=True) for array in (network.weights, network.biases))
    parameters = weights, biases, torch.tensor(network.second)
    x, y = torch.tensor(data.x), torch.tensor(data.y if kind is BinaryNetwork else data.cluster)
    for _ in range(RULE.steps):
        moved = torch_attack(x, y, parameters, attack)
        slopes = torch.autograd.grad(torch_loss(moved, y, *parameters).mean(), [weights, biases])
        with torch.no_grad():
            weights -= 3e-3 * slopes[0]
            biases -= 3e-3 * slopes[1]
    assert_allclose(run.final.weights, weights.detach().numpy(), rtol=0, atol=1e-10)
    assert_allclose(run.final.biases, biases.detach().numpy(), rtol=0, atol=1e-10)


def seen_by(attack: WorstInBall, network: Any, data: Dataset, steps: int = 1) -> list[tuple[Any, Any]]:
    """Where an attack moves the points of a network that stands still, step by step, and their margins there."""
    found = []

    def watch(at: Iterate, rows: Any) -> Any:
        found.append((moved := attack(at, rows), at.on(rows, moved).margins))
        return moved

    train(network, data, GradientDescent(steps=steps, step_size=1e-100), perturb=watch)
    return found


@pytest.mark.parametrize("norm", ["l2", "linf"])
def test_restarts_only_make_it_stronger_and_stay_inside(data: Dataset, norm: Any) -> None:
    network = train(BinaryNetwork.random(data, 2, seed=2), data, GradientDescent(steps=50)).final
    radius = 6.0 if norm == "l2" else 0.6
    ((_, weak),) = seen_by(WorstInBall(radius, steps=2, norm=norm), network, data)
    ((moved, strong),) = seen_by(WorstInBall(radius, steps=2, norm=norm, restarts=4), network, data)
    assert (strong <= weak).all()
    assert (strong < weak).any()
    order = 2 if norm == "l2" else np.inf
    assert np.linalg.norm(moved - data.x, ord=order, axis=1).max() <= radius * (1 + 1e-12)


def test_restarts_repeat_by_seed_and_differ_in_time(data: Dataset) -> None:
    network = BinaryNetwork.random(data, 2, seed=2, scale=3e-2)
    ends = [
        train(network, data, RULE, perturb=WorstInBall(6.0, steps=1, restarts=2, seed=seed)).final.weights
        for seed in (0, 0, 1)
    ]
    assert_array_equal(ends[0], ends[1])
    assert np.abs(ends[0] - ends[2]).max() > 0
    (one, _), (other, _) = seen_by(WorstInBall(6.0, steps=1, restarts=1), network, data, steps=2)
    assert np.abs(one - other).max() > 0


def test_what_is_still_stays(data: Dataset) -> None:
    network = BinaryNetwork.random(data, 2, seed=2, scale=3e-2)
    ((moved, _),) = seen_by(WorstInBall(2.0, restarts=1, still=3), network, data)
    assert_array_equal(moved[:, -3:], data.x[:, -3:])
    assert (moved[:, :-3] != data.x[:, :-3]).any(axis=1).all()


@pytest.mark.parametrize("batch_size", [None, 6])
def test_stacked_runs_are_single_runs(batch_size: int | None) -> None:
    datas = [sample_clusters(clusters=4, dim=200, samples=20, seed=seed) for seed in range(3)]
    networks = [BinaryNetwork.random(data, 2, seed=7) for data in datas]
    options: dict[str, Any] = {"perturb": WorstInBall(2.0, steps=3, restarts=1), "batch_size": batch_size}
    together = train_many(networks, datas, RULE, **options)
    for network, data, run in zip(networks, datas, together, strict=True):
        assert_array_equal(run.final.weights, train(network, data, RULE, **options).final.weights)


def test_worst_points_make_exact_radii_larger() -> None:
    """On points with few dimensions per cluster plain training overfits noise; both ends of every radius are proved."""
    data = sample_clusters(clusters=4, dim=60, samples=40, noise=1.0, seed=3)
    test = data.resample(40, seed=4)
    network = BinaryNetwork.random(data, 2, seed=2)
    medians = []
    for perturb in (None, WorstInBall(2.0)):
        end = train(network, data, GradientDescent(steps=400), perturb=perturb).final
        radius = robust_radius(end, test.x, test.y)
        assert all(status == "exact" for status in map(str, radius.status))
        medians.append(np.median(radius.lower))
    assert medians[1] > 1.05 * medians[0]


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: WorstInBall(0.0), "radius must be positive, got 0.0"),
        (lambda: WorstInBall(1.0, steps=0), "steps must be positive, got 0"),
        (lambda: WorstInBall(1.0, restarts=-1), "restarts must not be negative, got -1"),
        (lambda: WorstInBall(1.0, norm="l1"), "norm must be l2 or linf, got 'l1'"),  # type: ignore[arg-type]
    ],
)
def test_numbers_without_meaning_are_refused(make: Any, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        make()


def test_the_largest_coordinate_has_no_meaning_in_compact_ones() -> None:
    data = sample_clusters(clusters=2, dim=500, samples=20, seed=0)
    network = BinaryNetwork.random(data, 1, seed=1)
    with pytest.raises(InputError, match="ℓ∞ has no meaning in compact coordinates"):
        train(network, data, RULE, perturb=WorstInBall(0.1, norm="linf"))
