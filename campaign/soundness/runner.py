"""The campaign: problem after problem, kept in a file of JSON lines, summed up in a record.

A run that was interrupted goes on where it stopped, as long as neither the product nor the campaign has changed.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import multiprocessing
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import featavg
from campaign.soundness.problem import Problem
from campaign.soundness.product import radius_bracket
from campaign.soundness.summary import summed_up
from campaign.soundness.trial import ROUND, failure, posed, tried
from featavg.record import Record
from featavg.robustness.warm import warm_up

PROBLEMS = 100_000
CHECKPOINT = 200  # problems between two writings to the file
LINE = 50  # problems between two looks at the progress line
SHARE = 20  # problems that a process is given at a time


def run(folder: Path, workers: int = 1, problems: int = PROBLEMS, seed: int = 0) -> Record:
    """Try what has not been tried yet, in so many processes, and sum up."""
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / f"soundness-{seed}-{fingerprint()}.jsonl"
    failures = kept.with_suffix(".failures.jsonl")
    done = list(finished(kept))[:problems]
    if len(done) < problems:
        compile_kernels(seed)
    began = time.perf_counter()
    fresh: list[dict[str, Any]] = []
    try:
        for told, problem in trials(seed, range(len(done), problems), workers):
            fresh.append(told)
            if told["faults"] or any(damage.startswith(("above", "traceback")) for damage in told["damages"]):
                _append(failures, [failure(told, problem)])
            is_checkpoint = len(fresh) == CHECKPOINT
            if is_checkpoint or len(fresh) % LINE == 0:
                print(progress(done + fresh, problems, time.perf_counter() - began), end="\r", flush=True)
            if is_checkpoint:
                _append(kept, fresh)
                done, fresh = done + fresh, []
                print()
    finally:
        _append(kept, fresh)
    return summed_up(done + fresh, seed)


def compile_kernels(seed: int) -> None:
    """Ask the first problems without a clock: one that waits for the compiler would count as one that never returns."""
    warm_up()
    for number in range(ROUND):
        with contextlib.suppress(Exception):  # what goes wrong is told when its turn comes
            radius_bracket(posed(seed, number)[1])


def trials(seed: int, numbers: range, workers: int) -> Iterator[tuple[dict[str, Any], Problem]]:
    """What comes of each problem, in order."""
    if workers == 1 or not numbers:
        yield from map(partial(tried, seed), numbers)
        return
    with multiprocessing.get_context("spawn").Pool(workers) as pool:
        yield from pool.imap(partial(tried, seed), numbers, SHARE)


def progress(done: list[dict[str, Any]], problems: int, seconds: float) -> str:
    """One line about what has come so far."""
    faulty = sum(bool(told["faults"]) for told in done)
    closed = sum(told["closed_as_floats_go"] for told in done) / len(done)
    return f"{len(done):,} of {problems:,} problems, {faulty} at fault, {closed:.1%} closed, {seconds / 60:.1f} min"


def fingerprint() -> str:
    """A short hash of the sources of what is on trial and of the campaign itself."""
    sources = sorted(Path(featavg.__file__).parent.rglob("*.py")) + sorted(Path(__file__).parent.glob("*.py"))
    digest = hashlib.sha256()
    for path in sources:
        if path.is_relative_to(Path(__file__).parent) or {"robustness", "model"} & set(path.parts):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def finished(path: Path) -> Iterator[dict[str, Any]]:
    """The problems in a file, in order; a line that an interruption left half-written is cut off."""
    if not path.exists():
        return
    whole = []
    for line in path.read_text().splitlines():
        try:
            told = json.loads(line)
        except ValueError:
            break
        whole.append(line)
        yield told
    path.write_text("".join(f"{line}\n" for line in whole))


def _append(path: Path, lines: list[dict[str, Any]]) -> None:
    with path.open("a") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)
