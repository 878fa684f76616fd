"""Cluster samples: what is drawn has the stated centers, labels, noises, and impossible samples are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from featavg import BinaryNetwork, InputError, sample_clusters


@pytest.mark.parametrize("coordinates", ["ambient", "compact"])
def test_points_are_their_features_and_noise(coordinates: Any) -> None:
    data = sample_clusters(clusters=6, samples=300, signal=2.0, noise=0.5, coordinates=coordinates, seed=1)
    assert_allclose(data.noise, data.x - 2.0 * data.centers[data.cluster], atol=1e-10)
    assert_allclose((data.noise**2).sum(axis=1).mean() / 3072, 0.25, rtol=0.01)
    assert_array_equal(data.y, data.center_labels[data.cluster])
    assert_array_equal(data.membership, np.eye(6)[data.cluster])
    assert_allclose(np.bincount(data.cluster) / 300, 1 / 6, atol=0.08)
    assert (data.dim, data.clusters, len(data), data.coordinates) == (3072, 6, 300, coordinates)


@pytest.mark.parametrize(
    ("positive", "labels"),
    [
        (None, [1, 1, 1, -1, -1]),
        (1, [1, -1, -1, -1, -1]),
        (np.int64(4), [1, 1, 1, 1, -1]),
        ([4, 0], [1, -1, -1, -1, 1]),
    ],
)
def test_classes_are_sizes_or_lists(positive: Any, labels: list[int]) -> None:
    assert sample_clusters(clusters=5, samples=20, positive=positive).center_labels.tolist() == labels


@pytest.mark.parametrize("coordinates", ["ambient", "compact"])
def test_centers_have_the_norms_and_correlations_asked_for(coordinates: Any) -> None:
    norms, rho = np.array([10.0, 20.0, 30.0]), np.array([[1, 0.5, 0], [0.5, 1, -0.2], [0, -0.2, 1]])
    data = sample_clusters(clusters=3, samples=20, norms=norms, correlation=rho, coordinates=coordinates)
    assert_allclose(data.centers @ data.centers.T, norms[:, None] * rho * norms, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("placement", ["random", "axes", "signs"])
def test_every_placement_is_orthogonal_with_norm_root_dim(placement: Any) -> None:
    data = sample_clusters(clusters=8, dim=96, samples=5, coordinates="ambient", placement=placement)
    assert_allclose(data.centers @ data.centers.T, 96 * np.eye(8), atol=1e-9)
    if placement == "signs":
        assert_array_equal(np.abs(data.centers), 1.0)
    if placement == "axes":
        assert np.count_nonzero(data.centers) == 8


@pytest.mark.parametrize("coordinates", ["ambient", "compact"])
def test_given_centers_are_kept_up_to_a_rotation(coordinates: Any) -> None:
    centers = np.random.default_rng(0).standard_normal((4, 500))
    data = sample_clusters(clusters=4, dim=500, samples=30, centers=centers, coordinates=coordinates)
    assert_allclose(data.centers @ data.centers.T, centers @ centers.T, atol=1e-9)
    if coordinates == "ambient":
        assert_array_equal(data.centers, centers)


@pytest.mark.parametrize("features", [1, 2, 3])
def test_a_point_carries_distinct_features_of_one_class(features: int) -> None:
    data = sample_clusters(clusters=7, samples=400, positive=3, features_per_sample=features, seed=2)
    for points in (data, data.resample(50, seed=3)):
        assert_array_equal(points.membership.sum(axis=1), features)
        assert_array_equal(points.membership[np.arange(len(points)), points.cluster], 1)
        assert set((points.membership @ points.center_labels / features).tolist()) == {1.0, -1.0}
    pairs = data.membership.T @ data.membership
    together = np.equal.outer(data.center_labels, data.center_labels) if features > 1 else np.eye(7, dtype=bool)
    assert_array_equal(pairs > 0, together)


def test_fresh_points_share_the_centers_and_nothing_else() -> None:
    data = sample_clusters(clusters=4, samples=100, seed=0)
    test = data.resample(70, seed=1)
    assert_array_equal(test.centers, data.centers)
    assert (len(test), test.complete, data.complete) == (70, False, True)
    assert data.resample(70, seed=1).x.tobytes() == test.x.tobytes() != data.resample(70, seed=2).x.tobytes()
    assert sample_clusters(clusters=4, samples=10, coordinates="ambient").resample(5, seed=0).complete


@pytest.mark.parametrize("coordinates", ["ambient", "compact"])
def test_fresh_points_have_the_same_signal_and_noise(coordinates: Any) -> None:
    test = sample_clusters(samples=50, signal=2.0, noise=0.5, coordinates=coordinates, seed=0).resample(400, seed=1)
    assert test.noise.std() == pytest.approx(0.5, rel=0.02)
    along = test.x @ test.centers.T / 3072
    assert_allclose(along, 2.0 * np.eye(10)[test.cluster], atol=0.06)  # the noise of this is 0.5/√3072


def test_a_seed_gives_the_same_sample_and_another_seed_another() -> None:
    left, again, right = (sample_clusters(samples=30, seed=seed).x for seed in (5, 5, 6))
    assert left.tobytes() == again.tobytes() != right.tobytes()


def test_there_may_be_more_placed_centers_than_dimensions() -> None:
    centers = np.random.default_rng(0).standard_normal((9, 3))
    data = sample_clusters(9, 3, 2000, centers=centers, noise=0.1, seed=1)
    assert data.coordinates == "ambient"
    means = np.stack([data.x[data.cluster == j].mean(axis=0) for j in range(9)])
    np.testing.assert_allclose(means, centers, atol=0.04)  # 0.1/√220 · 4 deviations, and some


def test_compact_is_chosen_exactly_when_it_fits() -> None:
    assert sample_clusters(clusters=4, dim=118, samples=50, reserve=64).coordinates == "compact"
    assert sample_clusters(clusters=4, dim=117, samples=50, reserve=64).coordinates == "ambient"
    assert sample_clusters(clusters=4, dim=117, samples=50, reserve=63).x.shape == (50, 117)


@pytest.mark.parametrize(
    ("setting", "complaint"),
    [
        ({"clusters": 11, "dim": 10}, "clusters <= dim, got clusters=11 and dim=10; raise dim"),
        ({"clusters": 1}, "two classes need clusters >= 2, got clusters=1"),
        ({"positive": 0}, "both classes need a cluster, got 0 positive of 10"),
        ({"positive": 10}, "both classes need a cluster, got 10 positive of 10"),
        ({"positive": []}, "both classes need a cluster, got 0 positive"),
        ({"positive": 11}, "positive clusters must be among 0 ... 9, got 10"),
        ({"positive": [0, -1]}, "positive clusters must be among 0 ... 9, got -1"),
        ({"samples": 0}, "samples must be at least 1, got samples=0"),
        ({"noise": -1.0}, "noise must be a standard deviation >= 0, got noise=-1.0"),
        ({"noise": np.nan}, "noise must be a standard deviation"),
        ({"signal": 0.0}, "signal must be positive, got signal=0.0"),
        ({"signal": np.inf}, "signal must be positive, got signal=inf"),
        ({"norms": -1.0}, "center norms must be positive"),
        ({"norms": [1.0, 2.0]}, "norms must be one number or 10 of them, got shape"),
        ({"correlation": 1.0}, "centers must be linearly independent"),
        ({"correlation": -0.5}, "centers must be linearly independent"),
        ({"correlation": np.eye(3)}, "correlation must be a number or a symmetric 10 x 10 matrix"),
        ({"correlation": np.nan}, "correlation must be a number"),
        ({"centers": np.ones((9, 3072))}, "centers must have one row for each of clusters=10, got 9 rows"),
        ({"centers": np.ones((10, 7))}, "centers must have 3072 columns, got 7"),
        ({"centers": np.full((10, 3072), np.nan)}, "centers must be finite, got 30720 NaN"),
        ({"features_per_sample": 6}, "features_per_sample must lie in 1 ... 5, the smaller class, got 6"),
        ({"features_per_sample": 0}, "features_per_sample must lie in 1 ... 5"),
        ({"coordinates": "polar"}, "coordinates must be auto, ambient or compact, got 'polar'"),
        ({"coordinates": "ambient", "placement": "corners"}, "placement must be random, axes or signs, got 'corners'"),
        ({"coordinates": "ambient", "placement": "signs", "correlation": 0.1}, "signs.* needs orthogonal centers"),
        ({"coordinates": "ambient", "placement": "signs", "dim": 3000}, "power of two >= clusters=10 that divides dim"),
        ({"coordinates": "ambient", "dim": 10**10}, "1000 x 10000000000 numbers does not fit in memory"),
        ({"coordinates": "compact", "reserve": 3000}, "need dim >= clusters . samples . reserve = 4010, got dim=3072"),
        ({"reserve": 0}, "reserve must be at least 1, got reserve=0"),
    ],
)
def test_an_impossible_sample_is_refused_in_one_sentence(setting: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint) as refusal:
        sample_clusters(**setting)
    assert "\n" not in str(refusal.value)


def test_fresh_points_may_not_be_none() -> None:
    with pytest.raises(InputError, match="samples must be at least 1"):
        sample_clusters(samples=5).resample(0, seed=0)


def test_a_network_wider_than_its_reserve_is_told_how_much_to_reserve() -> None:
    data = sample_clusters(clusters=2, samples=10, reserve=4)
    assert BinaryNetwork.random(data, neurons_per_class=2).neurons == 4
    with pytest.raises(InputError, match="has room for 4 neurons, got 6; pass reserve=6 to sample_clusters"):
        BinaryNetwork.random(data, neurons_per_class=3)
