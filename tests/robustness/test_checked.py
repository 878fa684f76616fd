"""Checked radii: closed forms, hostile networks that the first search got wrong, one radius, files."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from featavg import InputError, averaging_network, checked_radius, decoupled_network, load_bracket, sample_clusters
from featavg.model import BinaryNetwork
from featavg.robustness import robust_radius


@pytest.fixture(scope="module")
def data():
    return sample_clusters(clusters=6, dim=300, samples=10, seed=0)


def random_binary(rng, neurons=8, dim=6):
    sizes = ((neurons, dim), neurons, (1, neurons), 1)
    return BinaryNetwork(*(rng.standard_normal(size) for size in sizes))


def test_closed_forms_at_a_center(data):
    """√(d/k) for averaging; √(d/2) for the maximum and √(d/(k_other + 1)) for summed logits of the decoupled one."""
    found = checked_radius(averaging_network(data), data.centers, data.center_labels)
    assert_allclose(found.upper, np.sqrt(300 / 6), rtol=3e-6)
    assert set(found.status) == {"exact"}
    for readout, others in (("maximum", 1), ("summed-logits", 3)):
        found = checked_radius(decoupled_network(data), data.centers, data.center_labels, readout)
        assert_allclose(found.upper, np.sqrt(300 / (others + 1)), rtol=3e-6)
        assert found.verify().all()


@pytest.mark.parametrize(
    ("network", "point", "label", "truth"),
    [
        (([[1, 0]], [0], [[1e-200]], [-1e-200]), [3, 0], 1, 2.0),
        (([[2, 2], [1, 1]], [0, 2], [[1, -2]], [0]), [7, -2], -1, 7 / np.sqrt(2)),
    ],
)
def test_hostile_networks_have_their_radius(network, point, label, truth):
    found = checked_radius(network, [point], [label])
    assert_allclose([found.lower[0], found.upper[0]], truth, rtol=2e-6)
    assert found.verify().all()


def test_a_far_boundary_between_near_parallel_neurons_is_not_infinity():
    """f(1e6 + 1, 11) < 0, though the neurons differ by 5e-9 only."""
    network = ([[1, 0], [1, 5e-9]], [-1e6, -1e6], [[1e6, -1e6]], [0.05])
    found = checked_radius(network, [[1e6 + 1, 0]], [1])
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
    found, plain = checked_radius(scaled, x, y), checked_radius(network, x, y)
    assert found.verify().all()
    assert_allclose(found.upper, plain.upper, rtol=3e-6)


def test_ordinary_networks_have_the_same_radius_as_by_the_first_search():
    rng = np.random.default_rng(8)
    network, x = random_binary(rng, neurons=12), rng.standard_normal((30, 6))
    y = np.where(network.score(x) >= 0, 1, -1)
    found, first = checked_radius(network, x, y), robust_radius(network, x, y)
    assert_allclose(found.upper, first.upper, rtol=1e-5)
    assert (network.predict(found.witness) != y).mean() > 0.9
    for radius in np.quantile(found.upper, [0.2, 0.8]) * 1.001:
        decided = checked_radius(network, x, y, within=float(radius))
        assert decided.verify().all()
        assert ((decided.lower > radius) == (found.lower > radius)).all()
        assert ((decided.upper <= radius) == (found.upper <= radius)).all()


def test_a_bracket_leaves_the_process_and_is_verified_elsewhere(tmp_path):
    rng = np.random.default_rng(3)
    network, x = random_binary(rng), rng.standard_normal((4, 6))
    found = checked_radius(network, x, np.where(network.score(x) >= 0, 1, -1))
    found.save(tmp_path / "bracket.npz")
    back = load_bracket(tmp_path / "bracket.npz")
    assert back.verify().all()
    assert back.verify(audit=True).all()
    assert_allclose(back[1:3].lower, found.lower[1:3])


def test_bad_questions_are_refused():
    network = random_binary(np.random.default_rng(0))
    with pytest.raises(InputError, match="within must be a positive radius, got -1"):
        checked_radius(network, np.zeros((1, 6)), [1], within=-1)
    with pytest.raises(InputError, match="budget must be"):
        checked_radius(network, np.zeros((1, 6)), [1], budget=5)
    with pytest.raises(InputError, match="empty batch"):
        checked_radius(network, np.zeros((0, 6)), [])
