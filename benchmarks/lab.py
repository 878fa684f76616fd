"""From a drag in the lab to the answer of its server, at the paper's setting: seconds, and memory over many drags.

python -m benchmarks lab      writes results/benchmarks/lab.json

Each drag moves one slider to a random place and asks over HTTP, as the page does; drawing comes on top, some 20 ms. The
first answer, which compiles, is not counted.
"""

from __future__ import annotations

import http.client
import json
import threading
import time
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from benchmarks.memory import peak_megabytes, resident_megabytes
from featavg.lab import Lab, Setting
from featavg.record import Claim, Drawing, Evidence, Provenance, Record, Table, write_record

TIMED, MANY = 50, 500


def drag(setting: Setting, rng: np.random.Generator) -> Setting:
    """The setting with one number moved."""
    moves = {
        "steps": int(10 ** rng.uniform(0, 2.3)),
        "labels": int(rng.integers(2, 11)),
        "dim": int(10 ** rng.uniform(3.2, 12)),
        "noise": float(rng.uniform(0.2, 2.0)),
        "step_size": float(10 ** rng.uniform(-1, 1)),
        "seed": int(rng.integers(100)),
        "neuron": int(rng.integers(10)),
    }
    name = str(rng.choice(list(moves)))
    return replace(setting, **{name: moves[name]})


def ask(lab: Lab, setting: Setting) -> tuple[float, float]:
    """Seconds, and CPU seconds of the server and this, until the answer to a setting is here."""
    began, busy = time.perf_counter(), time.process_time()
    connection = http.client.HTTPConnection("127.0.0.1", lab.port)
    connection.request("POST", f"/{lab.token}/state", json.dumps(asdict(setting)), {"Content-Type": "application/json"})
    found = json.loads(connection.getresponse().read())
    connection.close()
    assert "sentence" in found, found
    return time.perf_counter() - began, time.process_time() - busy


def measure() -> tuple[np.ndarray, np.ndarray]:
    """Seconds and CPU seconds of the first drags (drag, 2), and resident megabytes after every fiftieth."""
    lab, rng, setting = Lab(port=0), np.random.default_rng(0), Setting()
    threading.Thread(target=lab.serve, daemon=True).start()
    for labels in (2, 10):
        ask(lab, replace(setting, labels=labels))
    seconds, memory = [], []
    for number in range(1, MANY + 1):
        setting = drag(setting, rng)
        seconds.append(ask(lab, setting))
        if number % TIMED == 0:
            memory.append(resident_megabytes())
            print(f"after {number} drags: {memory[-1]:.0f} MB, {peak_megabytes():.0f} at most", flush=True)
    lab.stop()
    return np.array(seconds[:TIMED]), np.array(memory)


def claims(seconds: np.ndarray, memory: np.ndarray) -> tuple[Claim, ...]:
    """The targets."""
    half = len(memory) // 2
    return (
        Claim.exact(
            float(np.quantile(seconds[:, 0], 0.95)),
            "A drag is answered within a second.",
            source="benchmark", expected=1.0, tolerance=0.0, relation="at most", unit="s",
            tolerance_reason="the target",
            how=f"95th percentile of {TIMED} drags at the paper's setting, wall time over HTTP",
        ),
        Claim.exact(
            float(memory[half:].mean() / memory[:half].mean()),
            "Memory does not grow with drags.",
            source="benchmark", expected=1.1, tolerance=0.0, relation="at most",
            tolerance_reason="what is kept depends on the last settings, which moves it by a tenth",
            how=f"mean resident memory of the second half of {MANY} drags over that of the first",
        ),
    )  # fmt: skip


def main() -> None:
    """Measure, write the record, print the verdicts."""
    began = time.perf_counter()
    seconds, memory = measure()
    found = claims(seconds, memory)
    drags = np.arange(1, len(memory) + 1) * TIMED
    drawing = Drawing(
        "curves",
        {"x": "drags", "y": "memory"},
        caption=f"Resident memory of the lab over {MANY} drags.",
        options={"x_label": "drags", "y_label": "megabytes"},
    )
    table = Table.of({"seconds": seconds, "drags": drags, "memory": memory})
    evidence = Evidence(table, (drawing,), provenance=Provenance(seconds=time.perf_counter() - began))
    record = Record("lab", "From a drag to an answer", {"timed": TIMED, "drags": MANY}, (0,), found, evidence)
    print(write_record(record, Path("results/benchmarks")))
    for claim in found:
        print(f"{claim.verdict:8} {claim.text} {claim.measured:.3g}")
