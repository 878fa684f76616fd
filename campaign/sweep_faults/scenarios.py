"""What can go wrong, one function each: kill at random moments, look at the store after each, finish, compare."""

from __future__ import annotations

import json
import random
import re
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from campaign.sweep_faults.processes import LONGEST, WORKER, children, dask, kill, start_driver, until
from featavg.sweep import Store

SEEDS = 2
PAUSE = 0.05
MODULE = "campaign.sweep_faults.functions"
PROGRESS = re.compile(r"\d+ %: ")  # how a line of progress begins, which comes every few seconds


@dataclass
class Sweep:
    """A sweep of known values in a folder of its own."""

    folder: Path
    points: int
    function: str = "marked"
    bad: int | None = None
    complaints: list[str] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)  # trials that were stored at the last look

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True)
        self.marks, self.store, self.spec = self.folder / "marks", self.folder / "store", self.folder / "spec.toml"
        self.marks.mkdir()
        base = {"folder": str(self.marks), "pause": PAUSE} | ({} if self.bad is None else {"bad": self.bad})
        lines = [f'function = "{MODULE}:{self.function}"', f"seeds = {SEEDS}", "[base]"]
        lines += [f"{name} = {json.dumps(value)}" for name, value in base.items()]
        lines += ["[axes]", f"x = {list(range(self.points))}"]
        self.spec.write_text("\n".join(lines) + "\n")

    def lines(self) -> Counter[str]:
        """How often each trial stands in the files of the store."""
        found: Counter[str] = Counter()
        for path in (self.store / "trials").glob("*.jsonl"):
            for line in path.read_bytes().splitlines():
                try:
                    found[json.loads(line)["key"]] += 1
                except (ValueError, KeyError):
                    continue
        return found

    def look(self) -> int:
        """Complain if a stored trial is gone; return how many there are."""
        found = set(self.lines())
        if lost := self.seen - found:
            self.complaints.append(f"{len(lost)} stored trials are gone")
        self.seen = found
        return len(found)

    def judge(self, kills: int, under_way: int) -> None:
        """Complain of all that is wrong with the finished table: `under_way` trials at most were lost to each kill."""
        self.look()
        rows = Store(self.store).rows()
        wanted = {(x, seed) for x in range(self.points) for seed in range(SEEDS)}
        found = {(row["parameters"]["x"], row["seed"]) for row in rows.values()}
        if found != wanted:
            self.complaints.append(f"{len(wanted - found)} trials are missing, {len(found - wanted)} are strange")
        doubled = sum(count > 1 for count in self.lines().values())
        if doubled:
            self.complaints.append(f"{doubled} trials are stored twice")
        for row in rows.values():
            x, seed = row["parameters"]["x"], row["seed"]
            if x != self.bad and row.get("values") != {"y": x * x + seed}:
                self.complaints.append(f"x={x}, seed={seed} is {row.get('values', row.get('error'))}")
        calls = len(list(self.marks.iterdir()))
        expected = len(wanted) - (SEEDS if self.bad is not None else 0)
        if not expected <= calls <= expected + kills * under_way:
            self.complaints.append(f"{calls} calls for {expected} trials and {kills} kills")
        if left := list((self.store / "claims").iterdir()):
            self.complaints.append(f"{len(left)} claims are left behind")

    def finish(self, driver: subprocess.Popen[str], code: int = 0, sentence: str = "") -> None:
        """Wait for a driver, which must end with this code and say this, in one line beside those of its progress."""
        try:
            _, said = driver.communicate(timeout=LONGEST)
        except subprocess.TimeoutExpired:
            driver.kill()
            self.complaints.append(f"a driver did not end within {LONGEST:g} seconds")
            return
        lines = [line for line in said.splitlines() if line.strip() and not PROGRESS.match(line)]
        if driver.returncode != code or (sentence and (len(lines) != 1 or sentence not in lines[0])):
            self.complaints.append(f"a driver ended with {driver.returncode} and said {said!r}")


def killed_drivers(sweep: Sweep, kills: int, rng: random.Random) -> int:
    """The driver is killed at random moments and started again; what its workers are at they finish."""
    done = 0
    for _ in range(kills):
        driver = start_driver(sweep.spec, sweep.store, "--workers", "2")
        _let_run(sweep, driver, rng)
        workers = children(driver.pid, WORKER)
        done += kill(driver.pid)
        driver.communicate(timeout=LONGEST)
        sweep.look()
        until(lambda left=workers: not any(_lives(one) for one in left), "orphaned workers to end")  # type: ignore[misc]
    sweep.finish(start_driver(sweep.spec, sweep.store, "--workers", "2"))
    # A driver's death costs nothing: its workers finish and store what they are at.
    sweep.judge(done, under_way=0)
    return done


def killed_workers(sweep: Sweep, kills: int, rng: random.Random) -> int:
    """Workers of one driver are killed, which goes on."""
    driver = start_driver(sweep.spec, sweep.store, "--workers", "2", "--tries", "50")
    done = _kill_some(sweep, driver, lambda: children(driver.pid, WORKER), kills, rng)
    sweep.finish(driver)
    # A broken pool of processes ends all of its workers.
    sweep.judge(done, under_way=2)
    return done


def two_drivers(sweep: Sweep, kills: int, rng: random.Random) -> int:
    """Two drivers on one store, one of which is killed again and again."""
    steady = start_driver(sweep.spec, sweep.store, "--workers", "1")
    done = 0
    for _ in range(kills):
        other = start_driver(sweep.spec, sweep.store, "--workers", "1")
        _let_run(sweep, other, rng)
        done += kill(other.pid)
        other.communicate(timeout=LONGEST)
        sweep.look()
    last = start_driver(sweep.spec, sweep.store, "--workers", "1")
    sweep.finish(last)
    sweep.finish(steady)
    sweep.judge(done, under_way=0)
    return done


def killed_dask_workers(sweep: Sweep, kills: int, rng: random.Random) -> int:
    """Workers of a dask scheduler are killed; their nannies start others."""
    with dask(sweep.folder) as cluster:
        driver = start_driver(sweep.spec, sweep.store, "--scheduler", cluster.address, "--tries", "50")
        done = _kill_some(sweep, driver, cluster.workers, kills, rng)
        sweep.finish(driver)
    sweep.judge(done, under_way=1)
    return done


def lost_scheduler(sweep: Sweep, kills: int, rng: random.Random) -> int:
    """The scheduler is killed: the driver says so and ends, and the next one goes on."""
    done = 0
    for number in range(kills):
        place = sweep.folder / f"dask-{number}"
        place.mkdir()
        with dask(place) as cluster:
            driver = start_driver(sweep.spec, sweep.store, "--scheduler", cluster.address)
            _let_run(sweep, driver, rng)
            done += kill(cluster.scheduler.pid)
            sweep.finish(driver, 2, "the executor is gone")
            sweep.look()
    sweep.finish(start_driver(sweep.spec, sweep.store, "--workers", "2"))
    sweep.judge(done, under_way=2)
    return done


def full_disk(sweep: Sweep, kills: int, rng: random.Random) -> int:
    """Files cannot grow beyond a size: the driver says so and ends, and the next one goes on."""
    for _ in range(kills):
        limit = rng.randrange(400, 2000)
        driver = start_driver(sweep.spec, sweep.store, "--workers", "2", limit=limit)
        sweep.finish(driver, 2, "cannot write to the store")
        sweep.look()
    sweep.finish(start_driver(sweep.spec, sweep.store, "--workers", "2"))
    sweep.judge(kills, under_way=4)
    return 0


def poison(sweep: Sweep, kills: int, rng: random.Random) -> int:
    """A trial that kills its worker every time is given up by name, here and on dask; the others are done."""
    with dask(sweep.folder, deaths=0) as cluster:
        for options in (("--workers", "2"), ("--scheduler", cluster.address)):
            other = Sweep(sweep.folder / options[0][2:], sweep.points, "poisoned", bad=1)
            other.finish(start_driver(other.spec, other.store, *options, "--tries", "2"))
            other.judge(SEEDS * 2, under_way=2)
            rows = [row for row in Store(other.store).rows().values() if "error" in row]
            if [row["parameters"]["x"] for row in rows] != [1] * SEEDS:
                other.complaints.append(f"{len(rows)} trials were given up")
            if any("took its worker down 2 times" not in row["error"] for row in rows):
                other.complaints.append(f"given up as {rows[0]['error']}")
            sweep.complaints += other.complaints
    return 0


def _let_run(sweep: Sweep, driver: subprocess.Popen[str], rng: random.Random) -> None:
    """Until a few trials more are stored, or none is left, and a moment longer."""
    goal = min(sweep.look() + rng.randrange(1, 8), sweep.points * SEEDS)
    until(lambda: driver.poll() is not None or len(sweep.lines()) >= goal, "trials to be stored")
    time.sleep(rng.uniform(0, 2 * PAUSE))


def _kill_some(
    sweep: Sweep, driver: subprocess.Popen[str], victims: Callable[[], list[int]], kills: int, rng: random.Random
) -> int:
    done = 0
    for _ in range(kills):
        _let_run(sweep, driver, rng)
        until(lambda: driver.poll() is not None or victims(), "workers to start")
        if driver.poll() is not None:
            break
        done += kill(rng.choice(victims()))
    return done


def _lives(process: int) -> bool:
    return Path(f"/proc/{process}/stat").exists() and bool(Path(f"/proc/{process}/cmdline").read_bytes())


SCENARIOS: dict[str, Callable[[Sweep, int, random.Random], int]] = {
    "killed drivers": killed_drivers,
    "killed workers": killed_workers,
    "two drivers": two_drivers,
    "killed dask workers": killed_dask_workers,
    "lost scheduler": lost_scheduler,
    "full disk": full_disk,
    "poison": poison,
}
