"""Weights of points, moved batches, means of iterates, observers: each against its definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from featavg import (
    BinaryNetwork,
    GradientDescent,
    LossBasedDescent,
    MulticlassNetwork,
    Points,
    every,
    sample_clusters,
    train,
    train_many,
)
from featavg.arrays import Array, Ints
from featavg.data import Dataset
from featavg.training import DivergenceWarning, GroupedCrossEntropy, Iterate, Moment

RULE = GradientDescent(steps=40, step_size=2e-3)


@pytest.fixture(scope="module")
def data() -> Dataset:
    return sample_clusters(clusters=4, dim=80, samples=30, coordinates="ambient", seed=1)


@pytest.mark.parametrize("engine", ["gram", "dense"])
def test_a_point_of_weight_two_is_two_points(data: Dataset, engine: Any) -> None:
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 4, len(data))
    counts[counts.argmax()] += 1
    repeated = data.take(np.repeat(np.arange(len(data)), counts))
    network = MulticlassNetwork.random(data, 2, seed=2, scale=1e-2)
    weighed = train(network, data, RULE, sample_weight=7.0 * counts, engine=engine)
    plain = train(network, repeated, RULE, engine=engine)
    assert_allclose(weighed.final.weights, plain.final.weights, rtol=0, atol=1e-12)
    assert_allclose(weighed.log_losses, plain.log_losses, rtol=1e-12)


@pytest.mark.parametrize("batch_size", [None, 7])
def test_a_mean_is_that_of_the_second_half_of_the_steps(data: Dataset, batch_size: int | None) -> None:
    network = BinaryNetwork.random(data, 2, seed=2, scale=1e-2)
    options: dict[str, Any] = {"batch_size": batch_size, "engine": "dense"}
    path = train(network, data, RULE, save_at=every(1), **options)
    means = train(network, data, RULE, save_at=[0, 1, 9, 40], average="second half", **options)
    for t, mark in enumerate([0, 1, 9, 40]):
        expected = path.weights[mark // 2 + 1 : mark + 1].mean(axis=0) if mark else network.weights
        assert_allclose(means.weights_at(t), expected, rtol=0, atol=1e-13)
        assert means.margins[t] == pytest.approx(means.at(t).margins(data.x, data.y), abs=1e-12)


def test_moved_points_are_what_a_step_sees(data: Dataset) -> None:
    network = BinaryNetwork.random(data, 2, seed=2, scale=1e-2)
    moved = data.x + 0.1
    run = train(network, data, RULE, perturb=lambda at, rows: moved if rows is None else moved[rows])
    there = train(network, Points(moved, data.y, data.cluster), RULE, engine="dense")
    assert_allclose(run.final.weights, there.final.weights, rtol=0, atol=1e-13)
    # What is saved is judged at the points themselves.
    assert_allclose(run.margins[-1], run.final.margins(data.x, data.y), atol=1e-12)


@pytest.mark.parametrize("batch_size", [None, 8])
def test_an_attack_climbs_the_gradient_of_the_loss_by_the_inputs(data: Dataset, batch_size: int | None) -> None:
    network = MulticlassNetwork.random(data, 2, seed=2, scale=1e-2)
    seen = []

    def attack(at: Iterate, rows: Ints | None) -> Array:
        here = data.x if rows is None else data.x[rows]
        slope = at.on(rows, here).input_gradient
        for a in (0, 5):
            way = np.zeros(here.shape)
            way[:, a] = 1e-6
            up, down = (at.on(rows, here + sign * way).log_loss for sign in (1, -1))
            seen.append((slope[:, a].mean(), (np.exp(up) - np.exp(down)) / 2e-6))
        return here + 0.01 * slope / np.linalg.norm(slope, axis=1, keepdims=True)

    train(network, data, GradientDescent(steps=3, step_size=2e-3), perturb=attack, batch_size=batch_size)
    found, expected = np.array(seen).T
    assert_allclose(found, expected, rtol=1e-5, atol=1e-9)
    assert len(seen) == 6


def test_an_observer_sees_the_saved_networks_and_may_end_the_run(data: Dataset) -> None:
    moments: list[Moment] = []

    def observe(moment: Moment) -> bool:
        moments.append(moment)
        return moment.step == 20

    network = BinaryNetwork.random(data, 2, seed=2)
    for engine in ("gram", "dense"):
        moments.clear()
        run = train(network, data, RULE, save_at=every(10), observe=observe, engine=engine)  # type: ignore[arg-type]
        assert run.status == "ended early: the observer had seen enough"
        assert [moment.step for moment in moments] == run.steps.tolist() == [0, 10, 20]
        for t, moment in enumerate(moments):
            assert_allclose(moment.network.weights, run.weights_at(t), rtol=0, atol=1e-15)
            assert_allclose(moment.network.biases, run.biases[t])


def test_pooled_outputs_learn_coarse_labels(data: Dataset) -> None:
    network = MulticlassNetwork.random(data, 2, seed=2, scale=1e-2)
    class_of = np.searchsorted([-1, 1], data.center_labels)
    run = train(network, data, GradientDescent(steps=500, step_size=5e-3), loss=GroupedCrossEntropy(class_of=class_of))
    assert (run.margins[-1] > 0).all()
    assert_allclose(run.margins[-1], data.y * run.final.score(data.x), rtol=1e-9)


def test_one_run_of_a_stack_may_diverge_without_the_others() -> None:
    wild = sample_clusters(clusters=4, dim=60, samples=50, noise=6.0, coordinates="ambient", seed=0)
    tame = [Points(scale * wild.x, wild.y, wild.cluster) for scale in (0.01, 0.02)]
    networks = [BinaryNetwork.random(each, 3, seed=4) for each in (*tame, wild)]
    rule = GradientDescent(steps=100, step_size=0.2)
    with pytest.warns(DivergenceWarning, match="in 1 of 3 runs; the trajectory up to there is kept"):
        runs = train_many(networks, [*tame, wild], rule, loss="exponential")
    assert [run.status == "finished" for run in runs] == [True, True, False]
    assert len(runs[2]) < len(runs[0]) == 101
    assert np.isfinite(runs[2].final.weights).all()


def test_points_that_cannot_be_separated_end_loss_based_steps_with_a_reason(data: Dataset) -> None:
    twice = Points(np.concatenate([data.x, data.x]), np.r_[data.y, -data.y], np.r_[data.cluster, data.cluster + 4])
    run = train(BinaryNetwork.random(data, 2, seed=2), twice, LossBasedDescent(log_loss=-50.0), loss="exponential")
    assert run.status.startswith("ended early: the loss no longer falls, 200 steps were taken back (log-loss")


def test_they_also_end_where_the_gradient_is_zero() -> None:
    """Both labels at one point: at f = 0 there no step is taken back, and none goes anywhere."""
    points = Points([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [1, -1, 1], [0, 1, 0])
    start = BinaryNetwork([[1.0, 0.2], [0.3, 1.0]], [0, 0], [[0.5, -0.5]], [0.0])
    rule = LossBasedDescent(log_loss=-50.0)
    run = train(start, points, rule, loss="exponential", trained=("weights", "second"), save_at=[])
    assert run.status.startswith("ended early: the loss no longer falls, its gradient is 0 (log-loss -0.4055")


def test_they_also_end_where_long_steps_go_on_around_the_lowest_loss_and_tell_the_best_margin() -> None:
    """No linear rule through 0 separates these; a step is accepted now and then for ever."""
    rng = np.random.default_rng(0)
    points = Points(rng.standard_normal((60, 3)), rng.choice([-1, 1], 60), np.arange(60))
    start = BinaryNetwork(rng.standard_normal((2, 3)), [0, 0], [[1.0, -1.0]], [0.0])
    run = train(start, points, LossBasedDescent(log_loss=-100.0), loss="exponential", trained=["weights"],
                save_at=every(1))  # fmt: skip
    assert run.steps[-1] < 1000
    assert f"best smallest margin {run.margins.min(axis=1).max():.3g})" in run.status


def test_loss_based_steps_that_run_out_say_so(data: Dataset) -> None:
    run = train(BinaryNetwork.random(data, 2, seed=2), data, LossBasedDescent(log_loss=-50.0, most_steps=5))
    assert run.status == "ended early: most_steps reached"


def test_a_tiny_start_does_not_stop_loss_based_steps(data: Dataset) -> None:
    """There the loss does not change in its last digit, and a rule that wants it to fall would stay for ever."""
    network = BinaryNetwork.random(data, 2, seed=2, scale=1e-12)
    run = train(network, data, LossBasedDescent(log_loss=-30.0), loss="exponential", trained=("weights", "biases"))
    assert run.status == "finished"
    assert run.log_losses[-1] <= -30.0
