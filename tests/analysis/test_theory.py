"""Closed forms against computations that know nothing of them."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import minimize

from featavg import (
    BinaryNetwork,
    GradientFlow,
    InputError,
    MulticlassNetwork,
    averaging_network,
    decoupled_network,
    filtered_network,
    normalized_margin,
    sample_clusters,
    train,
)
from featavg.analysis import theory
from featavg.analysis.theory import Setting
from featavg.arrays import Array
from featavg.data import Dataset
from featavg.model import Network


@pytest.fixture(scope="module")
def data() -> Dataset:
    return sample_clusters(clusters=5, dim=400, samples=10, positive=2, signal=1.3, noise=0.7, seed=0)


@pytest.fixture(scope="module")
def setting(data: Dataset) -> Setting:
    return Setting.of(data)


def nearest(matrix: Array, bound: Array, start: Array) -> float:
    """Distance from `start` to the points u with matrix @ u >= bound; infinite if there are none."""
    size = float(np.linalg.norm(start))  # the solver likes numbers about 1
    found = minimize(
        lambda u: ((u - start / size) ** 2).sum(),
        start / size,
        jac=lambda u: 2 * (u - start / size),
        constraints={"type": "ineq", "fun": lambda u: matrix @ u - bound / size, "jac": lambda u: matrix},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    met = (matrix @ found.x - bound / size).min() > -1e-7
    return size * float(np.linalg.norm(found.x - start / size)) if found.success and met else np.inf


def brute_radius(network: Network, x: Array, y: int) -> float:
    """Distance of x to y f <= 0: one convex problem for every pattern of active neurons."""
    basis = np.linalg.qr(network.weights.T)[0]
    weights, start = network.weights @ basis, x @ basis
    lengths = np.linalg.norm(weights, axis=1)
    best = np.inf
    for pattern in product((1.0, -1.0), repeat=network.neurons):
        signs = np.array(pattern)
        on = network.second[0] * (signs > 0)
        against, level = -y * on @ weights, y * on @ network.biases
        scale = max(float(np.linalg.norm(against)), 1e-12)
        matrix = np.vstack([signs[:, None] * weights / lengths[:, None], against / scale])
        bound = np.append(-signs * network.biases / lengths, level / scale)
        best = min(best, nearest(matrix, bound, start))
    return best


@pytest.mark.parametrize("cluster", [0, 4])
def test_radius_of_the_averaging_network_at_a_center(data: Dataset, setting: Setting, cluster: int) -> None:
    center, label = data.signal * data.centers[cluster], int(data.center_labels[cluster])
    assert brute_radius(averaging_network(data), center, label) == pytest.approx(
        theory.averaging_radius(setting), rel=1e-5
    )


@pytest.mark.parametrize("cluster", [0, 4])
@pytest.mark.parametrize("threshold", [0.05, 0.25, 0.45, 0.9])
def test_radius_of_the_filtered_network(data: Dataset, setting: Setting, cluster: int, threshold: float) -> None:
    center, label = data.signal * data.centers[cluster], int(data.center_labels[cluster])
    expected = theory.filtered_radius(setting, threshold, label)
    assert brute_radius(filtered_network(data, threshold), center, label) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("cluster", [0, 4])
def test_radius_of_summed_logits(data: Dataset, setting: Setting, cluster: int) -> None:
    center, label = data.signal * data.centers[cluster], int(data.center_labels[cluster])
    # Summed logits of the decoupled network are the filtered one with threshold 0.
    expected = theory.summed_logits_radius(setting, label)
    assert brute_radius(filtered_network(data, 0.0), center, label) == pytest.approx(expected, rel=1e-5)


def test_no_radius_is_larger_than_that_of_the_maximum_read_out(data: Dataset, setting: Setting) -> None:
    weights = decoupled_network(data).weights
    basis = np.linalg.qr(weights.T)[0]
    features = weights @ basis
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    own, rivals = np.flatnonzero(data.center_labels > 0), np.flatnonzero(data.center_labels < 0)
    start = data.signal * data.centers[0] @ basis
    radius = min(
        nearest(np.vstack([features[p] - features[own], features[p]]), np.zeros(len(own) + 1), start) for p in rivals
    )
    assert radius == pytest.approx(theory.optimal_radius(setting), rel=1e-5)
    half = np.linalg.norm(data.signal * (data.centers[0] - data.centers[4])) / 2
    assert theory.optimal_radius(setting) == pytest.approx(half)


def test_the_best_threshold_reaches_the_best_radius() -> None:
    setting = Setting(clusters=10, dim=3072)
    thetas = np.linspace(0, 0.9, 2001)
    radii = np.array([theory.filtered_radius(setting, theta) for theta in thetas])
    best = thetas[radii > theory.optimal_radius(setting) * (1 - 1e-12)]
    assert best.min() == pytest.approx(np.sqrt(1.5) - 1, abs=1e-3)
    assert best.max() == pytest.approx(1 - 1 / np.sqrt(2), abs=1e-3)
    assert radii.max() == pytest.approx(theory.optimal_radius(setting))


def test_robust_accuracy_of_averaging_over_noisy_points() -> None:
    data = sample_clusters(clusters=6, dim=3072, samples=5, signal=1.5, noise=2.0, seed=0)
    test = data.resample(40_000, seed=1)
    network = averaging_network(data)
    way = network.second[0] @ network.weights  # both neurons on: f is linear
    distance = test.y * (test.x @ way) / np.linalg.norm(way)
    radii = [20.0, 32.0, 34.0, 36.0]
    measured = [(distance > radius).mean() for radius in radii]
    assert theory.averaging_accuracy(Setting.of(data), radii) == pytest.approx(measured, abs=0.01)


@pytest.mark.parametrize("split", [5, 3])
def test_margin_of_averaging_networks(split: int) -> None:
    data = sample_clusters(clusters=10, dim=400, samples=10, positive=split, signal=1.3, seed=0)
    weights = np.repeat(averaging_network(data).weights, 4, axis=0)
    network = BinaryNetwork(weights, np.zeros(8), np.repeat([[0.25, -0.25]], 4, axis=1), np.zeros(1))
    measured = normalized_margin(network, data.signal * data.centers, data.center_labels)
    assert measured == pytest.approx(theory.averaging_margin(Setting.of(data), 4), rel=1e-9)


def test_margin_of_decoupled_networks() -> None:
    data = sample_clusters(clusters=10, dim=400, samples=10, signal=1.3, seed=0)
    weights = np.repeat(decoupled_network(data).weights, 2, axis=0)  # m = 10 per class, two for each feature
    second = np.repeat(data.center_labels, 2)[None] / 10
    network = BinaryNetwork(weights, np.zeros(20), second, np.zeros(1))
    measured = normalized_margin(network, data.signal * data.centers, data.center_labels)
    assert measured == pytest.approx(theory.decoupled_margin(Setting.of(data), 10), rel=1e-9)


def test_sampling_noise_alone_explains_cosine_and_residual() -> None:
    """A neuron that adds up the points of its class with equal weights."""
    cosines, residuals = [], []
    for seed in range(20):
        data = sample_clusters(clusters=6, dim=3072, samples=600, noise=2.0, signal=1.5, seed=seed)
        own = data.y > 0
        w = data.x[own].sum(axis=0)
        positive = data.centers[data.center_labels > 0]
        cosines.append((w @ positive.T).mean() / np.linalg.norm(w) / np.sqrt(3072))
        scale = data.signal * 3072 * 100  # λ: 100 points in each cluster
        residuals.append(np.linalg.norm(data.noise[own].sum(axis=0)) * np.sqrt(3072) / scale)
    setting = Setting(6, 3072, 1.5, 2.0, 600)
    assert np.mean(cosines) == pytest.approx(theory.averaging_cosine(setting), abs=0.005)
    assert np.mean(residuals) == pytest.approx(theory.residual(setting), rel=0.02)


def test_the_window_of_training_times_opens_where_it_should() -> None:
    """1/η = d² = k²⁰ <= exp(√k) first holds with equality, on the branch of large k."""
    k = theory.first_clusters_with_a_time_window()
    assert np.sqrt(k) == pytest.approx(20 * np.log(k), rel=1e-9)
    assert np.sqrt(2 * k) > 20 * np.log(2 * k)


def test_the_setting_is_read_off_the_data(data: Dataset, setting: Setting) -> None:
    assert setting == Setting(clusters=5, dim=400, signal=1.3, noise=0.7, samples=10, positive=2)
    assert setting.class_sizes == (2, 3)
    assert Setting(clusters=5, dim=9).class_sizes == (3, 2)
    assert theory.proved_radius(setting) == pytest.approx(2.0)


@pytest.mark.parametrize("change", [{"correlation": 0.2}, {"norms": 19.0}])
def test_other_centers_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="need orthogonal centers of norm √dim; these are not"):
        Setting.of(sample_clusters(clusters=4, dim=400, samples=5, **change))


def test_decoupled_growth_solves_its_equation_of_motion() -> None:
    setting, share = Setting(clusters=4, dim=50, signal=1.3), np.array([0.2, 0.4])
    times = np.geomspace(1e-3, 10, 5)
    found = theory.decoupled_growth(setting, times[:, None], 2, share)
    rate = setting.signal * setting.dim * share / 2

    def motion(_: float, growth: Array) -> Array:
        return rate * 3 / (np.exp(setting.signal * growth) + 3)

    solved = solve_ivp(motion, (0, times[-1]), [0.0, 0.0], t_eval=times, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(found, solved.y.T, rtol=1e-7)
    late = theory.decoupled_growth(setting, 1e300, 2)
    assert late == pytest.approx(np.log(3 * setting.signal**2 * 50 / 4 / 2 * 1e300) / setting.signal)


def test_a_flow_without_noise_grows_by_that_law() -> None:
    data = sample_clusters(clusters=4, dim=60, samples=40, noise=1e-6, seed=0)
    start, times = MulticlassNetwork.random(data, 3, seed=1), [0.1, 10.0, 1e4]
    # Every neuron is on at its class and off at the others: without noise nothing else would wake it.
    start = start.changed(weights=1e-9 * (1.1 * np.eye(4) - 0.1)[start.neuron_class] @ data.centers)
    run = train(start, data, GradientFlow(time=1e4, accuracy=0.02), save_at=times)
    for j in range(4):
        own = run.at(-1).neuron_class == j
        grown = [float((run.at(t).weights[own] @ data.centers[j]).mean()) for t in (-3, -2, -1)]
        law = theory.decoupled_growth(Setting.of(data), times, 3, np.mean(data.cluster == j))
        np.testing.assert_allclose(grown, law, rtol=2e-3)
