"""Runs chapters one after the other, keeps each record as soon as it is finished, and reuses what is there."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from featavg.errors import InputError
from featavg.experiments.checkpoint import Checkpoint
from featavg.experiments.driver import run_chapter
from featavg.experiments.registry import Chapter
from featavg.progress import Progress
from featavg.record import Record, current_commit, current_versions, plain_json, read_record, write_record

ProgressOf = Callable[[Chapter], Progress]  # told which chapter starts; answers with what is to be told of its progress


@dataclass(frozen=True)
class Outcome:
    """A finished record, where it is, and whether it was there already."""

    record: Record
    path: Path
    reused: bool


def reproduce(
    chapters: Sequence[Chapter],
    folder: str | os.PathLike[str],
    progress_of: ProgressOf,
    *,
    seeds: int | None = None,
    first_seed: int | None = None,
    fresh: bool = False,
) -> Iterator[Outcome]:
    """Yield the outcome of each chapter once its record is written; records of the same run are reused.

    The same run has the same configuration, seeds and package version; `fresh` runs it in any case. A run that was
    interrupted, or has another number of seeds than its record, goes on with the seeds that are missing
    (`checkpoint.py`).
    """
    if seeds is not None and seeds < 1:
        raise InputError(f"seeds must be at least 1, got {seeds}; 5 or more give confidence intervals worth the name")
    folder = Path(folder)
    check_writable(folder)
    current_commit()  # asked now, while the files are those that were loaded, and remembered for the records
    for chapter in chapters:
        config = chapter.config(seeds, first_seed)
        path = folder / f"{chapter.name}.json"
        progress = progress_of(chapter)
        found = None if fresh else _found(path)
        if found is not None and _same_run(found, config):
            yield Outcome(found, path, reused=True)
            continue
        with Checkpoint(path.with_suffix(".rows.npz"), chapter, config) as rows:
            if not fresh:
                rows.read(found)
            record = run_chapter(chapter, config, progress, rows, rows.spent)
            write_record(record, folder)
        yield Outcome(record, path, reused=False)


def check_writable(folder: Path) -> None:
    """Make `folder` and try to write in it, so that a refusal comes before hours of work, not after."""
    trial = folder / f".{os.getpid()}.partial"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        trial.touch()
        trial.unlink()
    except OSError as error:
        raise InputError(f"cannot write to the folder {folder} ({error.strerror}); choose another with -o") from None


def _found(path: Path) -> Record | None:
    """The record at `path`, if there is a whole one."""
    try:
        return read_record(path)
    except InputError:
        return None


def _same_run(record: Record, config: Any) -> bool:
    versions = record.evidence.provenance.versions
    same_version = versions.get("featavg") == current_versions()["featavg"]
    return same_version and record.config == plain_json(asdict(config), "config")
