"""The experiments on frozen features at tiny sizes, and their parts against independent computations."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

import featavg as fa
from featavg import Points
from featavg.deep import SmallCNN, feature_data
from featavg.experiments import Registry
from featavg.experiments.images import cifar_features, transfer, usefulness_cifar
from featavg.experiments.images import heads as feature_heads
from featavg.experiments.paper import usefulness
from featavg.figures import draw

TINY = {"images": "digits", "train": 200, "test": 120, "steps": 100, "radius_points": 10, "seeds": 2}
CONFIGS = {
    cifar_features: cifar_features.Config(**TINY),
    transfer: transfer.Config(**TINY, attacked=8, attack_steps=20, walk_steps=4),
    usefulness: usefulness.Config(points=500, radius_points=10, seeds=2),
    usefulness_cifar: usefulness_cifar.Config(**TINY),
}


@pytest.fixture(autouse=True)
def small_backbone(monkeypatch):
    for place in ("featavg.deep.cifar_backbone", "featavg.deep.imagenet_backbone"):
        monkeypatch.setattr(place, lambda: SmallCNN(10, shape=(1, 8, 8), hidden=24, seed=0).eval())


@pytest.mark.parametrize("module", CONFIGS, ids=lambda module: module.__name__.rpartition(".")[2])
def test_a_tiny_run_gives_a_record_that_can_be_drawn(module):
    told, name = [], module.__name__.rpartition(".")[2]
    record = Registry()[name].run(CONFIGS[module], lambda share, _: told.append(share))
    assert record.name == name
    assert told == sorted(told)
    assert told[-1] == 1
    assert 5 <= len(record.claims) <= 12
    for drawing in record.evidence.drawings:
        assert draw(drawing, record.evidence.table).get_label() == drawing.caption


@pytest.fixture(scope="module")
def orthogonal():
    """Ten orthogonal features, five points each, far from noise: what the theory speaks of."""
    rng = np.random.default_rng(0)
    cluster = np.repeat(np.arange(10), 5)
    return feature_data(np.eye(10, 30)[cluster] * 4 + 0.01 * rng.standard_normal((50, 30)), cluster, [1] * 5 + [-1] * 5)


@pytest.fixture
def heads(orthogonal):
    """Heads as built by hand: every coarse neuron the sum of its class, every fine one its feature."""
    coarse = np.repeat([orthogonal.centers[:5].sum(axis=0), orthogonal.centers[5:].sum(axis=0)], 15, axis=0)
    fine = np.repeat(orthogonal.centers, 3, axis=0)
    second = np.repeat([[1.0, -1.0]], 15, axis=1).reshape(1, 30) / 15
    blocks = np.repeat(np.eye(10), 3, axis=1) / 3
    return feature_heads.Heads(
        fa.BinaryNetwork(coarse, np.zeros(30), second, np.zeros(1)),
        fa.MulticlassNetwork(fine, np.zeros(30), blocks, np.zeros(10), orthogonal.center_labels),
    )


def test_heads_of_the_theory_have_its_cosines_indices_and_radii(heads, orthogonal):
    blocks = feature_heads.cosine_blocks(heads, orthogonal)
    assert [blocks["same"], blocks["diagonal"]] == pytest.approx([5**-0.5, 1], abs=0.01)
    assert [blocks["cross"], blocks["off"]] == pytest.approx([0, 0], abs=0.01)
    found = feature_heads.averaging_of(heads, orthogonal)
    assert [found["coarse_raw_index"], found["fine_raw_index"]] == pytest.approx([1, 0], abs=0.01)
    assert found["coarse_index"] == pytest.approx(1, abs=0.01)
    assert found["fine_index"] < 0.1
    assert found["coarse_p"] < 1e-3
    # At a center: √(d/k) and √(d/2) of the theory with √d = 4, here 4/√10 and 4/√2.
    centers = Points(orthogonal.centers, orthogonal.center_labels, np.arange(10))
    radii = feature_heads.head_radii(heads, centers, 10)
    assert [radii["coarse_mean"], radii["fine_mean"]] == pytest.approx([4 / 10**0.5, 4 / 2**0.5], rel=0.02)
    assert radii["exact"] == 1
    assert radii["ratio"] == pytest.approx(5**0.5, rel=0.02)


def test_neurons_that_no_point_of_their_class_wakes_are_dead_and_leave_no_mark(heads, orthogonal):
    weights = heads.fine.weights.copy()
    weights[4] = orthogonal.centers[7] - orthogonal.centers[1]  # of class 1, on at class 7 alone
    fine = heads.fine.changed(weights=weights)
    assert np.flatnonzero(~feature_heads.live_neurons(fine, orthogonal)).tolist() == [4]
    found = cifar_features.levels(replace(heads, fine=fine), orthogonal)
    assert found["live"].tolist() == [3, 2, *[3] * 8]
    assert found["live_only_diagonal"] == pytest.approx(np.ones(10), abs=0.01)
    # Two neurons along μ_1 and one along μ_7 − μ_1: the mean is along μ_1 + μ_7.
    assert feature_heads.feature_cosines(fine, orthogonal)[1, 1] == pytest.approx(2**-0.5, abs=0.01)
    assert found["live_slope"] == pytest.approx(1 - 2**-0.5, abs=0.02)
    assert found["live_only_slope"] == pytest.approx(0, abs=0.01)


def test_the_level_formula_is_that_of_grown_and_ungrown_random_neurons():
    rng = np.random.default_rng(0)
    start, feature = rng.standard_normal((3, 100_000)), np.zeros(100_000)
    feature[0] = np.sqrt(3 * 100_000) / 2.5  # so that ν, what is left of three starts over the growth, is 2.5
    for live in range(4):
        mean = (start.sum(axis=0) + live * feature) / 3
        cosine = mean @ feature / np.linalg.norm(mean) / np.linalg.norm(feature)
        assert cosine == pytest.approx(float(cifar_features.level(np.array(live), 2.5)), abs=0.01)


@pytest.mark.parametrize(("clusters", "dim"), [(4, 50), (10, 300), (6, 10**7)])
def test_closed_forms_of_usefulness_are_those_of_a_sample(clusters, dim):
    config = usefulness.Config(clusters=clusters, dim=dim, points=40_000)
    found, theory = usefulness.measured(usefulness.sample(config, dim, 7)), usefulness.closed_forms(config, dim)
    for kind in usefulness.KINDS:
        # At √50 = 7 deviations between centers a rival of the own class overtakes now and then.
        assert found[kind].useless == pytest.approx(theory[kind].useless, rel=0.03), kind
        assert found[kind].rho == pytest.approx(theory[kind].rho, abs=0.01), kind


def test_a_linear_feature_loses_what_its_worst_perturbation_takes():
    rng = np.random.default_rng(0)
    x, y, w = rng.standard_normal((500, 3)) + 1, rng.choice([-1, 1], 500), np.array([2.0, -1.0, 2.0])
    found = usefulness.linear(x @ w / 3, y)
    mean, deviation = (x @ w).mean(), (x @ w).std()
    perturbed = x - 0.7 * y[:, None] * w / 3
    assert found.robust(np.array(0.7)) == pytest.approx(np.mean(y * (perturbed @ w - mean)) / deviation)
    weight = rng.integers(1, 4, 500)
    repeated = usefulness.linear(np.repeat(x @ w / 3, weight), np.repeat(y, weight))
    assert usefulness.linear(x @ w / 3, y, weight).rho == pytest.approx(repeated.rho)


def test_the_maximum_of_single_features_loses_what_its_worst_perturbation_takes():
    test = usefulness.sample(usefulness.Config(clusters=4, points=12), 400, 3)
    scores = test.x @ test.centers.T / 20  # all that the decision sees; a perturbation moves them by as much

    def decision(seen):
        return seen[:2].max() - seen[2:].max()

    def worst(seen, y):
        inside = {"type": "ineq", "fun": lambda delta: 9 - delta @ delta}
        starts = np.random.default_rng(0).standard_normal((6, 4))
        found = [minimize(lambda d: y * decision(seen + d), s, constraints=inside, method="SLSQP") for s in starts]
        return min(end.fun for end in found if end.x @ end.x < 9.001)

    clean = np.array([decision(seen) for seen in scores])
    least = [worst(seen, y) - y * clean.mean() for seen, y in zip(scores, test.y, strict=True)]
    expected = np.mean(least) / clean.std()
    assert usefulness.measured(test)["maximum"].robust(np.array(3.0)) == pytest.approx(expected, abs=2e-3)


def test_the_largest_normal_has_its_known_moments():
    # Of three: 3/(2√π) and 1 + √3/(2π) − 9/(4π).
    expected = 1.5 / np.sqrt(np.pi), 1 + np.sqrt(3) / (2 * np.pi) - 9 / (4 * np.pi)
    assert usefulness.largest_normal(3) == pytest.approx(expected, abs=1e-9)


def test_the_nearest_mean_network_decides_by_distance():
    rng = np.random.default_rng(0)
    data = feature_data(rng.standard_normal((40, 3)) + 2, np.arange(40) % 4, [1, 1, -1, -1])
    distances = np.linalg.norm(data.x[:, None] - data.centers, axis=2)
    assert np.array_equal(usefulness_cifar.nearest_mean(data).predict(data.x), distances.argmin(axis=1))
    # Two means alone: the boundary is their bisector, at (‖x − μ_2‖² − ‖x − μ_1‖²)/(2‖μ_1 − μ_2‖).
    two = feature_data(data.x, np.arange(40) % 2, [1, -1])
    first, second = np.linalg.norm(two.x[:, None] - two.centers, axis=2).T
    away = (second**2 - first**2) / 2 / np.linalg.norm(two.centers[0] - two.centers[1])
    found = fa.robust_radius(usefulness_cifar.nearest_mean(two), two.x, np.sign(away).astype(int), readout="maximum")
    assert found.upper == pytest.approx(np.abs(away), rel=1e-5, abs=1e-5)
