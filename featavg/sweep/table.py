"""All trials of a sweep as one table: parameters, seed, and what the function returned."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from featavg.errors import InputError
from featavg.files import write_whole
from featavg.record import Column, Table
from featavg.shown import frame
from featavg.sweep.specification import Trial


class Results:
    """The rows of a sweep, in the order of its trials; failed ones have an `error` and no values."""

    def __init__(self, trials: Sequence[Trial], stored: Mapping[str, Mapping[str, Any]]) -> None:
        self.rows = [_row(trial, stored[trial.key]) for trial in trials if trial.key in stored]
        self.parameters = list(dict.fromkeys(name for trial in trials for name in trial.parameters))
        self.missing = len(trials) - len(self.rows)

    @classmethod
    def of_store(cls, stored: Mapping[str, Mapping[str, Any]]) -> Results:
        """Everything that a store holds, whatever it was asked for."""
        trials = [Trial(row.get("parameters", {}), row.get("seed", 0), key) for key, row in stored.items()]
        return cls(trials, stored)

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"<{len(self)} trials, {len(self.failed)} failed, {self.missing} missing>"

    @property
    def names(self) -> list[str]:
        """The columns, parameters first."""
        return list(dict.fromkeys(name for row in self.rows for name in row))

    @property
    def failed(self) -> list[dict[str, Any]]:
        """The rows of trials that failed."""
        return [row for row in self.rows if row.get("error")]

    def column(self, name: str) -> NDArray[Any]:
        """One column over the trials that did not fail: (trial,)."""
        if name not in self.names:
            raise InputError(f"the sweep has the columns {', '.join(self.names)}, got {name!r}")
        return np.array([row[name] for row in self.rows if not row.get("error")])

    def to_table(self) -> Table:
        """The numbers of a complete grid, with the parameters that vary and the seed as axes.

        >>> trials = [Trial({"x": x}, seed, f"{x}{seed}") for x in (1, 2) for seed in (0, 1)]
        >>> rows = {trial.key: {"values": {"y": trial.parameters["x"] + trial.seed}} for trial in trials}
        >>> Results(trials, rows).to_table().mean("y")
        array([1.5, 2.5])
        """
        axes = {name: _places([row[name] for row in self.rows if name in row]) for name in (*self.parameters, "seed")}
        axes = {name: places for name, places in axes.items() if len(places) > 1 or name == "seed"}
        shape = tuple(len(places) for places in axes.values())
        good = [row for row in self.rows if not row.get("error")]
        if len(good) != np.prod(shape):
            raise InputError(
                f"a grid of {' × '.join(f'{len(places)} {name}' for name, places in axes.items())} needs "
                f"{np.prod(shape)} trials, got {len(good)} that did not fail; run the missing ones, or export the rows"
            )
        spots = [tuple(axes[name].index(row[name]) for name in axes) for row in good]
        numbers = [name for name in good[0] if name not in {*self.parameters, "seed"} and _is_number(good, name)]
        columns = {}
        for name in numbers:
            values = np.full(shape, np.nan)
            for spot, row in zip(spots, good, strict=True):
                values[spot] = row[name]
            columns[name] = Column(values, tuple(axes), name)
        return Table(columns, axes)

    def to_frame(self) -> Any:
        """A pandas table, one row per trial."""
        return frame(self.rows)

    def export(self, path: str | os.PathLike[str]) -> None:
        """Write all trials as .csv, or as .parquet, which needs pandas and pyarrow."""
        path = Path(path)
        if path.suffix == ".csv":
            text = io.StringIO()
            writer = csv.DictWriter(text, self.names)
            writer.writeheader()
            writer.writerows(self.rows)
            write_whole(path, text.getvalue())
        elif path.suffix == ".parquet":
            buffer = io.BytesIO()
            try:
                self.to_frame().to_parquet(buffer)
            except (ImportError, InputError):  # one of the two is not there
                raise InputError("Parquet needs pandas and pyarrow: pip install both, or export a .csv") from None
            write_whole(path, buffer.getvalue())
        else:
            raise InputError(f"a sweep is exported to .csv or .parquet, got {path.name}")


def _places(values: Sequence[Any]) -> list[Any]:
    """The values along an axis, each once: numbers rising, others as they come."""
    found = [value for i, value in enumerate(values) if value not in values[:i]]
    return sorted(found) if all(isinstance(value, int | float) for value in found) else found


def _is_number(rows: Sequence[Mapping[str, Any]], name: str) -> bool:
    return all(isinstance(row.get(name), int | float) for row in rows)


def _row(trial: Trial, stored: Mapping[str, Any]) -> dict[str, Any]:
    about = {name: stored[name] for name in ("seconds", "error") if name in stored}
    return {**trial.parameters, "seed": trial.seed, **stored.get("values", {}), **about}
