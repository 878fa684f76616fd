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
from featavg.sweep.specification import Trial


class Results:
    """The rows of a sweep, in the order of its trials; failed ones have an `error` and no values."""

    def __init__(self, trials: Sequence[Trial], stored: Mapping[str, Mapping[str, Any]]) -> None:
        self.rows = [_row(trial, stored[trial.key]) for trial in trials if trial.key in stored]
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

    def to_frame(self) -> Any:
        """A pandas table, one row per trial."""
        try:
            import pandas as pd
        except ImportError:
            raise InputError("to_frame needs pandas: pip install pandas") from None
        return pd.DataFrame(self.rows, columns=self.names)

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
            except ImportError:
                raise InputError("Parquet needs pyarrow: pip install pyarrow, or export a .csv") from None
            write_whole(path, buffer.getvalue())
        else:
            raise InputError(f"a sweep is exported to .csv or .parquet, got {path.name}")


def _row(trial: Trial, stored: Mapping[str, Any]) -> dict[str, Any]:
    about = {name: stored[name] for name in ("seconds", "error") if name in stored}
    return {**trial.parameters, "seed": trial.seed, **stored.get("values", {}), **about}
