"""Drivers, workers and a dask scheduler as real processes on loopback, and how they are found and killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

FEATAVG = "from featavg.cli import main; main()"
LONGEST = 300.0  # seconds that anything here may take
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
WORKER = "spawn_main"  # stands in the command line of processes of a driver or of a nanny


def start_driver(spec: Path, store: Path, *options: str, limit: int | None = None) -> subprocess.Popen[str]:
    """`featavg sweep`, as a user starts it; with `limit` no file may grow beyond so many bytes."""
    code = FEATAVG
    if limit is not None:
        # Writing then fails as on a full disk, after a part of the line; all processes below inherit it.
        code = (
            f"import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
            f"resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit})); {FEATAVG}"
        )
    return subprocess.Popen(
        [sys.executable, "-c", code, "sweep", str(spec), "-o", str(store), *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
    )


def children(process: int, word: str = "") -> list[int]:
    """The living processes below a process whose command line holds a word."""
    parents: dict[int, int] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with suppress(OSError):
                about = Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()
                if about[0] not in "ZX":
                    parents[int(entry)] = int(about[1])
    below, ring = set[int](), {process}
    while ring := {child for child, parent in parents.items() if parent in ring}:
        below |= ring
    return sorted(child for child in below if word in _command(child))


def kill(process: int) -> bool:
    """SIGKILL; False if it was gone already."""
    try:
        os.kill(process, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


class Dask:
    """A scheduler and two workers, each with a nanny that starts it again."""

    def __init__(self, folder: Path, deaths: int) -> None:
        self.file = folder / "scheduler.json"
        self.environment = ENVIRONMENT | {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": str(deaths)}
        self.scheduler = self._start("dask_scheduler", "--port", "0", "--no-dashboard")
        until(lambda: self.file.exists() and self.file.stat().st_size > 0, "the scheduler to start")
        self.start_workers()

    @property
    def address(self) -> str:
        """Where the scheduler listens."""
        return str(json.loads(self.file.read_text())["address"])

    def workers(self) -> list[int]:
        """The processes that run trials."""
        return [child for nanny in self.nannies for child in children(nanny.pid, WORKER)]

    def start_workers(self) -> None:
        """Two, each of one thread."""
        one = ("dask_worker", "--nworkers", "1", "--nthreads", "1", "--no-dashboard")
        self.nannies = [self._start(*one) for _ in range(2)]

    def end_workers(self) -> None:
        """The nannies too, so that none comes back."""
        for nanny in self.nannies:
            _end_with_children(nanny)

    def close(self) -> None:
        """End everything that was started."""
        self.end_workers()
        _end_with_children(self.scheduler)

    def _start(self, program: str, *options: str) -> subprocess.Popen[bytes]:
        where = ["--host", "127.0.0.1", "--scheduler-file", str(self.file)]
        command = [sys.executable, "-m", f"distributed.cli.{program}", *where, *options]
        quiet = subprocess.DEVNULL
        return subprocess.Popen(command, stdout=quiet, stderr=quiet, env=self.environment, cwd=self.file.parent)


def _end_with_children(process: subprocess.Popen[bytes]) -> None:
    below = children(process.pid)
    process.kill()
    process.wait()
    for child in below:
        kill(child)


@contextmanager
def dask(folder: Path, deaths: int = 3) -> Iterator[Dask]:
    """A cluster that does not outlive the block, and itself repeats a trial after so many deaths of its worker."""
    found = Dask(folder, deaths)
    try:
        yield found
    finally:
        found.close()


def until(true: Callable[[], object], what: str) -> None:
    """Wait until a call returns something true."""
    end = time.monotonic() + LONGEST
    while not true():
        if time.monotonic() > end:
            raise TimeoutError(f"waited {LONGEST:g} seconds for {what}")
        time.sleep(0.02)


def _command(process: int) -> str:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return ""
