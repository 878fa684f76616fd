"""The rows of a chapter under way, kept beside its record, so that a killed run loses a seed and not all of them.

NAME.rows.npz holds `about`, JSON text: which run the rows are of (`run`), case and seed of each (`rows`), what they
hold (`columns`), the seconds spent so far (`seconds`). The arrays of row i are called `i/COLUMN`. Rows of another run
are never taken: other parameters (but for the number of seeds), other versions, or one other byte in the code. The
file is gone once the record is there.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from featavg.errors import InputError
from featavg.experiments.driver import rows_of
from featavg.files import write_whole
from featavg.npz import pack_npz, read_npz
from featavg.record import Record, current_versions, plain_json

if TYPE_CHECKING:
    from featavg.experiments.registry import Chapter

EVERY = 0.2  # seconds of work that a kill may cost beyond the seed under way
SHARE = 0.1  # of the time may go into writing


class Checkpoint(dict[tuple[str, int], Mapping[str, Any]]):
    """(case, seed) -> what `measure` returned, as arrays; on disk soon after it is put here, or when the block ends."""

    def __init__(self, path: Path, chapter: Chapter, config: Any) -> None:
        self.path, self._chapter, self._config = path, chapter, config
        self.run = _run(chapter.name, asdict(config), current_versions(), chapter.code)
        self.spent = 0.0  # seconds, of earlier parts of the run
        self._began = self._written = time.monotonic()
        self._took, self._new = 0.0, False

    def read(self, record: Record | None) -> None:
        """Take the rows that an earlier part of this run left, or those of its record with another number of seeds."""
        try:
            arrays = read_npz(self.path)
            about = json.loads(str(arrays["about"]))
            if about["run"] == self.run:
                for i, (case, seed) in enumerate(about["rows"]):
                    row = {name: arrays[f"{i}/{name}"] for name in about["columns"] if f"{i}/{name}" in arrays}
                    super().__setitem__((case, seed), row)
                self.spent = about["seconds"]
        except (InputError, LookupError, TypeError, ValueError):
            self.clear()  # there is none, or it is damaged
        if record and not self:
            made = record.evidence.provenance
            if _run(record.name, record.config, made.versions, made.code) == self.run:
                self.update(rows_of(self._chapter.module, self._config, record.evidence.table))
                self.spent = made.seconds

    def __setitem__(self, key: tuple[str, int], row: Mapping[str, Any]) -> None:
        super().__setitem__(key, {name: np.asarray(value) for name, value in row.items()})
        self._new = True
        if time.monotonic() - self._written >= max(EVERY, self._took / SHARE):
            self._write()

    def _write(self) -> None:
        start = time.monotonic()
        columns = dict.fromkeys(name for row in self.values() for name in row)
        seconds = self.spent + start - self._began
        about = {"run": self.run, "rows": list(self), "columns": list(columns), "seconds": seconds}
        arrays = {f"{i}/{name}": value for i, row in enumerate(self.values()) for name, value in row.items()}
        write_whole(self.path, pack_npz({"about": np.array(json.dumps(about)), **arrays}))
        self._written = time.monotonic()
        self._took, self._new = self._written - start, False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.path.unlink(missing_ok=True)
        elif self._new:
            self._write()


def _run(chapter: str, config: Mapping[str, Any], versions: Mapping[str, str], code: str) -> str:
    """What decides a row, but for its case and seed."""
    parameters = {name: value for name, value in plain_json(config, "config").items() if name != "seeds"}
    return json.dumps([chapter, parameters, dict(versions), code], sort_keys=True)
