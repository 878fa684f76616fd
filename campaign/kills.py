"""Writers and commands that are killed at any moment, share a folder, or find no room: nothing is lost or half-written.

A child does the work over and over and is killed after a random time, by SIGKILL or SIGTERM. Then every file must be
one of the whole ones that the work writes, and the next undisturbed work must leave these files alone.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from rich.progress import track

from campaign.works import WORKS, empty
from featavg.errors import InputError
from featavg.files import PARTIAL
from featavg.record import Claim, Evidence, Provenance, Record, Table

KILLS = 45  # of each work
SHARE = {"refine": 0.5}  # of the kills, where one work takes seconds


def run(folder: Path, workers: int = 1, kills: int = KILLS) -> Record:
    """Kill every work so many times, and sum up."""
    began = time.perf_counter()
    found: Counter[str] = Counter()
    done = 0
    for name in track(WORKS, description="kills"):
        count = max(int(kills * SHARE.get(name, 1.0)), 2)
        found += killed(name, count)
        found += shared(name)
        found += without_room(name)
        done += count
    return _record(found, done, time.perf_counter() - began)


def killed(name: str, kills: int) -> Counter[str]:
    """What was wrong after so many kills of a work: fault -> times."""
    rng, faults = np.random.default_rng([kills, len(name)]), Counter[str]()
    with _prepared(name) as (folder, write, read, expected, seconds):
        for turn in range(kills):
            if turn % 2:
                empty(folder)  # every other time there was nothing before
            by = signal.SIGTERM if turn % 4 >= 2 else signal.SIGKILL
            child = _start(lambda: _forever(write))
            time.sleep(float(rng.uniform(0.0, 2.0)) * seconds + 0.01)
            os.kill(child, by)
            os.waitpid(child, 0)
            faults.update(_faults(name, folder, read, expected, empty=bool(turn % 2)))
            write()
            left = sorted(_names(folder) - expected)
            faults.update(f"{name}: {_told(one)} stays after the next work" for one in left)
    return faults


def shared(name: str, children: int = 2) -> Counter[str]:
    """What was wrong after processes did the same work into one folder at once."""
    with _prepared(name) as (folder, write, read, expected, _):
        started = [_start(lambda: [write() for _ in range(3)]) for _ in range(children)]
        ends = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in started]
        faults = Counter(f"{name}: a process that shares its folder ends with {end}" for end in ends if end)
        faults.update(_faults(name, folder, read, expected, empty=False))
        faults.update(f"{name}: {_told(one)} stays after two processes" for one in _names(folder) - expected)
    return faults


def without_room(name: str) -> Counter[str]:
    """What was wrong after work that could write no more than 100 bytes of a file: a full disk, for a writer."""
    with _prepared(name) as (folder, write, read, expected, _):
        before = {path: path.read_bytes() for path in folder.iterdir()}
        end = os.waitstatus_to_exitcode(os.waitpid(_start(lambda: _cramped(write)), 0)[1])
        faults = Counter[str]() if end == 2 else Counter([f"{name}: no sentence without room, but {end}"])
        faults.update(_faults(name, folder, read, expected, empty=False))
        faults.update(f"{name}: {_told(one)} stays without room" for one in _names(folder) - expected)
        changed = [path for path, content in before.items() if path.exists() and path.read_bytes() != content]
        faults.update(f"{name}: {path.name} changed without room" for path in changed if path.suffix == ".npz")
    return faults


@contextlib.contextmanager
def _prepared(name: str) -> Iterator[tuple[Path, Callable[[], object], Callable[[Path], object], set[str], float]]:
    """A folder that the work has written to, the work, its reader, the names of its files, and its seconds."""
    with TemporaryDirectory() as place:
        folder = Path(place) / "out"
        folder.mkdir()
        write, read = WORKS[name](folder)
        seconds = _time(write)
        yield folder, write, read, _names(folder), seconds


def _faults(name: str, folder: Path, read: Callable[[Path], object], expected: set[str], empty: bool) -> Iterator[str]:
    """Files that are not whole, and, where there was one before, files that are gone."""
    for one in sorted(expected):
        path = folder / one
        if not path.exists():
            if not empty:
                yield f"{name}: {one} is lost"
            continue
        # Of files that belong together the last is moved last: without it there is nothing yet.
        if empty and not all((folder / other).exists() for other in expected if Path(other).stem == path.stem):
            continue
        try:
            read(path)
        except Exception as error:  # whatever a reader says of a file that must be whole
            yield f"{name}: {one} is damaged, {type(error).__name__}: {str(error)[:100]}"


def _start(work: Callable[[], object]) -> int:
    """A child that does this work, silently; its number."""
    sys.stdout.flush()
    child = os.fork()
    if child:
        return child
    end = 1
    try:
        for stream in (1, 2):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
        work()
        end = 0
    except InputError:
        end = 2
    except SystemExit as error:
        end = int(error.code or 0)
    except BaseException:
        end = 1
    finally:
        os._exit(end)


def _forever(work: Callable[[], object]) -> None:
    while True:
        work()


def _cramped(work: Callable[[], object]) -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
    work()


def _time(work: Callable[[], object]) -> float:
    """Seconds of the second time: the first imports and compiles."""
    work()
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def _told(name: str) -> str:
    return "a partial file" if name.endswith(PARTIAL) else name


def _record(faults: Counter[str], kills: int, seconds: float) -> Record:
    claim = Claim.exact(
        sum(faults.values()), "Work that is killed, shared or without room loses and leaves nothing.",
        source="campaign", expected=0, tolerance=0, tolerance_reason="a file is whole or as it was",
        how=f"faults after {kills} kills of {len(WORKS)} works, two processes in a folder, and files of 100 bytes",
    )  # fmt: skip
    notes = tuple(f"{fault} ({count})" for fault, count in faults.items())
    return Record(
        name="kills",
        title="Killed writers leave whole files",
        config={"kills": kills, "works": list(WORKS)},
        seeds=(0,),
        claims=(claim,),
        evidence=Evidence(Table.of({"kills": np.array([kills])}), (), notes, Provenance(seconds=round(seconds, 1))),
    )
