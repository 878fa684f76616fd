"""The inequalities that every proof rests on, each against random points."""

import numpy as np
import pytest

from featavg.model import MulticlassNetwork
from featavg.robustness.balls import Clipped, Round, Square
from featavg.robustness.boxes import BoxedEuclidean, Cube
from featavg.robustness.geometry import Euclidean
from featavg.robustness.pooled import pool_of
from featavg.robustness.question import ask
from featavg.robustness.region import fooled_set
from featavg.robustness.relaxation import chords

REACH = 1.0


def settings(rng):
    """Weights, a half-space that may hold the origin, a box, and points of the ball, the box and the half-space."""
    weights, normal = rng.standard_normal((5, 3)), rng.standard_normal(3)
    offset = rng.uniform(-0.5, 0.9) * np.linalg.norm(normal)
    down, up = -rng.uniform(0.2, 1.5, 3), rng.uniform(0.2, 1.5, 3)
    points = rng.uniform(-1.0, 1.0, (200_000, 3))
    return weights, normal, offset, down, up, points[points @ normal + offset <= 0]


def in_box(points, down, up):
    return points[((points >= down) & (points <= up)).all(axis=1)]


@pytest.mark.parametrize("seed", range(12))
def test_caps_hold_their_points_and_distances_are_lower_bounds(seed):
    weights, normal, offset, down, up, cube = settings(np.random.default_rng(seed))
    ball = cube[np.linalg.norm(cube, axis=1) <= REACH]
    free = np.full(3, np.inf)
    identity = Euclidean(np.eye(3), weights, np.linalg.norm(weights, axis=1))
    cases = [
        (identity, Round(weights), ball, 2),
        (Cube(weights, -free, free), Square(weights, -free[None], free[None]), cube, np.inf),
        (Cube(weights, down, up), Square(weights, down[None], up[None]), in_box(cube, down, up), np.inf),
        (BoxedEuclidean(weights, down, up), Clipped(weights, down[None], up[None]), in_box(ball, down, up), 2),
    ]
    for geometry, checker, points, order in cases:
        if not len(points):
            continue
        z = points @ weights.T
        nearest = np.linalg.norm(points, ord=order, axis=1).min()
        distance = geometry.distance(normal, np.array(offset), np.array(0.0))
        checked = checker.distance(normal[None], np.array([offset]), np.zeros(1))
        assert distance <= nearest
        assert checked[0] <= nearest
        np.testing.assert_allclose(distance, checked[0], rtol=1e-9, atol=1e-12)
        low, high = geometry.cap(normal, np.array(offset), distance, np.array(REACH))
        least, most = checker.extent(normal[None], np.array([offset]), checked, np.array([REACH]))
        for bounds in ((low, high), (least[0], most[0])):
            assert (bounds[0] <= z.min(axis=0) + 1e-12).all()
            assert (bounds[1] >= z.max(axis=0) - 1e-12).all()
        np.testing.assert_allclose(low, least[0], atol=1e-6)
        np.testing.assert_allclose(high, most[0], atol=1e-6)


def test_chords_lie_above():
    rng = np.random.default_rng(0)
    low, high = np.sort(rng.standard_normal((2, 1000)), axis=0)
    z = rng.uniform(low, high)
    on, between, slope, lift = chords(low, high)
    assert (np.maximum(z, 0.0) <= np.where(on, z, slope * z + lift) + 1e-12).all()
    assert between.any()


@pytest.mark.parametrize("seed", range(5))
def test_pooled_rows_lie_below_the_margin(seed):
    """For any distribution p, any level y > 0 and any box that holds d."""
    rng = np.random.default_rng(seed)
    network = MulticlassNetwork(
        rng.standard_normal((6, 4)),
        rng.standard_normal(6),
        rng.standard_normal((5, 6)),
        rng.standard_normal(5),
        class_labels=np.array([1, -1, 1, -1, -1]),
    )
    fooled = fooled_set(ask(network, np.zeros((1, 4)), [1], readout="summed-probabilities"))
    for _ in range(200):
        z = 2 * rng.standard_normal(6)
        outputs = fooled.neurons.outputs @ np.maximum(z, 0.0) + fooled.neurons.constants
        rival = max((1, 3, 4), key=lambda j: outputs[j])
        pool = pool_of(fooled, 1, rival)
        d = outputs[pool.others] - outputs[rival]
        box = d - rng.exponential(1.0, 2), np.minimum(d + rng.exponential(1.0, 2), 0.0)
        own = outputs[pool.own]
        best = np.exp(own - own.max()) / np.exp(own - own.max()).sum()
        tangents = np.vstack([rng.dirichlet(np.ones(2), 3), best])
        levels = np.append(rng.uniform(0.5, 4.0, 3), 1 + np.exp(d).sum())
        rows, constants = pool.tangent_rows(tangents, levels, box)
        assert (rows @ np.maximum(z, 0.0) + constants <= pool.margin(z) + 1e-9).all()
        tight = pool.tangent_rows(best[None], levels[-1:], (d, d))
        np.testing.assert_allclose(tight[0][0] @ np.maximum(z, 0.0) + tight[1][0], pool.margin(z), atol=1e-9)


def test_merged_neurons_compute_the_same():
    rng = np.random.default_rng(1)
    weights = rng.standard_normal((3, 4))
    stacked = np.vstack([weights, 2.5 * weights[:2], np.zeros((1, 4))])
    biases = np.concatenate([[0.1, 0.2, 0.3], [0.25, 0.5], [0.7]])
    network = MulticlassNetwork(stacked, biases, rng.standard_normal((2, 6)), rng.standard_normal(2))
    question = ask(network, rng.standard_normal((5, 4)), np.zeros(5, dtype=int))
    neurons = fooled_set(question).neurons
    hidden = np.maximum(question.x @ neurons.weights.T + neurons.biases, 0.0)
    np.testing.assert_allclose(hidden @ neurons.outputs.T + neurons.constants, network.outputs(question.x))
    assert len(neurons.weights) == 3
    scale = np.maximum(network.preactivations(question.x), 0.0) @ np.abs(network.second).sum(axis=0)
    expected = scale + np.abs(network.output_bias).sum()
    np.testing.assert_allclose(neurons.tie(question.x @ neurons.weights.T + neurons.biases), 1e-9 * expected)
