"""Writers and commands that are killed at any moment, share a folder, or find no room: nothing is lost or half-written.

A child does the work over and over and is killed after a random time, by SIGKILL or SIGTERM. Then every file must be
one of the whole ones that the work writes, and the next undisturbed work must leave these files alone. Every work is
also done by a process whose home cannot be written to.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from campaign.kept import kept_rows
from campaign.read_only import run_python
from campaign.works import WORKS, empty
from featavg.errors import InputError
from featavg.files import PARTIAL
from featavg.record import Claim, Evidence, Provenance, Record, Table
from featavg.sweep import Specification

KILLS = 45  # of each work
SHARE = {"refine": 0.5}  # of the kills, where one work takes seconds
ALONE = """
import os, sys, pathlib
from campaign.works import WORKS
assert not os.access(os.environ["HOME"], os.W_OK)
WORKS[sys.argv[1]](pathlib.Path(sys.argv[2]))[0]()
"""


def run(folder: Path, workers: int = 1, kills: int = KILLS) -> Record:
    """Disturb every work in every way, and sum up; what the folder holds is not done again."""
    axes = {"work": list(WORKS), "way": list(WAYS)}
    rows = kept_rows(Specification("campaign.kills:disturbed", base={"kills": kills}, axes=axes), folder, workers)
    found = sum((Counter(json.loads(row["faults"])) for row in rows), Counter[str]())
    return _record(found, sum(row["kills_done"] for row in rows), sum(row["cpu"] for row in rows))


def disturbed(work: str, way: str, kills: int, seed: int) -> dict[str, Any]:
    """The faults of a work that is disturbed in one way, as they are kept."""
    began = _cpu()
    count = max(int(kills * SHARE.get(work, 1.0)), 2)
    faults = WAYS[way](work, count)
    return {"faults": json.dumps(faults), "kills_done": count * (way == "kills"), "cpu": _cpu() - began}


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
        end = _ending(lambda: _cramped(write))
        faults = Counter(_faults(name, folder, read, expected, empty=False))
        if end not in (0, 2):
            faults[f"{name}: no sentence without room, but {end}"] += 1
        changed = [path.name for path, content in before.items() if path.exists() and path.read_bytes() != content]
        faults.update(f"{name}: {one} changed without room" for one in changed if end == 0 or one.endswith(".npz"))
        faults.update(f"{name}: {_told(one)} stays without room" for one in _names(folder) - expected)
        empty(folder)
        end = _ending(lambda: _cramped(write))
        if end != 2:
            faults[f"{name}: nothing there, no sentence without room, but {end}"] += 1
        faults.update(_faults(name, folder, read, expected, empty=True))
        faults.update(f"{name}: {_told(one)} begun without room" for one in _names(folder) - expected)
    return faults


def with_read_only_home(name: str) -> Counter[str]:
    """What was wrong after a new process did the work with a home that cannot be written to."""
    with TemporaryDirectory() as place, _prepared(name) as (_, _, read, expected, _):
        home, folder = Path(place) / "home", Path(place) / "out"
        for made in (home, folder):
            made.mkdir()
        arguments = ("-c", ALONE, name, str(folder))
        done = run_python(*arguments, home=home, at=folder, path=Path(__file__).parents[1])
        faults = Counter[str]()
        if done.returncode:
            last = next(reversed(done.stderr.splitlines()), "nothing said")
            faults[f"{name}: with a read-only home it ends with {done.returncode}, {last[:100]}"] += 1
        faults.update(_faults(name, folder, read, expected, empty=False))
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


def _ending(work: Callable[[], object]) -> int:
    """How a child ends that does this work."""
    return os.waitstatus_to_exitcode(os.waitpid(_start(work), 0)[1])


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


WAYS: dict[str, Callable[[str, int], Counter[str]]] = {
    "kills": killed,
    "two processes": lambda work, _: shared(work),
    "full disk": lambda work, _: without_room(work),
    "read-only home": lambda work, _: with_read_only_home(work),
}


def _cpu() -> float:
    """CPU seconds of this process and of its children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def _record(faults: Counter[str], kills: int, seconds: float) -> Record:
    claim = Claim.exact(
        sum(faults.values()), "Work that is killed, shared, without room or without a home loses and leaves nothing.",
        source="campaign", expected=0, tolerance=0, tolerance_reason="a file is whole or as it was",
        how=f"faults after {kills} kills of {len(WORKS)} works, two processes in a folder, files of at most 100 bytes, "
        "and a home that is read-only",
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
