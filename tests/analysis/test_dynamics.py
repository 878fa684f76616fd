"""What happens during training, each number against its definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from featavg import (
    BinaryNetwork,
    GradientDescent,
    MulticlassNetwork,
    activation_stability,
    averaging_network,
    derivative_balance,
    gradient_norms,
    normalized_margin,
    sample_clusters,
    train,
)
from featavg.data import Dataset


@pytest.fixture(scope="module")
def data() -> Dataset:
    return sample_clusters(clusters=4, samples=200, seed=0)


@pytest.mark.parametrize("kind", [BinaryNetwork, MulticlassNetwork])
def test_every_neuron_is_soon_on_for_its_whole_class(data: Dataset, kind: Any) -> None:
    """Lemma 3, true after a few steps: half at t = 0, all from then on."""
    run = train(kind.random(data, 5, seed=1), data, GradientDescent(steps=20), save_at=range(21))
    own, other = activation_stability(run)
    assert own.shape == other.shape == (21,)
    assert own[0] == pytest.approx(0.5, abs=0.1)
    assert (own[3:] == 1.0).all()
    assert other[-1] < 0.5


def test_activation_shares_count_pairs(data: Dataset) -> None:
    run = train(BinaryNetwork.random(data, 2, seed=1), data, GradientDescent(steps=1), save_at=[])
    own, other = activation_stability(run)
    counts = {True: [0, 0], False: [0, 0]}
    for active, label in zip(run.initial.active(data.x), data.y, strict=True):
        for r, sign in enumerate(run.initial.neuron_class):
            counts[bool(sign == label)][0] += int(active[r])
            counts[bool(sign == label)][1] += 1
    assert own[0] == pytest.approx(counts[True][0] / counts[True][1])
    assert other[0] == pytest.approx(counts[False][0] / counts[False][1])


def test_the_balance_of_derivatives_is_their_largest_ratio(data: Dataset) -> None:
    run = train(BinaryNetwork.random(data, 2, seed=1), data, GradientDescent(steps=50), save_at=[0, 50])
    slopes = 1 / (1 + np.exp(run.margins))
    assert_allclose(derivative_balance(run), slopes.max(axis=1) / slopes.min(axis=1), rtol=1e-9)
    fine = train(MulticlassNetwork.random(data, 1, seed=1), data, GradientDescent(steps=50), save_at=[0, 50])
    missing = 1 - fine.final.probabilities(data.x)[np.arange(len(data)), data.cluster]
    assert derivative_balance(fine)[1] == pytest.approx(missing.max() / missing.min(), rel=1e-9)
    assert derivative_balance(fine)[0] == pytest.approx(1.0, abs=0.01)


def test_the_balance_keeps_its_digits_when_the_loss_is_tiny(data: Dataset) -> None:
    """With margins of about 50, 1 − p is 0 in floating point and its ratio would be nonsense."""
    start = train(MulticlassNetwork.random(data, 1, seed=1), data, GradientDescent(steps=50)).final
    late = start.changed(second=start.second * (50 / start.margins(data.x, data.cluster).min()))
    run = train(late, data, GradientDescent(steps=1), save_at=[])
    assert run.margins[0].min() == pytest.approx(50)
    spread = run.margins[0].max() - run.margins[0].min()
    assert np.log(derivative_balance(run)[0]) == pytest.approx(spread, abs=2 * np.log(3))


def test_the_normalised_margin_does_not_see_the_scale(data: Dataset) -> None:
    network = train(BinaryNetwork.random(data, 2, seed=1), data).final
    margin = normalized_margin(network, data.x, data.y)
    twice = network.changed(weights=7 * network.weights, biases=7 * network.biases)
    assert normalized_margin(twice, data.x, data.y) == pytest.approx(margin, rel=1e-12)
    size = np.sqrt((network.weights**2).sum() + (network.biases**2).sum())
    assert margin == pytest.approx((data.y * network.score(data.x)).min() / size)


def test_gradient_norms_are_slopes_at_equal_margin(data: Dataset) -> None:
    network = train(BinaryNetwork.random(data, 2, seed=1), data).final
    points, axes = data.x[:5], np.eye(data.x.shape[1])
    slopes = np.stack([(network.score(points + 1e-5 * e) - network.score(points - 1e-5 * e)) / 2e-5 for e in axes])
    expected = np.linalg.norm(slopes, axis=0) / np.abs(network.score(points))
    assert_allclose(gradient_norms(network, points), expected, rtol=1e-6)
    scaled = network.changed(second=3 * network.second)
    assert_allclose(gradient_norms(scaled, points), expected, rtol=1e-6)


def test_the_averaging_network_is_as_fragile_as_its_radius_says(data: Dataset) -> None:
    """At a point where both neurons are on, 1/gradient norm is the exact distance to the boundary."""
    network = averaging_network(data, biases=0.5)
    assert_allclose(1 / gradient_norms(network, data.centers), np.sqrt(3072 / 4), rtol=1e-9)
    assert np.isinf(gradient_norms(network, np.zeros((1, data.x.shape[1])))).all()  # a tie
