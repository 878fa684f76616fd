"""From a drag in the lab to the answer of its server, at the paper's setting: seconds, and memory over many drags.

Each drag moves one slider to a random place and asks over HTTP, as the page does; drawing comes on top, some 20 ms. The
first answer, which compiles, is not counted.
"""

from __future__ import annotations

import http.client
import json
import threading
import time
from dataclasses import asdict, replace

import numpy as np

from benchmarks.memory import peak_megabytes
from featavg.lab import Lab, Setting

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


def main() -> None:
    lab, rng, setting = Lab(port=0), np.random.default_rng(0), Setting()
    threading.Thread(target=lab.serve, daemon=True).start()
    for labels in (2, 10):
        ask(lab, replace(setting, labels=labels))
    seconds = []
    for number in range(MANY):
        setting = drag(setting, rng)
        taken = ask(lab, setting)
        if number < TIMED:
            seconds.append(taken)
        if number + 1 in (TIMED, MANY // 2, MANY):
            print(f"after {number + 1} drags: peak memory {peak_megabytes():.0f} MB", flush=True)
        if number + 1 == TIMED:
            for name, each in zip(("seconds", "CPU seconds"), np.transpose(seconds), strict=True):
                print(f"{name} of a drag: median {np.median(each):.2f}, 95th of 100 {np.quantile(each, 0.95):.2f}")
    lab.stop()
