"""Small runs are made in place: the same numbers, in less time."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from featavg import BinaryNetwork, GradientDescent, MulticlassNetwork, sample_clusters, train, train_many
from featavg.training import DivergenceWarning


@pytest.mark.parametrize("options", [{}, {"dtype": np.float32}, {"sample_weight": np.arange(1.0, 41.0)}], ids=str)
@pytest.mark.parametrize("trained", [["weights"], ["weights", "biases"]], ids=str)
@pytest.mark.parametrize("kind", [BinaryNetwork, MulticlassNetwork])
def test_small_runs_in_place_are_iterates_to_the_last_bit(
    kind: Any, trained: Any, options: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where a run is lost: both say at which step."""
    data = sample_clusters(clusters=4, dim=200, samples=40, seed=0)
    starts = [kind.random(data, 2, seed=seed, scale=0.1) for seed in range(3)]
    rules = GradientDescent(steps=30, step_size=2e-3), GradientDescent(steps=30, step_size=1e308)
    runs: list[Any] = []
    for way in ("in place", "one iterate after the other"):
        if way != "in place":
            monkeypatch.setattr("featavg.training.run.small_descent", lambda *_: None)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DivergenceWarning)
            found = [train(starts[0], data, rule, trained=trained, save_at=[7, 25], **options) for rule in rules]
            for rule in rules:
                found += train_many(starts, [data] * 3, rule, trained=trained, **options)
        runs.append(found)
    assert len({run.status for run in runs[0]}) > 1
    for one, other in zip(*runs, strict=True):
        assert one.status == other.status
        assert_array_equal(one.times, other.times)
        assert_array_equal(one.outputs, other.outputs)
        for name, blocks in other.moments.items():
            assert_array_equal(one.moments[name], blocks)
