"""What a worker does with one trial: take it, run it, write it down. Importable by every process of every executor."""

from __future__ import annotations

import os
import socket
import time
import traceback
from collections.abc import Mapping
from typing import Any

from featavg.sweep.specification import resolve
from featavg.sweep.store import Store
from featavg.threads import one_thread

# One store per process and folder, so that a worker has one file and not one for every trial.
_stores: dict[tuple[str, int], Store] = {}


def run_trial(folder: str, function: str, key: str, parameters: Mapping[str, Any], seed: int) -> dict[str, Any] | None:
    """Run a trial and store it, also if it fails; None if another driver is at it or has done it."""
    store = _stores.setdefault((folder, os.getpid()), Store(folder, function))
    if not store.claim(key):
        return None
    began = time.process_time()
    row: dict[str, Any] = {"key": key, "parameters": dict(parameters), "seed": seed}
    try:
        with one_thread():
            row["values"] = dict(resolve(function)(**parameters, seed=seed))
    except Exception as error:  # whatever a trial dies of is its result, and stops nobody else
        row["error"] = f"{type(error).__name__}: {error}".splitlines()[0]
        row["trace"] = traceback.format_exc(limit=-5)
    row |= {"seconds": round(time.process_time() - began, 6), "host": socket.gethostname()}
    try:
        store.append(row)
    except TypeError as error:
        row = {name: row[name] for name in row if name != "values"} | {"error": f"TypeError: {error}"}
        store.append(row)
    finally:
        store.release(key)
    return row
