"""The loop over trials: on processes of this machine, on any executor, or as one shard of a job array."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from secrets import token_hex
from typing import Any

from featavg.errors import InputError
from featavg.processes import NO_WORKER, check_importable, processes
from featavg.sweep.specification import Specification, Trial, read_specification, version_of
from featavg.sweep.store import Store
from featavg.sweep.table import Results
from featavg.sweep.worker import Row, Task, leave_with_driver, run_here, run_trial

# How long to wait before looking whether another driver has finished what it claimed.
POLL = 0.5
# Trials handed to an executor at once, per worker: enough to keep it busy, few enough to suspect when it breaks.
AHEAD = 2
# The same for an executor of somebody else, whose workers are not known.
MANY = 1000


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
    again: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> Results:
    """Run what is missing of a sweep, and return the table of all of it.

    Args:
        source: a specification, a dict, or the path of a TOML file.
        folder: where trials are kept; what is there is not run again.
        executor: any `concurrent.futures.Executor`, as dask's `Client.get_executor()`; where its workers do not see
            the folder, results are written by this process.
        workers: processes on this machine, without an executor; all cores by default, 0 to run in this process.
        shard: (i, n) runs the i-th of n shares, i from 0: for job arrays that share the folder.
        tries: how often a trial may take its worker down before it is given up.
        again: run trials that failed before once more.
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
    if executor is None and workers != 0:
        check_importable(spec.function)
    version = version_of(spec.resolve())
    store, wanted = Store(folder, spec.function, version), spec.trials()
    if shard is not None:
        wanted = [trial for trial in wanted if int(trial.key, 16) % shard[1] == shard[0]]
    if again:
        store.forget_failures()
    run = _Run(store, spec.function, version, Progress(len(wanted)), progress or (lambda _: None), tries)
    if executor is not None:
        run.pool, run.call, run.ahead, run.renews = (lambda _: nullcontext(executor)), run_trial, MANY, False
    elif workers != 0:
        count = workers or os.cpu_count() or 1
        run.pool, run.ahead = (lambda left: processes(min(count, left), leave_with_driver)), AHEAD * count
    try:
        run.all_of(wanted)
    finally:
        store.close()
    return Results(wanted, store.rows())


@dataclass
class _Run:
    store: Store
    function: str
    version: int | str
    told: Progress
    progress: Callable[[Progress], None]
    tries: int
    pool: Callable[[int], AbstractContextManager[Executor]] | None = None  # None: this process
    call: Callable[[Task, str], Row | None] = run_here
    ahead: int = 1
    renews: bool = True  # whether the pool can be made anew

    def all_of(self, trials: list[Trial]) -> None:
        """Until every trial is stored: what another driver is at is waited for, and run here if it is left undone."""
        self._tell(trials)
        self.told.at_start, self.beacon = self.told.done, self.store.beacon()
        while missing := self._tell(trials):
            living = self.store.claims.living()
            free = [trial for trial in missing if trial.key not in living]
            if not free:
                time.sleep(POLL)
            elif self.pool is None:
                for trial in free:
                    self._finish(run_trial(self._task(trial)))
            else:
                self._share_out(free)

    def _tell(self, trials: list[Trial]) -> list[Trial]:
        """Look into the store and say how far all is; return what is missing."""
        known = self.store.rows()
        missing = [trial for trial in trials if trial.key not in known]
        self.told.done = len(trials) - len(missing)
        self.told.failed = sum("error" in known.get(trial.key, {}) for trial in trials)
        self.progress(self.told)
        return missing

    def _share_out(self, trials: list[Trial]) -> None:
        """Hand out all; when a worker dies, what was under way is then run one at a time, so that the culprit shows."""
        left, suspects = deque(trials), list[Trial]()
        assert self.pool is not None
        while left:
            with self.pool(len(left)) as pool:
                suspects += self._feed(pool, left, self.ahead)
        for trial in suspects:
            self._alone(trial)

    def _alone(self, trial: Trial) -> None:
        """Run a trial by itself, as often as it may take its worker down."""
        assert self.pool is not None
        for _ in range(self.tries):
            with self.pool(1) as pool:
                if not self._feed(pool, deque([trial]), 1):
                    return
        if self.renews and not self.store.claims.held(trial.key):  # no worker got as far as the trial
            raise InputError(NO_WORKER)
        row = {"key": trial.key, "parameters": dict(trial.parameters), "seed": trial.seed}
        self._finish(row | {"error": f"given up: it took its worker down {self.tries} times"})
        self.store.claims.give_back(trial.key)

    def _feed(self, executor: Executor, left: deque[Trial], ahead: int) -> list[Trial]:
        """Hand trials out until none is left or the executor breaks; return those that were under way then."""
        running: dict[Future[Any], Trial] = {}
        suspects: list[Trial] = []
        broken, wanted = False, len(left)
        try:
            while running or (left and not broken):
                while left and not broken and len(running) < ahead:
                    try:
                        running[executor.submit(self.call, self._task(left[0]), token_hex(8))] = left[0]
                        left.popleft()
                    except Exception:  # it died, or was shut down, between two trials
                        if self.renews and len(left) == wanted:
                            raise InputError(NO_WORKER) from None
                        broken = True
                ended, _ = wait(running, timeout=POLL, return_when=FIRST_COMPLETED)
                for future in ended:
                    trial = running.pop(future)
                    try:
                        self._finish(future.result())
                    except (InputError, ImportError, AttributeError) as error:
                        raise InputError(f"a worker cannot run trials: {error}") from None  # or cannot store them
                    except (BrokenExecutor, CancelledError):
                        broken = True
                        suspects.append(trial)
                    except Exception:  # an executor's own word for a worker that died, as dask's KilledWorker
                        suspects.append(trial)
        finally:
            for future in running:
                future.cancel()
        if broken and not self.renews:
            done = self._done(suspects)
            raise InputError(
                f"the executor is gone; {self.told.done + done} of {self.told.total} trials are stored, run again to "
                "go on"
            )
        known = self.store.rows() if suspects else {}
        return [trial for trial in suspects if trial.key not in known]

    def _done(self, trials: list[Trial]) -> int:
        known = self.store.rows()
        return sum(trial.key in known for trial in trials)

    def _task(self, trial: Trial) -> Task:
        return Task(str(self.store.folder.absolute()), self.beacon, self.function, self.version, trial)

    def _finish(self, row: Row | None) -> None:
        """Count a trial, and write it down if its worker did not see the folder."""
        if row is None:
            return
        if row["key"] not in self.store.rows():
            self.store.append(row)
        self.told.done += 1
        self.told.failed += "error" in row
        self.progress(self.told)


def _check_numbers(workers: int | None, shard: tuple[int, int] | None, tries: int) -> None:
    if workers is not None and not _is_whole(workers, 0):
        raise InputError(f"workers must be a whole number from 0, got {workers!r}")
    if not _is_whole(tries, 1):
        raise InputError(f"tries must be a whole number from 1, got {tries!r}")
    if shard is None:
        return
    if not (isinstance(shard, tuple | list) and len(shard) == 2 and all(_is_whole(part, 0) for part in shard)):
        raise InputError(f"a shard is two whole numbers, (i, n) for the i-th of n shares from 0, got {shard!r}")
    if not shard[0] < shard[1]:
        raise InputError(f"a shard i/n needs 0 <= i < n, got {shard[0]}/{shard[1]}")


def _is_whole(value: object, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least
