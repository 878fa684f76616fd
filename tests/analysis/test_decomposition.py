"""Weights are features and noises: the parts add up, and two independent ways to find them agree."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from featavg import (
    BinaryNetwork,
    GradientDescent,
    InputError,
    MulticlassNetwork,
    Trajectory,
    decompose,
    decompose_weights,
    reconstruct,
    sample_clusters,
    train,
)
from featavg.arrays import Array
from featavg.data import Dataset

RULE = GradientDescent(steps=60)
SETTINGS: list[dict[str, Any]] = [
    {},
    {"coordinates": "ambient", "noise": 0.5, "signal": 2.0},
    {"features_per_sample": 2, "positive": 3},
    {"correlation": 0.3, "norms": [30.0, 40.0, 50.0, 55.0, 60.0]},
    {"dim": 10**10},
]


@pytest.fixture(params=SETTINGS, ids=str)
def data(request: Any) -> Dataset:
    return sample_clusters(clusters=5, samples=70, seed=1, **request.param)


@pytest.fixture(params=[BinaryNetwork, MulticlassNetwork])
def run(request: Any, data: Dataset) -> Trajectory:
    return train(request.param.random(data, 2, seed=2), data, RULE, save_at=[0, 1, 10, 60])


def close(left: Array, right: Array) -> None:
    assert_allclose(left, right, rtol=0, atol=1e-9 * np.abs(right).max())


def norms(rows: Array) -> Array:
    return (rows**2).sum(axis=1)


def test_the_parts_add_up_to_the_growth(run: Trajectory, data: Dataset) -> None:
    close(reconstruct(decompose(run, data), data), run.growth)


def test_coefficients_and_least_squares_agree(run: Trajectory, data: Dataset) -> None:
    read, solved = decompose(run, data), decompose_weights(run.growth, data)
    close(solved.feature, read.feature)
    close(solved.noise, read.noise)


def test_the_noises_of_its_carriers_pay_for_a_feature(run: Trajectory, data: Dataset) -> None:
    """λ_j/(α‖μ_j‖²) = Σ_{i carries j} σ_i/‖ξ_i‖² at every time."""
    parts = decompose_weights(run.growth, data)
    paid = (parts.noise / norms(data.noise)) @ data.membership
    close(parts.feature / (data.signal * norms(data.centers)), paid)


def test_nothing_is_there_at_time_zero(run: Trajectory, data: Dataset) -> None:
    parts = decompose(run, data)
    assert parts.feature.shape == (4, run.initial.neurons, 5)
    assert parts.noise.shape == (4, run.initial.neurons, 70)
    assert not parts.feature[0].any()
    assert not parts.noise[0].any()
    assert parts.feature[1].any()


def test_permuted_neurons_have_permuted_parts(run: Trajectory, data: Dataset) -> None:
    parts = decompose_weights(run.growth[-1], data)
    order = np.random.default_rng(0).permutation(run.initial.neurons)
    close(decompose_weights(run.growth[-1][order], data).feature, parts.feature[order])


def test_a_rotation_changes_no_part() -> None:
    data = sample_clusters(clusters=4, dim=120, samples=40, coordinates="ambient", seed=0)
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((120, 120)))[0]
    growth = np.random.default_rng(1).standard_normal((3, 44)) @ np.concatenate([data.centers, data.noise])
    straight = decompose_weights(growth, data)
    rotated = decompose_weights(growth @ turn, replace(data, x=data.x @ turn, stored_centers=data.centers @ turn))
    close(rotated.feature, straight.feature)
    close(rotated.noise, straight.noise)


def test_a_dense_run_is_decomposed_by_least_squares() -> None:
    data = sample_clusters(clusters=4, samples=40, seed=0)
    network = BinaryNetwork.random(data, 2, seed=1)
    primal, dual = (train(network, data, RULE, engine=engine) for engine in ("dense", "gram"))
    assert primal.coefficients is None
    close(decompose(primal, data).feature, decompose(dual, data).feature)


def test_a_trajectory_gives_the_networks_it_passed() -> None:
    data = sample_clusters(clusters=4, samples=40, seed=0)
    run = train(BinaryNetwork.random(data, 2, seed=1), data, RULE, save_at=[0, 30, 60])
    assert_array_equal(run.at(0).weights, run.initial.weights)
    for t in range(3):
        assert_allclose(run.at(t).margins(data.x, data.y), run.margins[t], atol=1e-9)
        assert_allclose(run.losses[t], np.logaddexp(0, -run.margins[t]).mean(), rtol=1e-12)
        assert_array_equal(run.active(t), run.at(t).active(data.x))
    assert_allclose(run.final.weights, run.weights[-1], rtol=1e-12)


def test_what_does_not_split_uniquely_is_refused() -> None:
    crowded = sample_clusters(clusters=4, dim=40, samples=37, seed=0)
    with pytest.raises(InputError, match=r"only if noise > 0 and dim >= clusters . samples = 41, got dim = 40"):
        decompose_weights(np.zeros((2, 40)), crowded)
    silent = sample_clusters(clusters=4, samples=10, noise=0.0)
    with pytest.raises(InputError, match=r"got dim = 3072 and noise = 0.0"):
        decompose_weights(np.zeros((2, silent.x.shape[1])), silent)
    data = sample_clusters(clusters=4, samples=10)
    with pytest.raises(InputError, match="compact test points are stored in part"):
        decompose_weights(np.zeros((2, data.x.shape[1])), data.resample(10, seed=1))
