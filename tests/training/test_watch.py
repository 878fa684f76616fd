"""The fast path takes exactly the steps of the plain one, in any setting where it is used."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import featavg.training.motion
from featavg import BinaryNetwork, MulticlassNetwork, sample_clusters
from featavg.data import Dataset
from featavg.training.losses import LOSSES, LossName, loss_for
from featavg.training.motion import CoefficientMotion

NEVER = 10**9


@pytest.fixture(autouse=True)
def _watch_at_any_price(monkeypatch: pytest.MonkeyPatch) -> None:
    # In small settings a watch is short; here it is to be right, not to pay.
    monkeypatch.setattr(featavg.training.motion, "WORTH", 0)


def both_paths(network: Any, data: Dataset, loss: LossName | None, biases: bool, eta: float, steps: int) -> float:
    """Compare outputs and coefficients after every step; return the share of steps that were watched."""
    plain, fast = (CoefficientMotion(network, data, biases, np.float64) for _ in range(2))
    plain.plain_steps, fast.plain_steps = NEVER, 1
    law, target = loss_for(network, loss), network.targets(data)
    watched = 0
    for step in range(steps):
        expected, outputs = plain.outputs(), fast.outputs()
        size = np.abs(expected).max() + 1e-300
        if loss == "exponential" and size > 300:  # it diverges, and takes the last digits with it
            return watched / (step + 1)
        assert_allclose(outputs, expected, rtol=0, atol=1e-9 * size, err_msg=f"outputs at step {step}")
        for motion, seen in ((plain, expected), (fast, outputs)):
            motion.advance(law.derivative(seen, target) / len(target), eta)
        watched += fast.watch is not None
    assert plain.watch is None
    expected, moved = plain.snapshot()[0], fast.snapshot()[0]
    assert_allclose(moved, expected, rtol=0, atol=1e-9 * np.abs(expected).max() + 1e-300)
    return watched / steps


SETTINGS: dict[str, Any] = {
    "samples": st.integers(1, 60),
    "dim": st.sampled_from([200, 3072]),
    "noise": st.sampled_from([0.1, 1.0, 3.0]),
    "correlation": st.sampled_from([0.0, 0.6, -0.15]),
    "seed": st.integers(0, 1000),
}


@settings(max_examples=200, deadline=None, derandomize=True)
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
def test_every_step_is_that_of_the_plain_path(
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
    loss: LossName | None = "exponential" if exponential and kind is BinaryNetwork else None
    both_paths(network, data, loss, biases, haste * 3.072 / data.dim, steps=60)


@pytest.mark.parametrize("kind", [BinaryNetwork, MulticlassNetwork])
@pytest.mark.parametrize("width", [1, 3])
@pytest.mark.parametrize("positive", [1, 3])
def test_long_runs_are_watched_nearly_throughout_and_agree(kind: Any, width: int, positive: int) -> None:
    data = sample_clusters(clusters=6, dim=3072, samples=120, positive=positive, seed=5)
    network = kind.random(data, width, seed=1)
    share = both_paths(network, data, None, kind is BinaryNetwork, 1e-3, steps=400)
    assert share > 0.9


def test_float32_is_watched_as_well() -> None:
    data = sample_clusters(clusters=4, samples=100, seed=0)
    motion = CoefficientMotion(BinaryNetwork.random(data, 3, seed=1), data, True, np.float32)
    for _ in range(50):
        motion.advance(LOSSES["logistic"].derivative(motion.outputs(), data.y) / 100, 1e-3)
    assert motion.watch is not None
    assert motion.outputs().dtype == motion.snapshot()[0].dtype == np.float32


def test_neurons_that_drive_several_outputs_are_not_watched() -> None:
    """There Σ_j (∂loss/∂F_j) A_jr changes its sign as the probabilities move, and no bound on Z would hold."""
    data = sample_clusters(clusters=3, samples=60, seed=0)
    network = MulticlassNetwork.random(data, 2, seed=1)
    mixed = network.changed(second=np.random.default_rng(2).standard_normal(network.second.shape))
    assert both_paths(mixed, data, None, False, 1e-3, steps=100) == 0.0


def test_points_whose_derivative_is_lost_to_underflow_are_not_given_a_sign() -> None:
    """At a margin of 800 the derivative is 0 and tells no sign; the point may come back later."""
    data = sample_clusters(clusters=2, samples=40, seed=0)
    network = BinaryNetwork.random(data, 2, seed=1)
    pull = data.y[:, None] * data.x
    network = network.changed(weights=np.where(network.second.T > 0, 1.0, -1.0) * pull.mean(axis=0))
    assert (LOSSES["logistic"].derivative(network.outputs(data.x), data.y) == 0).any()
    assert both_paths(network, data, None, True, 1e-3, steps=5) == 0.0
