"""A real dask scheduler with two workers on loopback: the same answers as here, and clear ends."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import featavg
from campaign.sweep_faults.processes import Dask, dask, until
from campaign.sweep_faults.scenarios import Sweep, killed_dask_workers
from featavg import BinaryNetwork, InputError, refine_points, robust_at, robust_radius
from featavg.sweep import cluster, run_sweep

LINES = {"function": "featavg.sweep.examples:line", "axes": {"slope": [1, 2, 3]}, "seeds": 2}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dask]:
    with dask(tmp_path_factory.mktemp("dask")) as found:
        yield found


def test_exact_radii_are_those_of_this_process(running: Dask) -> None:
    rng = np.random.default_rng(0)
    network = BinaryNetwork(rng.normal(size=(6, 4)), rng.normal(size=6), rng.normal(size=(1, 6)), np.zeros(1))
    x = rng.normal(size=(12, 4))
    y = network.predict(x)
    with cluster(running.address) as executor:
        there, at = robust_radius(network, x, y, executor=executor), robust_at(network, x, y, 0.1, executor=executor)
    here = robust_radius(network, x, y)
    # Shares of another size multiply matrices of another shape, which may round differently.
    assert_allclose(there.lower, here.lower, rtol=1e-9)
    assert_allclose(there.upper, here.upper, rtol=1e-9)
    assert there.verify().all()
    assert_array_equal(at.lower >= 0.1, robust_at(network, x, y, 0.1).lower >= 0.1)


def test_refinement_is_that_of_this_process(running: Dask) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(120, 2)) + 10 * rng.integers(2, size=(120, 2))
    y = (x[:, 0] > 5) ^ (x[:, 1] > 5)
    with cluster(running.address) as executor:
        there = refine_points(x, y, n_subclasses=2, executor=executor)
    here = refine_points(x, y, n_subclasses=2)
    assert_array_equal(there.model.network_.weights, here.model.network_.weights)
    # Searches have a budget of CPU seconds, so that brackets of one radius may differ in width.
    assert (there.compared.after.lower <= here.compared.after.upper * (1 + 1e-9)).all()
    assert (here.compared.after.lower <= there.compared.after.upper * (1 + 1e-9)).all()


@pytest.mark.parametrize("shared", [True, False])
def test_workers_that_do_not_see_the_folder_leave_writing_to_the_driver(
    running: Dask, tmp_path: Path, shared: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not shared:  # they look for a file that is not there, as on another machine
        monkeypatch.setattr("featavg.sweep.store.Store.beacon", lambda store: "elsewhere.jsonl")
    with cluster(running.address) as executor:
        found = run_sweep(LINES, tmp_path / "store", executor=executor)
    assert found.column("height").tolist() == [slope * (seed + 1) for slope in (1, 2, 3) for seed in (0, 1)]
    writers = {path.name.split("-")[-2] for path in (tmp_path / "store" / "trials").iterdir()}
    assert (str(os.getpid()) in writers) is not shared


def test_workers_of_another_version_are_refused(running: Dask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(featavg, "__version__", "9.9.9")
    with pytest.raises(InputError, match=r"workers of tcp://.* have featavg 0.* this is 9.9.9; install the same"):
        cluster(running.address).__enter__()


def test_a_scheduler_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no dask scheduler answers at tcp://127\.0\.0\.1:1 "):
        cluster("tcp://127.0.0.1:1", patience=0.5).__enter__()
    with pytest.raises(InputError, match="no dask scheduler answers at nonsense:// "):
        cluster("nonsense://", patience=0.5).__enter__()


def test_killed_workers_of_a_scheduler_lose_nothing(tmp_path: Path) -> None:
    sweep: Any = Sweep(tmp_path / "sweep", 12)
    assert killed_dask_workers(sweep, 2, random.Random(0)) == 2
    assert sweep.complaints == []


def test_a_scheduler_whose_workers_are_gone_is_told_and_waited_for(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    sentence = "the scheduler has had no worker for 3 seconds"
    with dask(tmp_path) as lonely, cluster(lonely.address, patience=3) as executor:
        assert executor.submit(abs, -1).result() == 1
        assert sentence not in caplog.text  # dask itself may say that a machine is slow
        lonely.end_workers()
        waiting = executor.submit(abs, -2)
        until(lambda: sentence in caplog.text, "the sentence")
        lonely.start_workers()
        assert waiting.result(timeout=60) == 2
