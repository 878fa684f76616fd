"""The sandwich: certificates <= truth <= attacks, with the truth from a search over all subsets of neurons."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog, nnls

import featavg as fa
from featavg.robustness.attacks import PGD, BoundaryWalk, GradientWalk, UniversalDirection
from featavg.robustness.bounds import lipschitz_bound, local_bound

ATTACKS = [UniversalDirection(), GradientWalk(), PGD(radii=[0.5, 1.0, 2.0, 4.0], steps=20), BoundaryWalk()]
BOUNDS = [lipschitz_bound, local_bound]


def least_l2(normals, offsets):
    """min ‖δ‖ subject to normals @ δ + offsets <= 0 (Lawson and Hanson's least-distance program), inf if empty."""
    scale = np.maximum(np.linalg.norm(normals, axis=1), 1e-300)
    table = np.vstack([-(normals / scale[:, None]).T, (offsets / scale)[None]])
    goal = np.append(np.zeros(normals.shape[1]), 1.0)
    weights, rest = nnls(table, goal, maxiter=1000)
    if rest < 1e-9:
        return np.inf
    residual = table @ weights - goal
    return float(np.linalg.norm(residual[:-1] / residual[-1]))


def least_linf(normals, offsets):
    axes = normals.shape[1]
    bounded = np.vstack([np.hstack([s * np.eye(axes), -np.ones((axes, 1))]) for s in (1, -1)])
    rows = np.vstack([np.hstack([normals, np.zeros((len(normals), 1))]), bounded])
    limits = np.append(-offsets, np.zeros(2 * axes))
    goal = np.append(np.zeros(axes), 1.0)
    answer = linprog(goal, A_ub=rows, b_ub=limits, bounds=[(None, None)] * axes + [(0, None)])
    return answer.fun if answer.status == 0 else np.inf


def true_radius(weights, biases, row, constant, x, least):
    """Distance to {Σ c_j ReLU(z_j) + c_0 <= 0}: a union over subsets S of the negative c_j of convex sets, each the
    intersection over subsets T of the positive ones of half-spaces."""
    positive, negative = np.flatnonzero(row > 0), np.flatnonzero(row < 0)
    z = weights @ x + biases
    tops = np.array(list(product([0, 1], repeat=len(positive))))
    best = np.inf
    for chosen in product([0, 1], repeat=len(negative)):
        slopes = np.zeros((len(tops), len(row)))
        slopes[:, positive] = row[positive] * tops
        slopes[:, negative] = row[negative] * np.array(chosen)
        best = min(best, least(slopes @ weights, slopes @ z + constant))
    return best


def random_network(rng, outputs):
    neurons, axes = rng.integers(1, 6), rng.integers(1, 6)
    weights = rng.standard_normal((neurons, axes)) * (rng.random((neurons, 1)) > 0.1)
    second = rng.standard_normal((outputs, neurons)) * (rng.random((outputs, neurons)) > 0.2)
    return weights, 0.5 * rng.standard_normal(neurons), second, 0.5 * rng.standard_normal(outputs)


def truth_of(network, x, y, least):
    weights, biases, second, constants = network
    if len(second) == 1:
        return np.array(
            [true_radius(weights, biases, s * second[0], s * constants[0], p, least) for p, s in zip(x, y, strict=True)]
        )
    return np.array(
        [
            min(
                true_radius(weights, biases, second[s] - second[r], constants[s] - constants[r], p, least)
                for r in range(len(second))
                if r != s
            )
            for p, s in zip(x, y, strict=True)
        ]
    )


@pytest.mark.parametrize(("norm", "least"), [("l2", least_l2), ("linf", least_linf)])
@pytest.mark.parametrize("outputs", [1, 3])
def test_certificates_below_the_truth_and_attacks_above(norm, least, outputs):
    rng = np.random.default_rng(5)
    closed = []
    for _ in range(40 if norm == "l2" else 8):
        network = random_network(rng, outputs)
        model = fa.as_network(network)
        x = 2 * rng.standard_normal((4, network[0].shape[1]))
        y = np.where(model.predict(x) == 0, 1, model.predict(x)) if outputs == 1 else model.predict(x)
        truth = truth_of(network, x, y, least)
        for bound in BOUNDS:
            assert np.all(bound(network, x, y, norm=norm).lower <= truth * (1 + 1e-9))
        uppers = np.stack([attack(network, x, y, norm=norm).upper for attack in ATTACKS])
        assert np.all(uppers >= truth * (1 - 1e-6) - 1e-9)
        closed.append(uppers.min(axis=0) <= truth * (1 + 1e-6) + 1e-9)
    # Attacks promise nothing; still, over many networks this small they find nine minima in ten (32 points: ±0.05).
    assert np.mean(closed) > 0.75


def test_the_local_bound_is_never_below_the_lipschitz_bound_and_exact_on_a_large_linear_piece():
    rng = np.random.default_rng(1)
    for outputs in (1, 3):
        network = random_network(rng, outputs)
        x = rng.standard_normal((20, network[0].shape[1]))
        y = np.ones(20, dtype=int)
        assert np.all(local_bound(network, x, y).lower >= lipschitz_bound(network, x, y).lower)
    x = np.array([[10.0, 8.0, 0.0]])
    piece = ([[1.0, 0, 0], [0, 1.0, 0]], [0, 0], [[1.0, -1.0]], [0])
    assert local_bound(piece, x, [1]).lower[0] == pytest.approx(2 / np.sqrt(2), rel=1e-7)
    assert local_bound(piece, x, [1], norm="linf").lower[0] == pytest.approx(1.0, rel=1e-7)


@pytest.mark.parametrize("readout", ["maximum", "summed-logits", "summed-probabilities"])
def test_binary_read_outs_are_bounded_from_below(readout):
    rng = np.random.default_rng(2)
    gaps = []
    for _ in range(12):
        axes, labels = rng.integers(2, 5), np.array([1, 1, -1, -1, -1])
        network = fa.MulticlassNetwork(
            rng.standard_normal((6, axes)), rng.standard_normal(6), rng.standard_normal((5, 6)), np.zeros(5), labels
        )
        x = 3 * rng.standard_normal((10, axes))
        y = np.where(network.score(x, readout) > 0, 1, -1)
        upper = np.min([attack(network, x, y, readout=readout).upper for attack in ATTACKS], axis=0)
        for bound in BOUNDS:
            lower = bound(network, x, y, readout=readout).lower
            assert np.all(lower <= upper * (1 + 1e-9))
        found = np.isfinite(upper) & (upper > 0)
        gaps.append(lower[found] / upper[found])
    assert np.concatenate(gaps).max() > 0.9  # somewhere they nearly meet


def test_every_point_of_a_grid_below_the_bound_keeps_its_class():
    rng = np.random.default_rng(3)
    labels = np.array([1, -1, -1])
    for readout in ("maximum", "summed-logits", "summed-probabilities"):
        for _ in range(20):
            network = fa.MulticlassNetwork(
                rng.standard_normal((4, 2)), rng.standard_normal(4), rng.standard_normal((3, 4)), np.zeros(3), labels
            )
            x = rng.standard_normal((1, 2))
            y = 1 if network.score(x, readout)[0] > 0 else -1
            reach = local_bound(network, x, [y], readout=readout).lower[0]
            angle = np.linspace(0, 2 * np.pi, 400)
            circle = x + min(reach, 1e3) * (1 - 1e-6) * np.column_stack([np.cos(angle), np.sin(angle)])
            assert reach == 0 or np.all(y * network.score(circle, readout) > 0)


def test_wrong_and_tied_points_have_bound_zero_and_constant_networks_infinity():
    for bound in BOUNDS:
        assert bound(([[1.0]], [0.0], [[1.0]], [0.0]), [[-1.0], [3.0]], [1, -1]).lower.tolist() == [0.0, 0.0]
        constant = bound(([[0.0]], [0.0], [[1.0]], [2.0]), [[1.0]], [1])
        assert constant.lower.tolist() == [np.inf]
        assert constant.status == ("certificate only",)
        assert np.isinf(constant.upper).all()
        assert np.isnan(constant.witness).all()
        assert len(bound(([[1.0]], [0.0], [[1.0]], [0.0]), np.zeros((0, 1)), [])) == 0


@pytest.fixture(scope="module")
def paper():
    """The paper's binary network, and 300 test points."""
    data = fa.sample_clusters(seed=0)
    start = fa.BinaryNetwork.random(data, neurons_per_class=5, seed=2)
    test = data.resample(300, seed=1)
    return fa.train(start, data, fa.GradientDescent(steps=100)).final, test.x, test.y


def test_on_the_papers_network_the_universal_direction_is_exact_and_gradients_are_not(paper):
    network, x, y = paper
    basis, triangle = np.linalg.qr(network.weights.T)
    small = (triangle.T, network.biases, network.second, network.output_bias)
    truth = truth_of(small, x[:100] @ basis, y[:100], least_l2)
    universal = UniversalDirection()(network, x, y).upper
    assert universal[:100] == pytest.approx(truth, rel=1e-3)
    assert 17.2 < np.median(universal) < 17.6
    assert BoundaryWalk(starts=1)(network, x, y).upper[:100] == pytest.approx(truth, rel=1e-6)
    walk = GradientWalk()(network, x, y)
    pgd = PGD(radii=18.0, steps=20, restarts=0)(network, x, y)
    assert np.median(walk.upper) > 1.2 * np.median(universal)
    assert np.mean(pgd.upper > 18) > np.mean(universal > 18) + 0.04
    assert any("dead start" in flag for flag in pgd.flags)
    for bound in BOUNDS:
        lower = bound(network, x, y).lower
        assert np.all(lower[:100] <= truth)
        assert np.median(lower) > 0.5 * np.median(universal)
