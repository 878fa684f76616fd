"""Does it average? The paper's numbers, and an index and a p-value that say so of the right networks only."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import kstest

from featavg import (
    BinaryNetwork,
    InputError,
    MulticlassNetwork,
    Trajectory,
    alignment,
    averaging_index,
    averaging_network,
    averaging_p_value,
    decoupled_network,
    equivalent_weights,
    sample_clusters,
    train,
)
from featavg.analysis import averaging
from featavg.data import Dataset, Points


@pytest.fixture(scope="module")
def runs() -> list[tuple[Dataset, Trajectory, Trajectory]]:
    """The paper's setting, k = 10, d = 3072, n = 1000, 100 steps, at five seeds."""
    found = []
    for seed in range(5):
        data = sample_clusters(seed=seed)
        coarse = train(BinaryNetwork.random(data, seed=100 + seed), data, save_at=[])
        fine = train(MulticlassNetwork.random(data, seed=100 + seed), data, save_at=[])
        found.append((data, coarse, fine))
    return found


def test_coarse_neurons_average_in_the_papers_setting(runs: Any) -> None:
    same, other = [], []
    for data, coarse, _ in runs:
        cosines = alignment(coarse.final, data.centers)
        own = np.equal.outer(coarse.final.neuron_class, data.center_labels)
        same.append(cosines[own].mean())
        other.append(cosines[~own].mean())
        assert averaging_index(coarse.final, data).min() > 0.9
        assert averaging_p_value(coarse.final, data).max() < 1e-2
    assert np.mean(same) == pytest.approx(0.443, abs=0.006)
    assert np.mean(other) == pytest.approx(-0.03, abs=0.01)


def test_fine_neurons_decouple_in_the_papers_setting(runs: Any) -> None:
    diagonal = [np.diag(alignment(fine.final, data.centers)).mean() for data, _, fine in runs]
    assert np.mean(diagonal) == pytest.approx(0.993, abs=0.003)
    assert max(averaging_index(fine.final, data).max() for data, _, fine in runs) < 0.1


def test_losses_are_the_papers_after_100_steps(runs: Any) -> None:
    assert np.mean([coarse.losses[-1] for _, coarse, _ in runs]) == pytest.approx(0.167, rel=0.03)
    assert np.mean([fine.losses[-1] for _, _, fine in runs]) == pytest.approx(0.038, rel=0.03)


SHAPES: list[dict[str, Any]] = [{}, {"positive": 2}, {"norms": [20.0, 30.0, 40.0, 50.0, 60.0, 70.0]}]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_index_is_one_for_averaging_and_zero_for_decoupled_networks(shape: dict[str, Any]) -> None:
    data = sample_clusters(clusters=6, dim=500, samples=10, seed=0, **shape)
    assert_allclose(averaging_index(decoupled_network(data), data), 0.0, atol=1e-12)
    unit = data.centers / np.linalg.norm(data.centers, axis=1, keepdims=True)
    weights = np.stack([unit[data.center_labels == s].sum(axis=0) for s in (1, -1)])
    network = averaging_network(data).changed(weights=weights)
    assert_allclose(averaging_index(network, data), 1.0, rtol=1e-12)
    assert averaging_p_value(network, data).max() < 1e-6
    if "norms" not in shape:
        assert_allclose(averaging_index(averaging_network(data), data), 1.0, rtol=1e-12)


def test_the_index_sees_through_correlated_centers() -> None:
    """Coefficients, not cosines: a decoupled neuron has cosines with every correlated center."""
    data = sample_clusters(clusters=6, dim=500, samples=10, correlation=0.6, seed=0)
    assert_allclose(averaging_index(decoupled_network(data), data), 0.0, atol=1e-9)
    assert_allclose(averaging_index(averaging_network(data), data), 1.0, rtol=1e-9)


def test_weight_on_the_other_class_lowers_the_index_and_negative_weight_does_not_help() -> None:
    data = sample_clusters(clusters=6, dim=500, samples=10, seed=0)
    positive, negative = averaging_network(data).weights
    network = averaging_network(data).changed(weights=np.stack([positive - 0.5 * negative, -negative]))
    index = averaging_index(network, data)
    assert index[0] == pytest.approx((9 / 3.75 - 1) / 2)
    assert index[1] == pytest.approx(-0.5)


@pytest.mark.parametrize("correlation", [0.0, 0.5])
@pytest.mark.parametrize("size", [2, 5])
def test_the_p_value_is_uniform_for_random_directions_in_the_span(size: int, correlation: float) -> None:
    data = sample_clusters(clusters=2 * size, dim=500, samples=10, correlation=correlation, seed=0)
    rng = np.random.default_rng(1)
    basis = np.linalg.qr(data.centers[data.center_labels > 0].T)[0]
    inside = rng.standard_normal((2000, size)) @ basis.T
    network = BinaryNetwork(inside, np.zeros(2000), np.ones((1, 2000)), np.zeros(1), coordinates="compact")
    p = averaging_p_value(network, data)
    assert kstest(p, "uniform").pvalue > 1e-3
    # What lies outside the span of the class does not matter.
    outside = rng.standard_normal(inside.shape)
    outside -= outside @ basis @ basis.T
    assert_allclose(averaging_p_value(network.changed(weights=inside + outside), data), p, rtol=1e-9)


def test_permuted_clusters_change_nothing() -> None:
    data = sample_clusters(clusters=6, dim=500, samples=60, seed=0)
    network = train(BinaryNetwork.random(data, 3, seed=1), data).final
    order = np.array([4, 0, 5, 2, 1, 3])
    shuffled = replace(data, stored_centers=data.centers[order], classes_of_fine=data.classes_of_fine[order])
    assert_allclose(averaging_index(network, shuffled), averaging_index(network, data), rtol=1e-9)
    assert_allclose(averaging_p_value(network, shuffled), averaging_p_value(network, data), rtol=1e-9)
    assert_allclose(alignment(network, shuffled.centers), alignment(network, data.centers)[:, order])


def test_where_nothing_can_be_said_the_answer_is_nan() -> None:
    data = sample_clusters(clusters=3, dim=500, samples=10, positive=1, seed=0)
    network = averaging_network(data)
    assert np.isnan(averaging_index(network, data)).tolist() == [True, False]
    assert np.isnan(averaging_p_value(network, data)).tolist() == [True, False]
    dead = network.changed(weights=np.zeros_like(network.weights))
    assert np.isnan(averaging_index(dead, data)).all()
    assert_allclose(alignment(dead, data.centers), 0.0)


def test_equivalent_weights_are_means_of_groups() -> None:
    data = sample_clusters(clusters=4, dim=500, samples=10, seed=0)
    multi = MulticlassNetwork.random(data, 3, seed=1)
    assert_allclose(equivalent_weights(multi, 4), multi.weights.reshape(4, 3, -1).mean(axis=1))
    binary = BinaryNetwork.random(data, 2, seed=1)
    mixed = binary.changed(weights=binary.weights[[2, 0, 3, 1]], second=binary.second[:, [2, 0, 3, 1]])
    assert_allclose(equivalent_weights(mixed, 2), binary.weights.reshape(2, 2, -1).mean(axis=1))
    with pytest.raises(InputError, match="4 neurons cannot be cut into 3 equal groups"):
        equivalent_weights(binary, 3)


def test_centers_of_another_width_are_refused() -> None:
    data = sample_clusters(clusters=4, dim=500, samples=10, seed=0)
    with pytest.raises(InputError, match="centers must have 78 columns, got 7"):
        alignment(averaging_network(data), data.centers[:, :7])


def test_the_two_indices_agree_inside_the_class_and_differ_by_what_lies_outside() -> None:
    """index_own and index_all are ratios of the same (Σ λ+)² to Σ λ² over the own features, or over all."""
    rng = np.random.default_rng(3)
    features, classes = rng.standard_normal((6, 40)), np.array([0, 0, 0, 1, 1, 1])
    inside = rng.standard_normal((5, 3)) @ features[:3]
    row_class = np.zeros(5, dtype=np.int64)
    both = [averaging(inside, row_class, features, classes, against).index for against in ("all", "own")]
    assert_allclose(both[0], both[1], rtol=1e-9)
    mixed = inside + features[4]
    assert (averaging(mixed, row_class, features, classes, "all").index < both[0]).all()


def test_points_of_any_origin_have_an_index() -> None:
    """Centers are the means of the points where no cluster model gives them."""
    rng = np.random.default_rng(4)
    cluster = np.arange(120) % 4
    centers = 10 * np.eye(4, 20)
    points = Points(centers[cluster] + 0.01 * rng.standard_normal((120, 20)), np.where(cluster < 2, 1, -1), cluster)
    network = BinaryNetwork([centers[0] + centers[1], centers[2]], [0.0, 0.0], [[1.0, -1.0]], [0.0])
    assert_allclose(averaging_index(network, points), [1.0, 0.0], atol=1e-2)
    shifted = Points(points.x + 50.0, points.y, points.cluster)
    centred = averaging_index(network, shifted, against="own", centred=True)
    assert_allclose(centred, averaging_index(network, points, against="own", centred=True), rtol=1e-9)
    with pytest.raises(InputError, match="own for centred features"):
        averaging_index(network, points, centred=True)
