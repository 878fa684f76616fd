"""Workers of a dask scheduler as an executor; dask is imported only here (the extra `cluster`)."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, InvalidStateError
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any

import featavg
from featavg.errors import InputError

# Seconds after which a scheduler that does not answer is not there.
PATIENCE = 10.0
# Seconds between two looks at whether it is still there.
LOOK = 0.5


@contextmanager
def cluster(scheduler: str, patience: float = PATIENCE) -> Iterator[Executor]:
    """The executor of a scheduler `tcp://host:port`, once its workers are known to have the same featavg.

    `run_sweep`, `robust_radius`, `robust_at` and `refine_points` take it as `executor=`.
    """
    try:
        distributed: Any = import_module("distributed")
    except ImportError:
        raise InputError("a scheduler needs dask: pip install 'featavg[cluster]'") from None
    try:
        client = distributed.Client(scheduler, timeout=patience)
    except (OSError, ValueError, TimeoutError) as error:
        raise InputError(f"no dask scheduler answers at {scheduler} ({type(error).__name__}); check it") from None
    log = logging.getLogger("distributed.client")
    before = log.level
    log.setLevel(logging.CRITICAL)  # a scheduler that goes is told by whoever uses the executor, in one sentence
    workers = _Workers(client, patience)
    try:
        _check_versions(client, scheduler)
        yield workers
    finally:
        workers.over.set()
        client.close()
        log.setLevel(before)


class _Workers(Executor):
    """`Client.get_executor()`, but every future ends; dask's own waits for ever if a scheduler goes in a transfer."""

    def __init__(self, client: Any, patience: float) -> None:
        self.client, self.patience, self.over = client, patience, threading.Event()
        self.pending: dict[Future[Any], Any] = {}
        threading.Thread(target=self._watch, daemon=True).start()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Hand a call to the scheduler."""
        theirs = self.client.submit(fn, *args, **kwargs, pure=False)
        mine: Future[Any] = Future()
        self.pending[mine] = theirs
        theirs.add_done_callback(lambda done: self._pass_on(done, mine))
        return mine

    def _pass_on(self, theirs: Any, mine: Future[Any]) -> None:
        try:
            value = theirs.result()
        except CancelledError:
            self._end(mine, BrokenExecutor("the scheduler is gone"))
        except Exception as error:
            self._end(mine, error)
        else:
            self._end(mine, None, value)

    def _end(self, mine: Future[Any], error: Exception | None, value: Any = None) -> None:
        self.pending.pop(mine, None)
        with suppress(InvalidStateError):  # it was cancelled, or ended by the watch
            if error is None:
                mine.set_result(value)
            else:
                mine.set_exception(error)

    def _watch(self) -> None:
        """End all that is under way once the client has given the scheduler up; say when nobody is left to work."""
        idle = 0.0
        while not self.over.wait(LOOK):
            if self.client.status in ("closing", "closed"):
                for mine in list(self.pending):
                    self._end(mine, BrokenExecutor("the scheduler is gone"))
                continue
            alone = self.pending and not self.client.scheduler_info()["workers"]
            before, idle = idle, idle + LOOK if alone else 0.0
            if before < self.patience <= idle:
                logging.getLogger("featavg").warning(
                    "the scheduler has had no worker for %g seconds; start one, or end with Ctrl-C: nothing is lost",
                    self.patience,
                )


def own_version() -> str:
    """The version of featavg where this is run."""
    return featavg.__version__


def _check_versions(client: Any, scheduler: str) -> None:
    """Refuse workers that would run other code than the driver."""
    try:
        found = client.run(own_version)
    except Exception as error:  # whatever a worker without featavg, or with an older one, makes of the call
        said = f"{type(error).__name__}: {error}".splitlines()[0]
        raise InputError(
            f"the workers of {scheduler} cannot run featavg {own_version()} ({said}); install it there"
        ) from None
    others = sorted({str(version) for version in found.values()} - {own_version()})
    if others:
        raise InputError(
            f"workers of {scheduler} have featavg {', '.join(others)}, this is {own_version()}; install the same on all"
        )
