"""The exact radius against closed forms, and what it may not depend on."""

import time
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from featavg import averaging_network, decoupled_network, filtered_network, sample_clusters
from featavg.model import Activation, BinaryNetwork, MulticlassNetwork
from featavg.robustness import Budget, robust_radius, targeted_radius

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


@pytest.mark.parametrize(
    ("network", "point", "label", "truth"),
    [
        (([[1, 0]], [0], [[1e-200]], [-1e-200]), [3, 0], 1, 2.0),
        (([[2, 2], [1, 1]], [0, 2], [[1, -2]], [0]), [7, -2], -1, 7 / np.sqrt(2)),
    ],
)
def test_hostile_networks_have_their_radius(network, point, label, truth):
    found = robust_radius(network, [point], [label])
    assert_allclose([found.lower[0], found.upper[0]], truth, rtol=2e-6)
    assert found.verify().all()


def test_a_far_boundary_between_near_parallel_neurons_is_not_infinity():
    """f(1e6 + 1, 11) < 0, though the neurons differ by 5e-9 only."""
    network = ([[1, 0], [1, 5e-9]], [-1e6, -1e6], [[1e6, -1e6]], [0.05])
    found = robust_radius(network, [[1e6 + 1, 0]], [1])
    assert found.lower[0] < 11.001
    assert found.verify().all()


@pytest.mark.parametrize("scale", [1e-160, 1e155])
def test_the_scale_of_the_weights_costs_no_digit(scale):
    rng = np.random.default_rng(9)
    network, x = random_binary(rng), rng.standard_normal((5, 6))
    y = np.where(network.score(x) >= 0, 1, -1)
    scaled = network.changed(
        weights=scale * network.weights, biases=scale * network.biases, second=network.second / scale
    )
    found, plain = robust_radius(scaled, x, y), robust_radius(network, x, y)
    assert found.verify().all()
    assert_allclose(found.upper, plain.upper, rtol=3e-6)


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
    assert_allclose(radius.upper, [0.0, 0.0, 2.0], **CLOSE)
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
    assert radius.status[0] != "exact"
    assert radius.reasons[0]
    assert radius.verify().all()


def test_a_budget_ends_honestly():
    """One node does not close a wide random network: the bracket is open, says why, and still verifies."""
    rng = np.random.default_rng(1)
    network = random_binary(rng, neurons=160, dim=30)
    x = rng.standard_normal((3, 30))
    y = np.where(network.score(x) >= 0, 1, -1)
    short = robust_radius(network, x, y, budget=Budget(nodes=1))
    long = robust_radius(network, x, y)
    assert "budget of 1 nodes" in short.reasons
    assert "exact" not in [short.status[i] for i in range(3) if short.reasons[i]]
    assert short.verify().all()
    assert (short.lower <= long.upper).all()
    assert (long.lower <= short.upper).all()


@pytest.mark.parametrize("seed", range(4))
def test_forty_neurons_on_a_line(seed):
    """Between kinks the function is linear: its zeros are those of the pieces."""
    rng = np.random.default_rng(seed)
    network, x = random_binary(rng, neurons=40, dim=1), 2 * rng.standard_normal((4, 1))
    y = np.where(network.score(x) >= 0, 1, -1)
    ends = np.sort(np.append(-network.biases / network.weights[:, 0], [-1e4, 1e4]))
    values = network.score(ends[:, None])
    turns = np.flatnonzero(values[:-1] * values[1:] < 0)
    share = values[turns] / (values[turns] - values[turns + 1])
    zeros = ends[turns] + share * (ends[turns + 1] - ends[turns])
    # Time enough to compile what is not compiled yet.
    found = robust_radius(network, x, y, budget=Budget(seconds=120.0))
    assert_allclose(found.upper, np.abs(x - zeros).min(axis=1, initial=np.inf), rtol=1e-6)
    assert set(found.status) == {"exact"}
    assert found.verify().all()


def test_three_thousand_neurons_end_with_their_budget():
    rng = np.random.default_rng(0)
    network, x = random_binary(rng, neurons=3000, dim=50), rng.standard_normal((2, 50))
    y = np.where(network.score(x) >= 0, 1, -1)
    robust_radius(random_binary(rng), np.zeros((1, 6)), [1])  # compiled code is loaded here
    began = time.process_time()
    found = robust_radius(network, x, y, budget=Budget(seconds=1.0))
    assert time.process_time() - began < 1.2 * 2 + 1.0
    assert (found.lower < found.upper).all()
    assert np.isfinite(found.upper).all()


def test_the_model_itself_misclassifies_the_witness():
    """In its own float64 arithmetic, without any help."""
    rng = np.random.default_rng(8)
    for outputs in (1, 4):
        arrays = [rng.standard_normal(size) for size in ((12, 6), 12, (outputs, 12), outputs)]
        network, x = (BinaryNetwork if outputs == 1 else MulticlassNetwork)(*arrays), rng.standard_normal((40, 6))
        y = network.predict(x)
        found = robust_radius(network, x, y)
        hit = np.isfinite(found.upper)
        assert hit.mean() > 0.9
        # The nearest fooled point may lie where two outputs are equal all around: a tie, which no push can leave.
        tied = network.margins(found.witness[hit], y[hit]) == 0
        assert tied.mean() < 0.05
        assert ((network.predict(found.witness[hit]) != y[hit]) | tied).all()


def test_a_search_that_is_late_has_no_time_left_and_says_so() -> None:
    """A negative time would be raised to a broken power, which is a complex number."""
    from featavg.robustness.search.budget import Clock
    from featavg.robustness.search.ladder import Rung, next_rung

    clock = Clock(Budget(nodes=100, seconds=1e-9), np.inf)
    sum(range(100_000))
    assert clock.left() == 0.0
    assert clock.spent() == "budget of 1e-09 seconds"
    rung = next_rung([(1.0, 0.5), (1.5, 1.0)], Rung(2.0, 10, 1.0), True, 3.0, 0.0, clock)
    assert 1.5 < rung.reach <= 3.0


def test_radii_of_a_leaky_network_are_those_of_its_patterns():
    """Against the first crossing on a fan of rays, an upper bound that is off by less than a hundredth here."""
    rng = np.random.default_rng(3)
    network = BinaryNetwork(rng.standard_normal((4, 2)), rng.standard_normal(4), rng.standard_normal((1, 4)), [0.1])
    leaky = replace(network, activation=Activation(leak=0.1))
    x = 2.0 * rng.standard_normal((6, 2))
    y = np.where(leaky.score(x) > 0, 1, -1)
    found = robust_radius(leaky, x, y)
    assert found.verify().all()
    angles, lengths = np.linspace(0, 2 * np.pi, 2001), np.linspace(0, 8, 4001)
    for i in range(len(x)):
        rays = np.stack([np.cos(angles), np.sin(angles)], axis=1)[:, None] * lengths[:, None]
        crossed = y[i] * leaky.score((x[i] + rays).reshape(-1, 2)).reshape(len(angles), -1) <= 0
        nearest = lengths[crossed.any(axis=0).argmax()] if crossed.any() else np.inf
        assert found.lower[i] <= nearest
        if np.isfinite(nearest):
            assert abs(found.upper[i] - nearest) < 0.01


def test_a_box_may_be_open_on_one_side():
    network = BinaryNetwork([[1.0, 0.0]], [0.0], [[1.0]], [-1.0])
    closed = robust_radius(network, [[3.0, 0.0]], [1], box=([2.0, -1.0], np.inf), norm="linf")
    assert closed.lower[0] == np.inf
    for box in ((0.0, None), (None, 9.0), (np.array([0.0, -5.0]), None)):
        found = robust_radius(network, [[3.0, 0.0]], [1], box=box)
        assert_allclose([found.lower[0], found.upper[0]], 2.0, rtol=1e-6)
