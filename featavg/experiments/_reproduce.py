"""Runs experiments one after the other, keeps each record as soon as it is finished, and reuses what is there."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from featavg.errors import InputError
from featavg.experiments._registry import Experiment, Progress
from featavg.record import Record, read_record, write_record
from featavg.record.provenance import current_commit, current_versions
from featavg.record.record import plain_json
from featavg.threads import one_thread


@dataclass(frozen=True)
class Outcome:
    """A finished record, where it is, and whether it was there already."""

    record: Record
    path: Path
    reused: bool


class Watch(Protocol):
    """Told which experiment starts; answers with what is to be told of its progress."""

    def __call__(self, experiment: Experiment, /) -> Progress:
        """`experiment` starts now."""


def reproduce(
    experiments: Sequence[Experiment],
    folder: str | os.PathLike[str],
    watch: Watch,
    *,
    seeds: int | None = None,
    first_seed: int | None = None,
    fresh: bool = False,
) -> Iterator[Outcome]:
    """Yield the outcome of each experiment once its record is written; records of the same run are reused.

    The same run has the same configuration, seeds and package version; `fresh` runs it in any case.
    """
    if seeds is not None and seeds < 1:
        raise InputError(f"seeds must be at least 1, got {seeds}; 5 or more give confidence intervals worth the name")
    folder = Path(folder)
    check_writable(folder)
    current_commit()  # asked now, while the files are those that were loaded, and kept for the records
    for experiment in experiments:
        config = experiment.config(seeds, first_seed)
        path = folder / f"{experiment.name}.json"
        progress = watch(experiment)
        record = None if fresh else _finished(path, config)
        if record is not None:
            yield Outcome(record, path, reused=True)
            continue
        start = time.perf_counter()
        with one_thread():
            record = experiment.run(config, progress)
        record = replace(record, seconds=round(time.perf_counter() - start, 3))
        yield Outcome(record, write_record(record, folder), reused=False)


def check_writable(folder: Path) -> None:
    """Make `folder` and try to write in it, so that a refusal comes before hours of work, not after."""
    trial = folder / f".{os.getpid()}.partial"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        trial.touch()
        trial.unlink()
    except OSError as error:
        raise InputError(f"cannot write to the folder {folder} ({error.strerror}); choose another with -o") from None


def _finished(path: Path, config: Any) -> Record | None:
    """The record at `path` if it is whole and of the same run."""
    if not path.exists():
        return None
    try:
        record = read_record(path)
    except InputError:
        return None
    same_config = record.config == plain_json(asdict(config), "config")
    return record if same_config and record.versions.get("featavg") == current_versions()["featavg"] else None
