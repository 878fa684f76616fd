"""The loop over trials: on processes of this machine, on any executor, or as one shard of a job array."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from featavg.errors import InputError
from featavg.sweep.specification import Specification, Trial, read_specification
from featavg.sweep.store import Store
from featavg.sweep.table import Results
from featavg.sweep.worker import run_trial

# How long to wait before looking whether another driver has finished what it claimed.
POLL = 0.5
# Trials handed to an executor at once, per worker: enough to keep it busy, few enough to suspect when it breaks.
AHEAD = 2


@dataclass
class Progress:
    """How far a sweep is: told after every trial."""

    total: int
    done: int = 0
    failed: int = 0
    began: float = field(default_factory=time.monotonic)
    at_start: int = 0

    @property
    def rate(self) -> float:
        """Trials per second of this run."""
        return (self.done - self.at_start) / max(time.monotonic() - self.began, 1e-9)

    @property
    def seconds_left(self) -> float:
        """At this rate; ∞ before the first trial."""
        return (self.total - self.done) / self.rate if self.rate > 0 else float("inf")


def run_sweep(
    source: Specification | Mapping[str, Any] | str | os.PathLike[str],
    folder: str | os.PathLike[str],
    *,
    executor: Executor | None = None,
    workers: int | None = None,
    shard: tuple[int, int] | None = None,
    tries: int = 3,
    progress: Callable[[Progress], None] | None = None,
) -> Results:
    """Run what is missing of a sweep, and return the table of all of it.

    Args:
        source: a specification, a dict, or the path of a TOML file.
        folder: where trials are kept; what is there is not run again.
        executor: any `concurrent.futures.Executor`, as dask's `Client.get_executor()`; it must reach the folder, or its
            results are written by this process.
        workers: processes on this machine, without an executor; all cores by default, 0 to run in this process.
        shard: (i, n) runs the i-th of n shares, i from 0: for job arrays that share the folder.
        tries: how often a trial may take its worker down before it is given up.
        progress: called after every trial.

    >>> import tempfile
    >>> spec = {"function": "featavg.sweep.examples:line", "axes": {"slope": [1, 2]}, "seeds": 2}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run_sweep(spec, folder, workers=0).column("height").tolist()
    [1.0, 2.0, 2.0, 4.0]
    """
    spec = source if isinstance(source, Specification) else read_specification(source)
    spec.check()
    _check_numbers(workers, shard, tries)
    store, wanted = Store(folder, spec.function), spec.trials()
    if shard is not None:
        wanted = [trial for trial in wanted if int(trial.key, 16) % shard[1] == shard[0]]
    known = store.rows()
    missing = [trial for trial in wanted if trial.key not in known]
    told = Progress(len(wanted), len(wanted) - len(missing), at_start=len(wanted) - len(missing))
    told.failed = sum("error" in known[trial.key] for trial in wanted if trial.key in known)
    run = _Run(spec, store, told, progress or (lambda _: None), tries)
    if executor is not None:
        run.on(executor, missing)
    elif workers == 0:
        for trial in missing:
            run.finish(trial, run.call(trial))
    else:
        run.here(missing, workers or os.cpu_count() or 1)
    run.wait_for_others(missing)
    return Results(wanted, store.rows())


@dataclass
class _Run:
    spec: Specification
    store: Store
    told: Progress
    progress: Callable[[Progress], None]
    tries: int

    def arguments(self, trial: Trial) -> tuple[Any, ...]:
        return str(self.store.folder), self.spec.function, trial.key, dict(trial.parameters), trial.seed

    def call(self, trial: Trial) -> dict[str, Any] | None:
        return run_trial(*self.arguments(trial))

    def finish(self, trial: Trial, row: dict[str, Any] | None) -> None:
        """Count a trial, and write it down if its worker could not reach the folder."""
        if row is None:
            return
        self.told.done += 1
        self.told.failed += "error" in row
        self.progress(self.told)

    def here(self, trials: list[Trial], workers: int) -> None:
        """On processes of this machine; when one dies, those that were under way are run one per process."""
        left = deque(trials)
        while left:
            suspects: list[Trial] = []
            with _processes(min(workers, len(left))) as pool:
                suspects = self._feed(pool, left, AHEAD * workers)
            for trial in suspects:
                self.alone(trial)

    def on(self, executor: Executor, trials: list[Trial]) -> None:
        """On somebody's executor, which cannot be made anew: what its workers die of is tried again, then given up."""
        left = deque(trials)
        for _ in range(self.tries):
            suspects = self._feed(executor, left, 1000)
            if left:
                raise InputError(
                    f"the executor is gone; {self.told.done} of {self.told.total} trials are stored, run again to go on"
                )
            left.extend(suspects)
        for trial in left:
            self.give_up(trial)

    def alone(self, trial: Trial) -> None:
        """Run a trial in a process of its own, as often as it may kill it."""
        for _ in range(self.tries):
            with _processes(1) as pool:
                if not self._feed(pool, deque([trial]), 1):
                    return
        self.give_up(trial)

    def give_up(self, trial: Trial) -> None:
        row = {"key": trial.key, "parameters": dict(trial.parameters), "seed": trial.seed}
        row["error"] = f"given up: it took its worker down {self.tries} times"
        self.store.append(row)
        self.store.release(trial.key)
        self.finish(trial, row)

    def _feed(self, executor: Executor, left: deque[Trial], ahead: int) -> list[Trial]:
        """Hand trials out until none is left or the executor breaks; return those that were under way then."""
        running: dict[Future[Any], Trial] = {}
        suspects: list[Trial] = []
        broken = False
        while running or (left and not broken):
            while left and not broken and len(running) < ahead:
                try:
                    running[executor.submit(run_trial, *self.arguments(left[0]))] = left[0]
                    left.popleft()
                except (BrokenExecutor, RuntimeError):  # it died, or was shut down, between two trials
                    broken = True
            ended, _ = wait(running, timeout=POLL, return_when=FIRST_COMPLETED)
            for future in ended:
                trial = running.pop(future)
                try:
                    self.finish(trial, future.result())
                except (BrokenExecutor, CancelledError):
                    broken = True
                    suspects.append(trial)
                except Exception:  # an executor's own word for a worker that died, as dask's KilledWorker
                    suspects.append(trial)
        done = self.store.rows() if suspects else {}
        for trial in suspects:
            if trial.key in done:
                self.finish(trial, done[trial.key])
        return [trial for trial in suspects if trial.key not in done]

    def wait_for_others(self, trials: list[Trial]) -> None:
        """Until every trial is stored; what another driver left undone is run here."""
        while missing := [trial for trial in trials if trial.key not in (known := self.store.rows())]:
            free = [trial for trial in missing if not self.store.is_claimed(trial.key)]
            for trial in free:
                self.alone(trial)
            if not free:
                time.sleep(POLL)
        self.told.done = self.told.total
        self.told.failed = sum("error" in known.get(trial.key, {}) for trial in trials) if trials else self.told.failed
        self.progress(self.told)


@contextmanager
def _processes(count: int) -> Iterator[ProcessPoolExecutor]:
    """Fresh processes, which inherit nothing; an interruption ends them at once."""
    pool = ProcessPoolExecutor(count, mp_context=multiprocessing.get_context("spawn"))
    try:
        yield pool
    except BaseException:
        processes = list(getattr(pool, "_processes", None) or {})
        pool.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            _end(process)
        raise
    pool.shutdown()


def _end(process: int) -> None:
    import signal

    try:
        os.kill(process, signal.SIGTERM)
    except OSError:
        return


def _check_numbers(workers: int | None, shard: tuple[int, int] | None, tries: int) -> None:
    if workers is not None and (not isinstance(workers, int) or workers < 0):
        raise InputError(f"workers must be a whole number from 0, got {workers!r}")
    if not isinstance(tries, int) or tries < 1:
        raise InputError(f"tries must be a whole number from 1, got {tries!r}")
    if shard is not None and not 0 <= shard[0] < shard[1]:
        raise InputError(f"a shard i/n needs 0 <= i < n, got {shard[0]}/{shard[1]}")


def default_store(path: Path) -> Path:
    """Where the trials of a specification are kept by default: a folder beside it."""
    return path.with_suffix(".sweep")
