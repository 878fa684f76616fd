"""The exact radius against closed forms, and what it may not depend on."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from featavg import InputError, averaging_network, decoupled_network, filtered_network, sample_clusters
from featavg.model import BinaryNetwork, MulticlassNetwork
from featavg.robustness import Budget, exact, robust_radius, targeted_radius
from featavg.robustness.first_search import search

CLOSE = {"rtol": 3e-6}


@pytest.fixture(scope="module")
def data():
    return sample_clusters(clusters=6, dim=300, samples=10, seed=0)


def random_binary(rng, neurons=8, dim=6):
    return BinaryNetwork(
        rng.standard_normal((neurons, dim)),
        rng.standard_normal(neurons),
        rng.standard_normal((1, neurons)),
        rng.standard_normal(1),
    )


@pytest.mark.parametrize("positive", [1, 2, 3, 5])
def test_averaging_network_at_a_center(positive):
    """√(d/k), for any split of the classes."""
    data = sample_clusters(clusters=6, dim=300, samples=10, positive=positive, seed=0)
    radius = robust_radius(averaging_network(data), data.centers, data.center_labels)
    assert_allclose(radius.upper, np.sqrt(300 / 6), **CLOSE)
    assert set(radius.status) == {"exact"}


@pytest.mark.parametrize(("readout", "others"), [("maximum", 1), ("summed-logits", 3)])
def test_decoupled_network_at_a_center(data, readout, others):
    """√(d/2) for the maximum, √(d/(k_other + 1)) for summed logits."""
    radius = robust_radius(decoupled_network(data), data.centers, data.center_labels, readout=readout)
    assert_allclose(radius.upper, np.sqrt(300 / (others + 1)), **CLOSE)
    assert radius.verify().all()


def test_decoupled_network_argmax_and_targeted(data):
    """√(d/2) from any center to any other class, so to the nearest."""
    network = decoupled_network(data)
    label = np.arange(6)
    radius = robust_radius(network, data.centers, label)
    toward = targeted_radius(network, data.centers, label, (label + 1) % 6)
    assert_allclose(radius.upper, np.sqrt(150), **CLOSE)
    assert_allclose(toward.upper, np.sqrt(150), **CLOSE)
    assert toward.verify().all()


@pytest.mark.parametrize("threshold", [0.1, 0.25, 0.29, 0.4])
def test_filtered_network_at_a_center(data, threshold):
    """√d · min(1 − θ, min_p (1 + (p − 1)θ)/√(p + 1))."""
    radius = robust_radius(filtered_network(data, threshold), data.centers, data.center_labels)
    shares = [1 - threshold] + [(1 + (p - 1) * threshold) / np.sqrt(p + 1) for p in (1, 2, 3)]
    assert_allclose(radius.upper, np.sqrt(300) * min(shares), **CLOSE)


def test_a_linear_network():
    """|f|/‖w‖, where one neuron cannot die nearer; ‖·‖₁ in ℓ∞."""
    network = ([[3.0, 4.0]], [100.0], [[1.0]], [-90.0])
    assert_allclose(robust_radius(network, [[0.0, 0.0]], [1]).upper, 2.0, **CLOSE)
    assert_allclose(robust_radius(network, [[0.0, 0.0]], [1], norm="linf").upper, 10 / 7, **CLOSE)


def test_a_targeted_radius_is_never_below_the_radius():
    rng = np.random.default_rng(3)
    network = MulticlassNetwork(
        rng.standard_normal((7, 5)), rng.standard_normal(7), rng.standard_normal((4, 7)), rng.standard_normal(4)
    )
    x = rng.standard_normal((5, 5))
    y = network.predict(x)
    toward = [targeted_radius(network, x, y, (y + step) % 4).upper for step in (1, 2, 3)]
    assert_allclose(robust_radius(network, x, y).upper, np.min(toward, axis=0), **CLOSE)


@pytest.mark.parametrize("change", ["rotate", "scale", "permute", "split"])
def test_invariance(change):
    rng = np.random.default_rng(7)
    network, x = random_binary(rng), rng.standard_normal((6, 6))
    y = np.where(network.score(x) >= 0, 1, -1)
    weights, biases, second, constant = network.weights, network.biases, network.second, network.output_bias
    turn = np.linalg.qr(rng.standard_normal((6, 6)))[0]
    order = rng.permutation(8)
    halves = np.concatenate([second * 0.3, second * 0.7], axis=1)
    other = {
        "rotate": (weights @ turn, biases, second, constant),
        "scale": (weights, biases, 1e4 * second, 1e4 * constant),
        "permute": (weights[order], biases[order], second[:, order], constant),
        "split": (np.tile(weights, (2, 1)), np.tile(biases, 2), halves, constant),
    }[change]
    moved = x @ turn if change == "rotate" else x
    assert_allclose(robust_radius(other, moved, y).upper, robust_radius(network, x, y).upper, rtol=1e-6)


def test_wrong_tied_and_hopeless_points():
    """Wrong and tied points have radius 0 at x itself; a network that is positive everywhere has radius ∞."""
    radius = robust_radius(([[1.0]], [0.0], [[1.0]], [0.0]), [[-1.0], [2.0], [2.0]], [1, -1, 1])
    assert_allclose(radius.upper, [0.0, 0.0, 2.0])
    assert_allclose(radius.witness[:2], [[-1.0], [2.0]])
    positive = robust_radius(([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0], [[1.0, 1.0]], [0.1]), [[1.0, 1.0]], [1])
    assert positive.lower[0] == positive.upper[0] == np.inf
    assert positive.status == ("exact",)
    assert np.isnan(positive.witness).all()
    assert positive.verify().all()


def test_nothing_found_is_not_infinity():
    """f = 0.1 + Σ|z_j| − Σ ReLU((z_j + z_{j+1})/2) > 0 has too many subsets to prove empty: open."""
    eye = np.eye(13)
    weights = np.vstack([eye, -eye, 0.5 * (eye + np.roll(eye, 1, axis=1))])
    second = np.repeat([1.0, 1.0, -1.0], 13)[None]
    radius = robust_radius((weights, np.zeros(39), second, [0.1]), np.ones((1, 13)), [1], budget=Budget(nodes=50))
    assert radius.upper[0] == np.inf
    assert np.isfinite(radius.lower[0])
    assert radius.status[0].startswith("open")
    assert radius.verify().all()


def test_a_budget_ends_honestly():
    """One node does not close a wide random network: the bracket is open, says why, and still verifies."""
    rng = np.random.default_rng(1)
    network = random_binary(rng, neurons=60, dim=30)
    x = rng.standard_normal((3, 30))
    y = np.where(network.score(x) >= 0, 1, -1)
    short = robust_radius(network, x, y, budget=Budget(nodes=1))
    long = robust_radius(network, x, y)
    assert "open: budget of 1 nodes" in short.status
    assert short.verify().all()
    assert (short.lower <= long.upper).all()
    assert (long.lower <= short.upper).all()


def test_a_failing_solver_spoils_one_point_only(monkeypatch):
    """Nothing is claimed where the solver gave up: lower 0, the reason in the status, the other points as ever."""
    rng = np.random.default_rng(1)
    network = random_binary(rng, neurons=60, dim=30)
    x = rng.standard_normal((4, 30))
    y = np.where(network.score(x) >= 0, 1, -1)
    healthy = robust_radius(network, x, y)
    calls = []

    def failing(*arguments):
        calls.append(1)
        if len(calls) == 1:
            raise RuntimeError("too many iterations")
        return search(*arguments)

    monkeypatch.setattr(exact, "search", failing)
    radius = robust_radius(network, x, y)
    failed = [status == "failed: too many iterations" for status in radius.status]
    assert sum(failed) == 1
    assert radius.lower[failed] == 0.0
    assert radius.verify().all()
    assert_allclose(radius.upper[~np.array(failed)], healthy.upper[~np.array(failed)])


def test_processes_change_nothing():
    rng = np.random.default_rng(5)
    network, x = random_binary(rng), rng.standard_normal((6, 6))
    y = np.where(network.score(x) >= 0, 1, -1)
    seen = []
    shared = robust_radius(network, x, y, workers=2, progress=lambda done, total: seen.append((done, total)))
    assert_allclose(shared.upper, robust_radius(network, x, y).upper)
    assert shared.verify().all()
    assert seen[-1] == (6, 6)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"x": np.zeros((0, 6)), "y": []}, "empty batch"),
        ({"x": np.zeros((1, 5)), "y": [1]}, "6 columns"),
        ({"x": np.full((1, 6), np.nan), "y": [1]}, "finite"),
        ({"x": np.zeros((1, 6)), "y": [2]}, "labels among"),
        ({"x": np.zeros((1, 6)), "y": [1], "norm": "l1"}, "l2 or linf"),
        ({"x": np.zeros((1, 6)), "y": [1], "workers": 0}, "workers"),
        ({"x": np.zeros((1, 6)), "y": [1], "box": (1.0, 2.0)}, "box"),
    ],
)
def test_bad_questions_are_refused(arguments, sentence):
    with pytest.raises(InputError, match=sentence):
        robust_radius(random_binary(np.random.default_rng(0)), **arguments)


@pytest.mark.parametrize("limits", [{"nodes": 0}, {"seconds": 0.0}, {"seconds": -1.0}])
def test_a_budget_of_nothing_is_refused(limits):
    with pytest.raises(InputError, match="budget"):
        Budget(**limits)


def test_targets_must_make_sense():
    network = ([[1.0], [-1.0]], [0.0, 0.0], [[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0])
    with pytest.raises(InputError, match="differ from y"):
        targeted_radius(network, [[1.0]], [0], [0])
    with pytest.raises(InputError, match="several outputs"):
        targeted_radius(([[1.0]], [0.0], [[1.0]], [0.0]), [[1.0]], [1], [0])
    with pytest.raises(InputError, match="proofs=True"):
        robust_radius(network, [[1.0]], [0], proofs=False).verify()
