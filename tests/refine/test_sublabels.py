"""Sub-labels: planted clusters are found with their number, one Gaussian has none, and bad input gets one sentence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from featavg import InputError
from featavg.refine import discover_sublabels, hidden_features
from featavg.refine.clusters import choose_count, cluster, k_means, means, merge_tiny, stability


def planted(clusters: int, dim: int, samples: int = 400, seed: int = 0) -> tuple[Any, Any]:
    """Clusters at the corners of a simplex, or on a grid where there is no room for one; noise of unequal axes."""
    rng = np.random.default_rng(seed)
    if dim >= clusters:
        centers = 9.0 * np.linalg.qr(rng.standard_normal((dim, dim)))[0][:clusters]
    else:
        centers = 9.0 * np.stack(np.unravel_index(np.arange(clusters), (4,) * dim), axis=1).astype(float)
    label = rng.integers(clusters, size=samples)
    return centers[label] + rng.standard_normal((samples, dim)) * np.linspace(0.7, 1.2, dim), label


@pytest.mark.parametrize("dim", [2, 20, 300])
@pytest.mark.parametrize("clusters", [1, 2, 5, 10])
def test_the_planted_number_is_chosen(clusters: int, dim: int) -> None:
    x, _ = planted(clusters, dim)
    assert choose_count(x, 1, 12, seed=1).chosen == clusters


@pytest.mark.parametrize("dim", [2, 6, 30])
def test_one_gaussian_of_any_shape_has_one_cluster(dim: int) -> None:
    for seed in range(12):
        rng = np.random.default_rng(seed)
        x = rng.standard_normal((250, dim)) @ rng.standard_normal((dim, dim))
        assert choose_count(x, 1, 5, seed=seed).chosen == 1


@pytest.mark.parametrize("method", ["k-means", "gaussian-mixture"])
def test_sub_classes_are_found_inside_their_classes(method: Any) -> None:
    x, label = planted(6, 60, samples=600)
    y = np.where(label < 2, "a", "b")
    found = discover_sublabels(x, y, {"a": 2, "b": 4}, method=method)
    assert adjusted_rand_score(found.labels, label) > 0.99
    assert found.classes[found.class_of[found.labels]].tolist() == y.tolist()
    assert found.per_class.tolist() == [2, 4]
    assert found.sizes.sum() == 600
    assert found.stability > 0.99
    assert found.silhouette > 0.3
    np.testing.assert_allclose(found.centers[0], x[found.labels == 0].mean(axis=0))
    np.testing.assert_array_equal(found.assign(x, y), found.labels)


def test_the_same_seed_gives_the_same_labels_and_auto_reports_its_curve() -> None:
    x, label = planted(4, 10)
    one, two = (discover_sublabels(x, label % 2, (1, 5), seed=3) for _ in range(2))
    np.testing.assert_array_equal(one.labels, two.labels)
    assert one.per_class.tolist() == [2, 2]
    assert one.counts[0].tried[np.argmax(one.counts[0].gaps)] == 2


def test_cuts_through_one_cloud_are_not_stable() -> None:
    x = np.random.default_rng(0).standard_normal((400, 8))
    codes, four = np.zeros(400, dtype=int), np.zeros(4, dtype=int)
    assert stability(x, four, codes, "k-means", seed=0) < 0.5


def test_means_are_weighted_means() -> None:
    rng = np.random.default_rng(0)
    x, labels, weights = rng.normal(size=(50, 3)), np.arange(50) % 4, rng.uniform(1, 2, size=50)
    expected = [np.average(x[labels == j], axis=0, weights=weights[labels == j]) for j in range(4)]
    np.testing.assert_allclose(means(x, labels, weights), expected)


def test_batches_spread_hardly_more_than_whole_passes() -> None:
    """k-means of many points learns from batches; scikit-learn's Lloyd iterations are the reference."""
    x = np.random.default_rng(0).standard_normal((6000, 20))
    batched, whole = k_means(x, 40, seed=0), KMeans(40, n_init=1, random_state=0).fit(x)
    assert type(batched) is not KMeans
    assert batched.inertia_ < 1.03 * whole.inertia_


def test_given_sub_labels_are_completed_by_the_nearest_mean_and_other_classes_are_searched() -> None:
    x, label = planted(6, 60, samples=600)
    y = np.where(label < 2, "a", "b")
    some = [f"s{j}" if j < 2 and i % 3 == 0 else None for i, j in enumerate(label)]
    found = discover_sublabels(x, y, given=some)
    assert found.names.tolist() == ["s0", "s1", "b.1", "b.2", "b.3", "b.4"]
    assert adjusted_rand_score(found.labels, label) > 0.99
    assert len(found.counts) == 1
    with pytest.raises(InputError, match="every sub-label must lie in one class, got 'all' in 2 of them"):
        discover_sublabels(x, y, given=["all"] * 600)


def test_tiny_clusters_join_the_nearest_and_equal_points_are_one() -> None:
    x = np.array([[0.0]] * 5 + [[10.0]] * 5 + [[9.0]])
    np.testing.assert_array_equal(merge_tiny(x, np.repeat([0, 1, 2], [5, 5, 1]), 2), np.repeat([0, 1], [5, 6]))
    assert cluster(np.zeros((6, 2)), 3, "k-means", 0).max() == 0


def test_hidden_features_are_those_of_the_hidden_layer() -> None:
    np.testing.assert_array_equal(hidden_features(([[1.0], [-1.0]], [0.5, 0], [[1.0, 1.0]], [0]), [[2.0]]), [[2.5, 0]])


X = np.arange(12.0).reshape(6, 2)
Y = [0, 0, 0, 1, 1, 1]


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((X, [0] * 6), {}, "at least 2 classes, got 1 class"),
        ((np.ones((6, 2)), Y), {}, "same values everywhere"),
        ((np.where(X == 3, np.nan, X), Y), {}, "1 NaN"),
        ((X, Y, 4), {}, "class 0 has 3 points, fewer than 4 sub-labels"),
        ((X, Y, (3, 2)), {}, "a range must rise, got 3 to 2"),
        ((X, Y, {0: 1}), {}, "no number for 1"),
        ((X, Y, "many"), {}, "got 'many'"),
        ((X, Y, 1), {"method": "magic"}, "one of k-means, gaussian-mixture, got 'magic'"),
        ((X, Y, 1), {"space": "moon"}, "inputs or pca, got 'moon'"),
        ((X, Y[:3], 1), {}, "y must be one for each of 6 points"),
    ],
)
def test_bad_input_gets_one_sentence(arguments: Any, options: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        discover_sublabels(*arguments, **options)


def test_labels_not_seen_before_are_refused() -> None:
    with pytest.raises(InputError, match=r"labels among \[0, 1\], got 7; map yours"):
        discover_sublabels(X, Y, 1).assign(X[:1], [7])
