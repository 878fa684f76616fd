"""Step rules: the flow is approached at second order, Adam is torch's, and every point has its turn in an epoch."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from featavg import (
    Adam,
    BinaryNetwork,
    GradientDescent,
    GradientFlow,
    InputError,
    LossBasedDescent,
    MomentumDescent,
    MulticlassNetwork,
    sample_clusters,
    train,
)
from featavg.data import Dataset, Labels
from featavg.model import Activation
from featavg.training.run import batches


@pytest.fixture(scope="module")
def data() -> Dataset:
    return sample_clusters(clusters=4, dim=100, samples=30, coordinates="ambient", seed=1)


def test_the_error_of_the_flow_is_of_second_order_in_its_accuracy(data: Dataset) -> None:
    # Squares of ReLU have no jump in their gradient, which would leave the first order wherever a neuron is switched.
    network = replace(BinaryNetwork.random(data, 2, seed=2, scale=1e-1), activation=Activation(power=2))
    finest, *accuracies = 1e-3, 0.16, 0.08, 0.04, 0.02
    ends = {a: train(network, data, GradientFlow(time=0.5, accuracy=a), save_at=[]) for a in (finest, *accuracies)}
    errors = [np.linalg.norm(ends[a].final.weights - ends[finest].final.weights) for a in accuracies]
    assert np.polyfit(np.log(accuracies), np.log(errors), 1)[0] == pytest.approx(2.0, abs=0.1)


def test_the_flow_is_resolved_late_where_margins_are_large() -> None:
    # One point, f = w x with x = 1: dw/dt = e^(−w), so w(t) = log(t + e^w(0)), and steps of a share of w would be long.
    data = Dataset(np.ones((1, 1)), Labels.of([1]))
    network = BinaryNetwork([[1.0]], [0.0], [[1.0]], [0.0])
    rule = GradientFlow(time=1e9, accuracy=0.2)
    run = train(network, data, rule, loss="exponential", trained=("weights",), save_at=[1e3, 1e9])
    # A midpoint step of Δw = a loses 5a³/24, of which the next ones keep the share 1 − a: 5a²/24 in all.
    errors = run.weights[1:, 0, 0] - np.log(np.array([1e3, 1e9]) + np.e)
    assert_allclose(errors, -5 / 24 * rule.accuracy**2, rtol=0.15)


@pytest.mark.parametrize("kind", [BinaryNetwork, MulticlassNetwork])
def test_the_flow_is_the_limit_of_short_steps(data: Dataset, kind: Any) -> None:
    network = kind.random(data, 2, seed=2, scale=1e-2)
    flow = train(network, data, GradientFlow(time=0.5, accuracy=5e-4)).final.weights
    gaps = []
    for steps in (2_000, 8_000):
        short = train(network, data, GradientDescent(steps=steps, step_size=0.5 / steps)).final.weights
        gaps.append(np.abs(short - flow).max() / np.abs(flow).max())
    assert gaps[1] < gaps[0] < 5e-3
    assert gaps[1] < 1e-3


def test_the_flow_lands_exactly_on_the_saved_times(data: Dataset) -> None:
    wanted = [0.0, 0.03, 0.1234567, 0.5]
    run = train(BinaryNetwork.random(data, 2, seed=2), data, GradientFlow(time=0.5), save_at=wanted)
    assert run.times.tolist() == wanted
    assert run.status == "finished"
    assert (np.diff(run.steps) > 0).all()
    # Passing through a saved time adds a step and changes little else.
    straight = train(BinaryNetwork.random(data, 2, seed=2), data, GradientFlow(time=0.5), save_at=[0.5])
    assert_allclose(run.losses[-1], straight.losses[-1], rtol=1e-2)


def test_a_flow_out_of_steps_says_so_and_keeps_where_it_came(data: Dataset) -> None:
    run = train(BinaryNetwork.random(data), data, GradientFlow(time=1e3, most_steps=20), save_at=[1e-9])
    assert run.status == "ended early: most_steps reached"
    assert run.steps.tolist() == [0, 1, 20]
    assert 1e-9 < run.times[-1] < 1e3
    assert run.losses[-1] < run.losses[1]


@pytest.mark.parametrize(("kind", "biases"), [(BinaryNetwork, True), (BinaryNetwork, False), (MulticlassNetwork, True)])
def test_adam_is_that_of_torch(data: Dataset, kind: Any, biases: bool) -> None:
    network = kind.random(data, 2, seed=2, scale=1e-2)
    rule = Adam(steps=100, step_size=3e-3, decay=(0.8, 0.95))
    run = train(network, data, rule, trained=("weights", "biases") if biases else ("weights",))
    weights = torch.tensor(network.weights, requires_grad=True)
    hidden = torch.tensor(network.biases, requires_grad=biases)
    optimiser = torch.optim.Adam([weights, hidden] if biases else [weights], lr=3e-3, betas=(0.8, 0.95))
    x, y, fine = torch.tensor(data.x), torch.tensor(data.y), torch.tensor(data.cluster)
    for _ in range(100):
        outputs = torch.relu(x @ weights.T + hidden) @ torch.tensor(network.second).T
        if kind is BinaryNetwork:
            loss = torch.nn.functional.softplus(-y * outputs[:, 0]).mean()
        else:
            loss = torch.nn.functional.cross_entropy(outputs, fine)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    assert_allclose(run.final.weights, weights.detach().numpy(), rtol=0, atol=1e-9)
    assert_allclose(run.final.biases, hidden.detach().numpy(), rtol=0, atol=1e-9)


@pytest.mark.parametrize("batch_size", [30, 31, 10**6])
def test_a_batch_of_all_points_is_full_batch(data: Dataset, batch_size: int) -> None:
    network = BinaryNetwork.random(data, 2, seed=2)
    full = train(network, data, GradientDescent(steps=50))
    batch = train(network, data, GradientDescent(steps=50), batch_size=batch_size)
    assert_allclose(batch.final.weights, full.final.weights, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("samples", "batch_size"), [(30, 10), (30, 7), (5, 4)])
def test_an_epoch_visits_no_point_twice_and_drops_the_last_incomplete_batch(samples: int, batch_size: int) -> None:
    found = batches(samples, batch_size, seed=0)
    whole = samples // batch_size
    epochs = [np.concatenate([next(found) for _ in range(whole)]) for _ in range(3)]
    for epoch in epochs:
        assert len(np.unique(epoch)) == len(epoch) == whole * batch_size
    assert not np.array_equal(epochs[0], epochs[1])  # each epoch in a fresh order


def test_small_batches_learn_and_repeat_by_seed(data: Dataset) -> None:
    network = BinaryNetwork.random(data, 2, seed=2)
    runs = [train(network, data, GradientDescent(steps=60), batch_size=8, seed=seed) for seed in (0, 0, 1)]
    np.testing.assert_array_equal(runs[0].final.weights, runs[1].final.weights)
    assert np.abs(runs[0].final.weights - runs[2].final.weights).max() > 0
    assert runs[0].losses[-1] < 0.5 * runs[0].losses[0]


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: GradientDescent(steps=0), "steps must be positive, got 0"),
        (lambda: GradientDescent(step_size=-1.0), "step_size must be positive, got -1.0"),
        (lambda: GradientDescent(step_size=np.inf), "step_size must be positive, got inf"),
        (lambda: GradientDescent(weight_decay=-1.0), "weight_decay must not be negative, got -1.0"),
        (lambda: MomentumDescent(momentum=1.0), r"momentum must lie in \[0, 1\), got 1.0"),
        (lambda: LossBasedDescent(log_loss=-np.inf), "log_loss must be the finite logarithm of a loss, got -inf"),
        (lambda: GradientFlow(time=np.nan), "time must be positive, got nan"),
        (lambda: GradientFlow(time=1.0, accuracy=0.0), "accuracy must be positive, got 0"),
        (lambda: Adam(step_size=0.0), "step_size must be positive, got 0.0"),
    ],
)
def test_rules_refuse_numbers_without_meaning(make: Any, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        make()


def test_the_default_step_size_holds_its_product_with_dim() -> None:
    sizes = [GradientDescent().eta(sample_clusters(dim=dim, samples=10)) * dim for dim in (3072, 10**9)]
    assert sizes == pytest.approx([3.072, 3.072])
