"""What a worker does with one trial: take it, run it, write it down. Importable by every process of every executor."""

from __future__ import annotations

import json
import multiprocessing
import multiprocessing.connection
import os
import socket
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from featavg.errors import InputError
from featavg.sweep.specification import Trial, resolve, version_of
from featavg.sweep.store import Store, plain
from featavg.threads import one_thread

# One store per process and driver, so that a worker has one file and not one for every trial.
_stores: dict[tuple[str, str, int], Store] = {}
_busy = threading.Lock()  # held while a process of our own runs a trial
Row = dict[str, Any]
TAKEN = ("seconds", "error")  # what a row tells of its trial


class Task(NamedTuple):
    """A trial on its way to a worker."""

    folder: str
    beacon: str  # a file of the driver in the folder
    function: str
    version: int | str  # of the function, as the driver has it
    trial: Trial


def run_trial(task: Task, ticket: str = "") -> Row | None:
    """Run a trial and store it, also if it fails; None if another driver is at it or has done it.

    A worker that does not see the driver's folder leaves writing to the driver, who finds no such row there. The ticket
    tells two calls for one trial apart, for executors that remember what they were asked.
    """
    function = resolve(task.function)
    if version_of(function) != task.version:
        raise InputError(
            f"a worker has version {version_of(function)} of {task.function}, the driver has {task.version}; "
            "install the same on both"
        )
    store = _store(task)
    key = task.trial.key
    if store is None:
        return _row(function, task.trial)
    if not store.claim(key):
        return None
    with store.claims.alive(key):
        row = _row(function, task.trial)
        store.append(row)
    return row


def run_here(task: Task, ticket: str = "") -> Row | None:
    """The same in a process that belongs to a driver."""
    with _busy:
        return run_trial(task, ticket)


def leave_with_driver() -> None:
    """Let this process end once its driver has died, after the trial that it is at."""

    def end_with_parent() -> None:
        parent = multiprocessing.parent_process()
        if parent is not None:
            multiprocessing.connection.wait([parent.sentinel])
            with _busy:
                os._exit(0)

    threading.Thread(target=end_with_parent, daemon=True).start()


def _store(task: Task) -> Store | None:
    """The driver's store, if this machine sees it."""
    where = task.folder, task.beacon, os.getpid()
    if where not in _stores:
        try:
            found = Store(task.folder)
        except InputError:
            return None
        if not found.sees(task.beacon):
            return None
        _stores[where] = found
    return _stores[where]


def _row(function: Callable[..., Mapping[str, Any]], trial: Trial) -> Row:
    row: Row = {"key": trial.key, "parameters": dict(trial.parameters), "seed": trial.seed}
    began = time.process_time()
    try:
        with one_thread():
            # As JSON holds it, so that a row is the same whoever writes it, and what cannot be written fails here.
            values = json.loads(json.dumps(dict(function(**trial.parameters, seed=trial.seed)), default=plain))
        _check_names(values, trial)
        row["values"] = values
    except (Exception, SystemExit) as error:  # whatever a trial dies of is its result, and stops nobody else
        row["error"] = f"{type(error).__name__}: {error}".splitlines()[0]
        row["trace"] = traceback.format_exc(limit=-5)
    return row | {"seconds": round(time.process_time() - began, 6), "host": socket.gethostname()}


def _check_names(values: Mapping[str, Any], trial: Trial) -> None:
    """Refuse what would take the place of another column of the table."""
    columns = {**trial.parameters, "seed": trial.seed}
    taken = [name for name in values if name in TAKEN or (name in columns and values[name] != columns[name])]
    if taken:
        raise InputError(f"a trial must return names that are no columns yet, got {taken[0]!r}; return another name")
