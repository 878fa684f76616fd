"""Steps in place are the steps of the rule, in any setting where they are taken."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from featavg import (
    BinaryNetwork,
    GradientDescent,
    MulticlassNetwork,
    every,
    sample_clusters,
    train,
    train_many,
)
from featavg.data import Dataset
from featavg.model import Network
from featavg.training import DivergenceWarning, SmoothedCrossEntropy, descent
from featavg.training.descent import Descent, fast_descent
from featavg.training.engines import active_set
from featavg.training.engines.row_sums import FEW, add_rows, add_rows_to_each, whole_product
from featavg.training.engines.team_step import rows_to_read, sums
from featavg.training.iterate import Iterate
from featavg.training.setup import Setup

training = sys.modules["featavg.training.train"]  # whose name in the package is that of its function


@pytest.fixture(autouse=True)
def _at_any_size_and_price(monkeypatch: pytest.MonkeyPatch) -> None:
    # In small settings it does not pay to choose points; here it is to be right, not to pay.
    monkeypatch.setattr(descent, "SMALL", 0)
    for price in ("COPY", "REFRESH", "DENSE_IS_FASTER"):
        monkeypatch.setattr(active_set, price, 0.0)
    monkeypatch.setattr(active_set, "LOOK", 0.0)


def start_of(network: Network, data: Dataset, loss: Any, trained: Any, dtype: Any = np.float64) -> Iterate:
    setup = Setup(loss, trained, None, "gram", dtype)
    return setup.start([network], [data], GradientDescent(), batches=False, moved=False)


def chosen(fast: Descent) -> int:
    """How many teams follow some of the points only."""
    return sum(team.budget < np.inf for team in fast.runs.each[0].teams)


def both_ways(
    network: Network, data: Dataset, loss: Any, trained: Any, eta: float, steps: int, patience: int = 1
) -> float:
    """Compare outputs and parameters after every step; return the share of steps that looked at some points only."""
    start = start_of(network, data, loss, trained)
    rule, at, fast = GradientDescent(step_size=eta), start, fast_descent(start, eta)
    assert fast is not None
    for team in fast.runs.each[0].teams:
        team.rest = patience
    seen = 0
    for step in range(steps):
        (at, _), quick = rule.step(at, None), fast.advance(1)
        size = np.abs(at.outputs).max() + 1e-300
        if loss == "exponential" and size > 300:  # it diverges, and takes the last digits with it
            return seen / (step + 1)
        assert_allclose(quick.outputs, at.outputs, rtol=0, atol=1e-9 * size, err_msg=f"outputs at step {step}")
        for name, block in at.parameters.blocks.items():
            scale = 1e-9 * np.abs(block).max() + 1e-300
            assert_allclose(quick.parameters[name], block, rtol=0, atol=scale, err_msg=f"{name} at step {step}")
        seen += chosen(fast) > 0
    return seen / steps


SETTINGS: dict[str, Any] = {
    "samples": st.integers(1, 60),
    "dim": st.sampled_from([200, 3072]),
    "noise": st.sampled_from([0.1, 1.0, 3.0]),
    "correlation": st.sampled_from([0.0, 0.6, -0.15]),
    "seed": st.integers(0, 1000),
}


@settings(max_examples=120, deadline=None, derandomize=True)
@given(
    setting=st.fixed_dictionaries(SETTINGS),
    classes=st.sampled_from([(2, 1), (4, 1), (5, 4), (6, 3)]),
    kind=st.sampled_from([BinaryNetwork, MulticlassNetwork]),
    width=st.integers(1, 4),
    # Large initial weights leave some neurons dead and some points on the wrong side for long.
    scale=st.sampled_from([1e-5, 1e-3, 1e-2, 0.1]),
    uneven=st.booleans(),
    exponential=st.booleans(),
    biases=st.booleans(),
    haste=st.sampled_from([0.1, 1.0, 5.0]),
)
def test_every_step_is_that_of_the_rule(
    setting: dict[str, Any],
    classes: tuple[int, int],
    kind: Any,
    width: int,
    scale: float,
    uneven: bool,
    exponential: bool,
    biases: bool,
    haste: float,
) -> None:
    data = sample_clusters(clusters=classes[0], positive=classes[1], **setting)
    network = kind.random(data, width, seed=setting["seed"] + 1, scale=scale)
    if uneven:
        factors = np.random.default_rng(setting["seed"]).choice([-2.0, 0.0, 0.3, 1.0], network.neurons)
        network = network.changed(second=network.second * factors)
        if not factors.any():
            return
    loss = "exponential" if exponential and kind is BinaryNetwork else None
    trained = ("weights", "biases") if biases else ("weights",)
    both_ways(network, data, loss, trained, haste * 3.072 / data.dim, steps=50)


@pytest.mark.parametrize("kind", [BinaryNetwork, MulticlassNetwork])
@pytest.mark.parametrize("width", [1, 3])
@pytest.mark.parametrize("positive", [1, 3])
def test_long_runs_look_at_some_points_nearly_throughout(kind: Any, width: int, positive: int) -> None:
    data = sample_clusters(clusters=6, dim=3072, samples=120, positive=positive, seed=5)
    assert both_ways(kind.random(data, width, seed=1), data, None, None, 1e-3, steps=300, patience=10) > 0.8


def test_float32_stays_float32() -> None:
    data = sample_clusters(clusters=4, samples=100, seed=0)
    start = start_of(BinaryNetwork.random(data, 3, seed=1), data, None, None, np.float32)
    fast = fast_descent(start, 1e-3)
    assert fast is not None
    at = fast.advance(100)
    assert chosen(fast) == 2
    assert at.outputs.dtype == at.parameters["weights_1"].dtype == np.float32


def test_neurons_that_drive_several_outputs_follow_all_points() -> None:
    """There Σ_j (∂loss/∂F_j) A_jr changes its sign as the probabilities move, and no bound on Z would hold."""
    data = sample_clusters(clusters=3, samples=60, seed=0)
    network = MulticlassNetwork.random(data, 2, seed=1)
    mixed = network.changed(second=np.random.default_rng(2).standard_normal(network.second.shape))
    assert both_ways(mixed, data, None, None, 1e-3, steps=100) == 0.0


def test_a_loss_whose_derivative_changes_sign_gives_no_bound() -> None:
    data = sample_clusters(clusters=3, samples=60, seed=0)
    network = MulticlassNetwork.random(data, 2, seed=1)
    assert both_ways(network, data, SmoothedCrossEntropy(share=0.3), None, 1e-3, steps=200) == 0.0


def test_points_whose_derivative_is_lost_to_underflow_are_not_given_a_sign() -> None:
    """At a margin of 800 the derivative is 0 and tells no sign; the point may come back later."""
    data = sample_clusters(clusters=2, samples=40, seed=0)
    network = BinaryNetwork.random(data, 2, seed=1)
    pull = data.y[:, None] * data.x
    network = network.changed(weights=np.where(network.second.T > 0, 1.0, -1.0) * pull.mean(axis=0))
    assert both_ways(network, data, None, None, 1e-3, steps=20) == 0.0


@pytest.mark.parametrize(("faster", "skipping"), [(0.0, 0.0), (1e9, 0.0), (1e9, 1e9)])
def test_steps_of_teams_and_of_all_neurons_with_and_without_skipping_are_the_same(
    faster: float, skipping: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(active_set, "DENSE_IS_FASTER", faster)
    monkeypatch.setattr(active_set, "SKIPPING", skipping)
    monkeypatch.setattr(active_set, "LOOK", 0.1)
    data = sample_clusters(clusters=4, samples=60, seed=0)
    for kind in (BinaryNetwork, MulticlassNetwork):
        network = kind.random(data, 2, seed=1)
        mixed = network.changed(second=network.second[:, np.random.default_rng(0).permutation(network.neurons)])
        for one in (network, mixed):
            both_ways(one, data, None, ("weights", "biases"), 1e-3, steps=60, patience=10**6)


def test_the_rows_that_steps_of_teams_would_read_are_those_that_they_read() -> None:
    data = sample_clusters(clusters=6, samples=60, seed=0)
    for kind in (BinaryNetwork, MulticlassNetwork):
        start = start_of(kind.random(data, 3, seed=1), data, None, None)
        fast = fast_descent(start, 1e-3)
        assert fast is not None
        fast.advance(1)  # of all neurons together, since they are looked at only now
        active = fast.runs.each[0]
        expected = rows_to_read(active.z, active.ends)
        fast.advance(1)
        assert sum(team.work for team in active.teams) == expected > 0


@pytest.mark.parametrize("options", [{}, {"sample_weight": np.arange(1.0, 61.0)}, {"loss": "exponential"}], ids=str)
def test_training_in_place_is_training(options: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    data = sample_clusters(clusters=4, samples=60, seed=0)
    network = BinaryNetwork.random(data, 2, seed=1)
    fast = train(network, data, GradientDescent(steps=70), save_at=[3, 40], **options)
    monkeypatch.setattr(descent, "SMALL", 10**12)
    slow = train(network, data, GradientDescent(steps=70), save_at=[3, 40], **options)
    assert fast.steps.tolist() == slow.steps.tolist()
    assert_allclose(fast.times, slow.times, rtol=1e-13)
    assert_allclose(fast.coefficients, slow.coefficients, rtol=0, atol=1e-13 * np.abs(slow.coefficients).max())
    assert_allclose(fast.log_losses, slow.log_losses, rtol=1e-12)
    assert_allclose(fast.margins, slow.margins, rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("runs", [1, 2, 5])
def test_rows_added_for_several_runs_are_those_added_for_each(runs: int, compiled: bool) -> None:
    rng = np.random.default_rng(runs)
    matrix = rng.standard_normal((45, 45))
    factors = rng.standard_normal((runs, 45)) * (rng.random((runs, 45)) < 0.6)
    together, alone = np.zeros((runs, 45)), np.zeros((runs, 45))
    (add_rows_to_each if compiled else add_rows_to_each.py_func)(matrix, factors, together)  # type: ignore[attr-defined]
    for row, total in zip(factors, alone, strict=True):
        add_rows(matrix, row, total)
    assert_array_equal(together, alone)
    assert_allclose(together, factors @ matrix, rtol=0, atol=1e-13 * np.abs(factors).sum())


@pytest.mark.parametrize("neurons", [1, FEW, FEW + 1])
def test_few_rows_are_multiplied_as_many_are(neurons: int) -> None:
    rng = np.random.default_rng(neurons)
    matrix, rows = rng.standard_normal((45, 45)), rng.standard_normal((neurons, 45))
    assert_allclose(whole_product(rows, matrix), np.einsum("ri,ij->rj", rows, matrix), rtol=0, atol=1e-13)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sums_are_in_double_precision_whatever_their_order(dtype: Any) -> None:
    values = np.random.default_rng(0).standard_normal(1003).astype(dtype)
    expected = values.astype(np.float64)
    for found in (sums(values), sums.py_func(values)):  # type: ignore[attr-defined]
        assert_allclose(found, (expected @ expected, expected.sum()), rtol=1e-13)


WEIGHTS = np.arange(1.0, 121.0)


@pytest.mark.parametrize("faster", [0.0, 4.0])
@pytest.mark.parametrize("kind", [BinaryNetwork, MulticlassNetwork])
@pytest.mark.parametrize(
    "options", [{}, {"dtype": np.float32}, {"sample_weight": WEIGHTS}], ids=["plain", "float32", "weighted"]
)
def test_runs_on_one_matrix_are_single_runs_to_the_last_bit(
    kind: Any, options: Any, faster: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where some of them follow a part of the points, others all, and one has another second layer."""
    monkeypatch.setattr(training, "SMALL", 0)
    monkeypatch.setattr(active_set, "PATIENCE", 5)
    monkeypatch.setattr(active_set, "DENSE_IS_FASTER", faster)
    data, rule = sample_clusters(clusters=6, samples=120, seed=5), GradientDescent(steps=60)
    starts = [kind.random(data, 3, seed=i, scale=10.0**-i) for i in range(1, 6)]
    starts[2] = starts[2].changed(second=starts[2].second[:, ::-1])
    moved: list[Any] = []

    def seen(self: Any, teams: Any, pulls: Any, move: Any = active_set.Runs._move) -> None:
        moved.append(teams)
        move(self, teams, pulls)

    monkeypatch.setattr(active_set.Runs, "_move", seen)
    runs = train_many(starts, [data] * 5, rule, save_at=[7, 33], **options)
    assert {0} < {len(some) for some in moved}  # none, and several
    for start, run in zip(starts, runs, strict=True):
        alone = train(start, data, rule, save_at=[7, 33], **options)
        assert run.status == alone.status == "finished"
        assert_array_equal(run.coefficients, alone.coefficients)
        assert_array_equal(run.biases, alone.biases)
        assert_array_equal(run.margins, alone.margins)


@pytest.mark.parametrize("faster", [0.0, 4.0])
def test_a_run_that_leaves_the_numbers_says_so_and_leaves_those_beside_it_alone(
    faster: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training, "SMALL", 0)
    monkeypatch.setattr(active_set, "DENSE_IS_FASTER", faster)
    data, rule = sample_clusters(clusters=4, samples=60, seed=0), GradientDescent(steps=40)
    starts = [BinaryNetwork.random(data, 2, seed=i, scale=scale) for i, scale in enumerate((1e-5, 0.3, 1e-5))]
    with pytest.warns(DivergenceWarning, match="in 1 of 3 runs"):
        runs = train_many(starts, [data] * 3, rule, loss="exponential", save_at=every(5))
    with pytest.warns(DivergenceWarning):
        alone = [train(start, data, rule, loss="exponential", save_at=every(5)) for start in starts]
    assert [run.status for run in runs] == [one.status for one in alone]
    assert alone[1].status == "diverged at step 5: lower the step size"
    for run, one in zip(runs, alone, strict=True):
        assert_array_equal(run.coefficients, one.coefficients)
        assert np.isfinite(run.coefficients).all()
