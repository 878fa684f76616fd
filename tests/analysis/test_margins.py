"""Margins and KKT residuals against cases that are solved by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from featavg import (
    BinaryNetwork,
    InputError,
    LossBasedDescent,
    Points,
    kkt_residuals,
    normalized_margin,
    sample_clusters,
    smoothed_margin,
    stable_rank,
    train,
)
from featavg.model import Activation

BOTH = ("weights", "biases", "second")


def test_margins_of_networks_that_are_both_trained_do_not_see_the_scale() -> None:
    data = sample_clusters(clusters=4, dim=60, samples=20, seed=0)
    network = train(BinaryNetwork.random(data, 2, seed=1), data).final
    twice = network.changed(weights=2 * network.weights, biases=2 * network.biases, second=2 * network.second)
    expected = normalized_margin(network, data.x, data.y, trained=BOTH)
    assert normalized_margin(twice, data.x, data.y, trained=BOTH) == pytest.approx(expected, rel=1e-12)
    size = sum((a**2).sum() for a in (network.weights, network.biases, network.second))
    assert expected == pytest.approx(network.margins(data.x, data.y).min() / size)


@pytest.mark.parametrize("loss", ["exponential", "logistic"])
def test_the_smoothed_margin_lies_just_below_and_grows(loss: str) -> None:
    data = sample_clusters(clusters=4, dim=60, samples=20, seed=0)
    rule = LossBasedDescent(log_loss=-100.0)
    run = train(BinaryNetwork.random(data, 2, seed=1), data, rule, loss=loss, save_at=range(0, 400, 20))  # type: ignore[arg-type]
    found = []
    for t in range(len(run)):
        if run.log_losses[t] > -5.0:
            continue
        network = run.at(t)
        rho = np.sqrt((network.weights**2).sum() + (network.biases**2).sum())
        above = normalized_margin(network, data.x, data.y)
        found.append(smoothed_margin(network, data.x, data.y, loss=loss))  # type: ignore[arg-type]
        assert above - np.log(len(data)) / rho <= found[-1] + 1e-9
        assert found[-1] <= above + 1e-12
    assert len(found) > 3
    assert (np.diff(found) > -1e-5 * np.abs(found[-1])).all()


def test_stable_ranks() -> None:
    rng = np.random.default_rng(0)
    assert stable_rank(np.outer(rng.standard_normal(4), rng.standard_normal(9))) == pytest.approx(1.0)
    assert stable_rank(np.linalg.qr(rng.standard_normal((9, 4)))[0]) == pytest.approx(4.0)
    with pytest.raises(InputError, match="zeros"):
        stable_rank(np.zeros((2, 2)))
    with pytest.raises(InputError, match="weights must be finite"):
        stable_rank([[np.nan, 1.0]])


def test_the_solution_of_a_support_vector_machine_is_a_kkt_point_and_another_direction_is_not() -> None:
    """One neuron for each class: w = Σ λ y a x with λ = 1 at the points of margin 1, each at a kink of one neuron."""
    points = Points([[1.0, 0.0], [2.0, 0.5], [0.0, 1.0], [0.5, 5.0]], [1, 1, -1, -1], [0, 1, 2, 3])
    best = BinaryNetwork(np.eye(2), np.zeros(2), [[1.0, -1.0]], [0.0])
    found = kkt_residuals(best, points, trained=["weights"])
    assert found.stationarity == pytest.approx(0.0, abs=1e-7)
    assert found.complementarity == pytest.approx(0.0, abs=1e-7)
    assert found.multipliers == pytest.approx([1.0, 0.0, 1.0, 0.0], abs=1e-6)
    turned = best.changed(weights=[[1.0, 0.5], [0.5, 1.0]])
    assert kkt_residuals(turned, points, trained=["weights"], kink=1e-9).stationarity > 0.1


def test_the_freedom_at_a_kink_is_used() -> None:
    """The second point is off by a hair for a neuron that is made of it: only with a share of it is θ reached."""
    points = Points([[1.0, 0.0], [1e-9, 1.0]], [1, 1], [0, 1])
    network = BinaryNetwork([[1.0, -1e-6], [0.0, 1.0]], np.zeros(2), [[1.0, 1.0]], [0.0])
    assert kkt_residuals(network, points, trained=["weights"]).stationarity < 1e-5
    # Neuron 0 = x_0 − 1e-6 x_1 needs no more than its own point; a neuron of both points does.
    both = BinaryNetwork([[1.0, 0.0]], np.zeros(1), [[1.0]], [0.0])
    two = Points([[1.0, -1.0], [1.0, 1.0]], [1, 1], [0, 1])
    assert kkt_residuals(both, two, trained=["weights"]).multipliers == pytest.approx([0.5, 0.5], abs=1e-6)


def test_training_goes_to_a_kkt_point() -> None:
    data = sample_clusters(clusters=4, dim=200, samples=30, seed=0)
    network = BinaryNetwork.random(data, 2, seed=1)
    for trained in (("weights", "biases"), BOTH):
        left = []
        for goal in (-5.0, -50.0, -1000.0):
            run = train(network, data, LossBasedDescent(log_loss=goal), loss="exponential", trained=trained)
            left.append(kkt_residuals(run.final, data, trained=trained).stationarity)
        assert left[2] < left[1] < left[0]
        assert left[2] < 0.01


def test_what_has_no_such_margin_is_told() -> None:
    points = Points([[1.0, 0.0], [0.0, 1.0]], [1, -1], [0, 1])
    network = BinaryNetwork(np.eye(2), np.ones(2), [[1.0, -1.0]], [0.0])
    with pytest.raises(InputError, match="outputs that scale with a power of weights, which they do not"):
        normalized_margin(network, points.x, points.y, trained=["weights"])
    with pytest.raises(InputError, match=r"does not .smallest margin -"):
        kkt_residuals(network.changed(second=[[-1.0, 1.0]]), points)
    with pytest.raises(InputError, match="ReLU networks of two layers and one output"):
        kkt_residuals(replace(network.changed(biases=[0, 0]), activation=Activation(2)), points, trained=["weights"])
    with pytest.raises(InputError, match="whose weights, biases are all 0 has no normalised margin"):
        normalized_margin(network.changed(weights=np.zeros((2, 2)), biases=[0, 0]), points.x, points.y)
    for power in (0, 0.5, 1.5, np.nan, np.inf, "2"):
        with pytest.raises(InputError, match=f"power of an activation must be a whole number from 1, got '?{power}"):
            Activation(power)  # type: ignore[arg-type]
