"""All scenarios, each in a folder of its own, and the record of what became of them."""

from __future__ import annotations

import os
import random
import resource
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from rich.progress import track

from campaign.sweep_faults.scenarios import PAUSE, SCENARIOS, SEEDS, Sweep
from featavg.record import Claim, Column, Evidence, Provenance, Record, Table

# Points of each sweep, and how often something is killed in it.
SIZES = {
    "killed drivers": (60, 16),
    "killed workers": (90, 16),
    "two drivers": (80, 8),
    "killed dask workers": (90, 16),
    "lost scheduler": (40, 2),
    "full disk": (15, 2),
    "poison": (10, 0),
}
SOURCE = "requirement of the sweep"
HOW = (
    "processes on this machine and a dask scheduler with two workers on loopback; SIGKILL at random moments; every "
    "call leaves a mark, and all lines of all files of the store are counted"
)


def run_all(seed: int) -> Record:
    """Run them one after the other."""
    began = time.perf_counter()
    kills, complaints = {}, list[str]()
    with TemporaryDirectory() as place:
        for number, name in enumerate(track(SCENARIOS, description="faults")):
            points, wanted = SIZES[name]
            sweep = Sweep(Path(place) / str(number), points)
            kills[name] = SCENARIOS[name](sweep, wanted, random.Random(f"{seed} {name}"))
            complaints += [f"{name}: {said}" for said in sweep.complaints]
    return _record(kills, complaints, seed, time.perf_counter() - began)


def _record(kills: dict[str, int], complaints: list[str], seed: int, seconds: float) -> Record:
    reason = "Counts have no tolerance."
    claims = (
        Claim.exact(
            len(complaints),
            "Whatever is killed, no trial is lost, stored twice or wrong, and every end is one sentence.",
            source=SOURCE, expected=0, tolerance=0, tolerance_reason=reason, how=HOW,
        ),
        Claim.exact(
            sum(kills.values()), "At least fifty processes were killed.", source=SOURCE, expected=50, tolerance=0,
            tolerance_reason=reason, relation="at least", how="kill() that found its process alive",
        ),
    )  # fmt: skip
    used = resource.getrusage(resource.RUSAGE_CHILDREN), resource.getrusage(resource.RUSAGE_SELF)
    cpu = sum(one.ru_utime + one.ru_stime for one in used)
    table = Table(
        {
            "kills": Column(np.array(list(kills.values())), ("scenario",), "processes killed"),
            "trials": Column(
                np.array([SIZES[name][0] * SEEDS for name in kills]), ("scenario",), "trials of the sweep"
            ),
            "cpu": Column(round(cpu, 1), (), "CPU seconds of all processes that were waited for", "s"),
        },
        {"scenario": list(kills)},
    )
    config = {"pause": PAUSE, "seed": seed, "cores": os.cpu_count() or 1}
    evidence = Evidence(table, (), tuple(complaints), Provenance(seconds=round(seconds, 1)))
    title = "Sweeps survive the death of their processes"
    return Record("sweep_faults", title, config, (seed,), claims, evidence)
