"""What the chapters of the map are built from, against closed forms."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from featavg.analysis import alignment, averaging_index
from featavg.data import Labels, sample_clusters
from featavg.errors import InputError
from featavg.experiments.map import adversarial, geometry, granularity, learners, regime, samples, superposition
from featavg.experiments.map.optimum import nearest_center_network, optimal_radius
from featavg.experiments.trial import measured
from featavg.model import Activation, BinaryNetwork, averaging_network
from featavg.robustness import robust_radius
from featavg.sweep import run_sweep
from featavg.training import CrossEntropy, GradientDescent, Iterate, WorstInBall, train

K, DIM = 6, 150


@pytest.mark.parametrize("cosine", [0.0, 0.3, 0.9])
def test_the_nearest_center_rule_reaches_half_the_way_to_the_nearest_rival(cosine: float) -> None:
    data = sample_clusters(K, DIM, 10, correlation=cosine, seed=0)
    network = nearest_center_network(data.centers, data.center_labels, data.coordinates)
    found = robust_radius(network, data.centers, data.center_labels, readout="maximum")
    assert_allclose(found.lower, np.sqrt(DIM * (1 - cosine) / 2), rtol=2e-6)


def test_the_nearest_center_rule_knows_unequal_norms_and_the_signal() -> None:
    data = sample_clusters(2, DIM, 10, norms=[3.0, 4.0], signal=2.0, seed=0)
    at_centers = replace(data.resample(2, seed=1), x=2.0 * data.centers[[1]])
    at_centers = replace(at_centers, labels=data.labels.take(np.flatnonzero(data.cluster == 1)[:1]))
    assert optimal_radius(data, at_centers) == pytest.approx(5.0, rel=1e-6)  # 2·√(3² + 4²)/2


@pytest.mark.parametrize("mixing", [0.0, 0.5, 0.9])
def test_labels_may_be_granular_and_the_network_fragile(mixing: float) -> None:
    """Prop. 4.8: w_j = μ_j + r Σ_siblings μ_i is right about every label, with radius √(d/(2(1 + (s − 1)r²)))."""
    data = sample_clusters(K, DIM, 10, seed=0)
    network = granularity.combining_network(data, mixing)
    assert (network.predict(data.centers) == np.arange(K)).all()
    expected = granularity.mixed_radius(DIM, K, 1, mixing)
    for readout, labels in (("maximum", data.center_labels), (None, np.arange(K))):
        assert_allclose(robust_radius(network, data.centers, labels, readout=readout).lower, expected, rtol=2e-6)


def test_where_sub_labels_are_known_the_loss_is_cross_entropy_and_elsewhere_that_of_the_class() -> None:
    rng = np.random.default_rng(0)
    outputs, target, classes = rng.standard_normal((6, 4)), np.array([0, 1, 2, 3, 0, 2]), np.array([1, 1, 0, 0])
    known = np.array([True, True, True, False, False, False])
    found = granularity.PartlyLabelled(class_of=classes, known=known).derivative(outputs, target)
    assert_allclose(found[:3], CrossEntropy().derivative(outputs, target)[:3], atol=1e-14)
    shares = np.exp(outputs) / np.exp(outputs).sum(axis=1, keepdims=True)
    own = classes[target][:, None] == classes
    expected = shares - np.where(own, shares, 0) / (shares * own).sum(axis=1, keepdims=True)
    assert_allclose(found[3:], expected[3:], atol=1e-14)


@pytest.mark.parametrize(
    ("what", "value"),
    [("correlation", 0.5), ("norms", 3.0), ("sizes", 4.0), ("features_per_sample", 2), ("signal", 2.0)],
)
def test_averages_have_the_radius_of_the_closed_form(what: str, value: float) -> None:
    """f(p)/‖v‖ for v = Σ_j c_j y_j μ_j, c the sizes, at noise-free points p: none of the chapter's algebra."""
    config = geometry.Config(clusters=K, dim=DIM, samples=400)
    data = geometry.world(config, 0, what, value)
    sizes = config.spread(value) if what == "sizes" else np.ones(K)
    direction = (sizes * data.center_labels) @ data.centers
    points, labels = geometry.prototypes(data)
    radii = labels * (points @ direction) / np.linalg.norm(direction)
    averages, best = geometry.closed_forms(config, what, value)
    if what == "features_per_sample":
        assert_allclose(radii, averages[0], rtol=1e-9)
    else:
        assert_allclose(radii, averages, rtol=1e-9)
    gaps = np.linalg.norm(points[:, None] - points, axis=2) / 2
    nearest = np.where(labels[:, None] == labels, np.inf, gaps).min(axis=1)
    assert_allclose(np.unique(nearest.round(6)), np.unique(best.round(6)))


def test_the_averaging_network_is_that_linear_classifier() -> None:
    data = sample_clusters(K, DIM, 10, seed=0)
    averages, _ = geometry.closed_forms(geometry.Config(clusters=K, dim=DIM), "signal", 1.0)
    found = robust_radius(averaging_network(data), data.centers, data.center_labels)
    assert_allclose(found.lower, averages, rtol=2e-6)


@pytest.mark.parametrize("activation", [Activation(leak=0.3), Activation(power=2), Activation(power=3)])
def test_averages_have_the_same_radius_under_every_activation(activation: Activation) -> None:
    """φ is odd in z₊ − z₋ where both are on, so the boundary is z₊ = z₋: √(d/k) at a center."""
    data = sample_clusters(K, DIM, 10, coordinates="ambient", seed=0)
    network = replace(averaging_network(data), activation=activation)
    points = replace(data, x=data.centers, labels=Labels((data.center_labels > 0).astype(np.int64), np.array([-1, 1])))
    found = learners.radius_of(network, points, data)
    assert_allclose(found.upper, np.sqrt(DIM / K), rtol=2e-3)
    assert (found.lower > 0).all() == (activation.power == 1)


def test_powers_are_the_functions_that_are_attacked() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((20, 4))
    network = BinaryNetwork(rng.standard_normal((5, 4)), rng.standard_normal(5), rng.standard_normal((1, 5)), [0.2])
    cubes = replace(network.changed(biases=np.zeros(5), output_bias=[0.0]), activation=Activation(power=3))
    assert_allclose(learners.as_powers(cubes)(x), cubes.outputs(x)[:, 0], atol=1e-12)


def test_what_a_start_leaves_of_cosines() -> None:
    """w = w(0) + λ Σ_j μ_j/d: the formula of the chapter against weights made by hand."""
    config = regime.Config(clusters=10, dim=10**5, samples=50, test_points=2)
    data = config.data(0)
    start = BinaryNetwork.random(data, 5, seed=1, scale=10**-2.5, bias_scale=0.0)  # of length 1
    sums = np.stack([data.centers[data.center_labels == c].sum(axis=0) for c in start.neuron_class]) / data.dim
    network = start.changed(weights=start.weights + 300.0 * sums)
    found = regime.look(config, data, 0, start, network, 1.0)
    assert found["learned"] == pytest.approx(300.0)
    assert found["cosine"] == pytest.approx(0.904, abs=0.02)  # 1/√(1 + 10⁵/(5·300²))
    assert found["cosine_formula"] == pytest.approx(1.0, abs=0.02)


def test_what_sampling_leaves_of_cosines() -> None:
    """Sums of the points of a class, two hundred samples: 1/√(1 + 2k/n), and not 1/√(1 + k/n)."""
    left = []
    for seed in range(200):
        data = sample_clusters(10, 10**6, 100, seed=seed)
        total = data.x[data.y == 1].sum(axis=0)
        cosines = data.centers[:5] @ total / np.linalg.norm(total) / 1000
        left.append(cosines.mean() * np.sqrt(5))
    assert np.mean(left) == pytest.approx(samples.sampled_share(10, 100), abs=0.015)


def test_the_best_radius_of_crowded_centers() -> None:
    """Half the way to the nearest of ten random rivals in 160 dimensions, against its closed form."""
    rng, halves = np.random.default_rng(0), []
    for _ in range(200):
        units = rng.standard_normal((11, 160))
        units /= np.linalg.norm(units, axis=1, keepdims=True)
        halves.append(np.sqrt(2) * np.linalg.norm(units[1:] - units[0], axis=1).min() / 2)
    assert np.mean(halves) == pytest.approx(superposition.crowded_radius(20, 160), abs=0.005)


def test_the_index_of_cosines_is_that_of_coefficients_where_centers_are_orthogonal() -> None:
    data = sample_clusters(K, DIM, 10, seed=0)
    weights = np.random.default_rng(1).standard_normal((7, K)) @ data.centers
    network = BinaryNetwork(weights, np.zeros(7), [[1.0] * 4 + [-1.0] * 3], [0.0], coordinates=data.coordinates)
    found = superposition.cosine_index(alignment(network, data.centers), network.neuron_class, data.center_labels)
    assert found == pytest.approx(np.median(averaging_index(network, data)))


@pytest.mark.parametrize(("attack", "fools"), [(adversarial.FromBothSides, True), (WorstInBall, False)])
def test_ascent_from_both_sides_sees_neurons_that_are_off(attack: type[WorstInBall], fools: bool) -> None:
    """At a center of averages the other neuron is off: ascent from there alone needs √(2d/k), and not √(d/k)."""
    data = sample_clusters(K, DIM, 60, noise=1e-3, coordinates="ambient", seed=0)
    network, moved = averaging_network(data), []

    def keep(at: Iterate, rows: None) -> np.ndarray:
        moved.append(attack(1.1 * np.sqrt(DIM / K), steps=10)(at, rows))
        return moved[-1]

    train(network, data, GradientDescent(steps=1), perturb=keep)
    assert (network.margins(moved[0], data.y) <= 0).all() == fools


def test_a_sweep_runs_the_same_measure(tmp_path: Path) -> None:
    tiny = {"samples": [10, 20], "dims": [40], "test_points": 4, "steps": 20}
    spec = {
        "function": "featavg.experiments.trial:measured",
        "base": {"chapter": "samples", **tiny},
        "axes": {"case": ["n = 10, d = 40", "n = 20, d = 40"]},
        "first_seed": 1001,
    }
    found = run_sweep(spec, tmp_path / "store", workers=0)
    config = samples.Config(samples=(10, 20), dims=(40,), test_points=4, steps=20)
    assert not found.failed
    assert found.column("radius").tolist() == [samples.measure(config, 1001, (n, 40))["radius"] for n in (10, 20)]


def test_arrays_of_a_chapter_become_named_numbers() -> None:
    tiny = {"samples": 60, "dim": 200, "test_points": 4, "labels": [2], "moments": [5, 10]}
    found = measured("granularity", seed=1001, case="2 labels", **tiny)
    assert {"radius at step 5", "radius at step 10"} <= set(found)


@pytest.mark.parametrize(
    ("chapter", "case", "fields", "said"),
    [
        ("sampels", None, {}, "did you mean samples"),
        ("samples", "n = 1", {}, "case of chapter 'samples' must be one of"),
        ("averaging", None, {"neurons": 3}, "Config of chapter 'averaging' has"),
        ("refine_images", None, {}, "prepares its cases"),
    ],
)
def test_what_is_no_chapter_case_or_field_is_told(chapter: str, case: str | None, fields: dict, said: str) -> None:
    with pytest.raises(InputError, match=said):
        measured(chapter, seed=0, case=case, **fields)
    assert said in measured.check(chapter=chapter, case=case, **fields)
