"""The calibration of `diagnose`: its seam is the path of `diagnose`, and a broken test statistic is noticed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from featavg import sample_clusters
from featavg.analysis import Averages
from featavg.experiments import Registry
from featavg.experiments.refinement import diagnosis
from featavg.experiments.refinement.diagnosis import HEADS, Config, head, p_values
from featavg.refine import diagnose

FEW = Config(
    trials=2, clusters=10, dim=40, samples=160, gaussian_samples=60, gaussian_dims=(2,), first_seed=1000, seeds=2
)


def test_the_p_values_are_those_of_diagnose() -> None:
    seed = 1001
    data = sample_clusters(clusters=10, dim=40, samples=160, seed=seed, coordinates="ambient")
    measured = p_values(FEW, seed)
    planted = head("averaging", FEW, data, seed)
    for found, sublabels in zip(measured[:, HEADS.index("averaging")], (data.cluster, None), strict=True):
        assert found == diagnose(planted, data.x, data.y, sublabels, seed=seed).averages.p_value


def test_a_small_run_gives_every_claim_and_all_trials() -> None:
    done: list[float] = []
    record = Registry()["diagnosis"].run(FEW, lambda share, _: done.append(share))
    table = record.evidence.table
    assert done == [0.5, 1.0]
    assert len(record.claims) == 7
    assert table.columns["p"].axes == ("seed", "trial", "sublabels", "head")
    assert table["p"].shape == (2, 2, 2, 3)
    assert table["sorted"].shape == (6, 4)
    assert record.claims[2].measured == 1.0
    assert record.seeds == (1000, 1001)


def test_a_statistic_that_pools_dependent_rows_fails_the_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    """The least p of all rows, uncorrected, accuses random heads: the claims must be able to fail."""

    def least(found: Averages) -> float:
        return float(np.min(found.p_values, where=np.isfinite(found.p_values), initial=1.0))

    monkeypatch.setattr(Averages, "p_value", property(least))
    few = replace(FEW, samples=60)
    found = np.array([p_values(few, seed)[0, 0] for seed in range(1000, 1024, 2)])
    assert np.mean(found > diagnosis.LEVEL) < 0.8
