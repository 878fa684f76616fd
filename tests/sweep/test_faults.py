"""Processes that are killed and disks that are full: a few of the campaign's faults, and that it sees them."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from campaign.sweep_faults.processes import start_driver
from campaign.sweep_faults.scenarios import SCENARIOS, Sweep, full_disk, killed_drivers, killed_workers, two_drivers


@pytest.mark.parametrize(
    ("scenario", "kills"), [(killed_drivers, 2), (killed_workers, 2), (two_drivers, 1), (full_disk, 1)]
)
def test_nothing_is_lost_or_doubled(tmp_path: Path, scenario: object, kills: int) -> None:
    sweep = Sweep(tmp_path / "sweep", 16)
    assert callable(scenario)
    assert scenario(sweep, kills, random.Random(0)) in (kills, 0)
    assert sweep.complaints == []


def test_the_campaign_runs_every_scenario() -> None:
    from campaign.sweep_faults.runner import SIZES

    assert list(SIZES) == list(SCENARIOS)


def test_the_campaign_sees_what_is_lost_doubled_or_wrong(tmp_path: Path) -> None:
    sweep = Sweep(tmp_path / "sweep", 2)
    sweep.finish(start_driver(sweep.spec, sweep.store, "--workers", "1"))
    sweep.judge(0, under_way=0)
    assert sweep.complaints == []
    (path,) = (sweep.store / "trials").iterdir()
    lines = [line for line in path.read_text().splitlines() if line]
    path.write_text("\n".join([*lines[1:], lines[1]]) + "\n")
    sweep.judge(0, under_way=0)
    assert [said.split(" ", 1)[1] for said in sweep.complaints] == [
        "stored trials are gone",
        "trials are missing, 0 are strange",
        "trials are stored twice",
    ]
    wrong = json.loads(lines[0]) | {"values": {"y": -1.0}}
    path.write_text("\n".join([json.dumps(wrong), *lines[1:]]) + "\n")
    (sweep.marks / "0-0-again").touch()
    (sweep.store / "claims" / "a.0").touch()
    sweep.complaints.clear()
    sweep.judge(0, under_way=0)
    assert [said.split(" ", 1)[1] for said in sweep.complaints] == [
        f"seed={wrong['seed']} is {{'y': -1.0}}",
        "calls for 4 trials and 0 kills",
        "claims are left behind",
    ]
