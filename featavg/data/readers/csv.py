"""A table with a header and a row per point, its cells apart by commas, semicolons or tabs."""

from __future__ import annotations

import csv
import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from featavg.arrays import Array
from featavg.data.dataset import Dataset, dataset
from featavg.errors import InputError

ENDINGS = (".csv", ".tsv")
DELIMITERS = (",", ";", "\t")
SHOWN = 8  # names of columns in a sentence


def read(path: Path, label: str | None = None, sublabel: str | None = None, drop: Sequence[str] = ()) -> Dataset:
    """Read points from the columns that are neither labels nor dropped."""
    header, delimiter = _header(path)
    for name in (label or "label", *([sublabel] if sublabel else []), *drop):
        if header.count(name) != 1:
            shown = header if len(header) <= SHOWN else [*header[: SHOWN - 1], "...", header[-1]]
            remedy = "name one that is there" if name in drop else "name the column of labels with label (--label)"
            raise InputError(
                f"{path.name} must have one column {name!r}, got {header.count(name)} among {', '.join(shown)}; "
                f"{remedy}"
            )
    sub = sublabel or ("sublabel" if "sublabel" in header and "sublabel" not in drop else None)
    columns = [header.index(name) for name in ([label or "label"] + ([sub] if sub else []))]
    features = [column for column, name in enumerate(header) if column not in columns and name not in drop]
    if not features:
        raise InputError(f"{path.name} must have columns of numbers beside its labels, got only {', '.join(header)}")
    labels = np.array(_cells(path, delimiter, columns, len(header)))  # (sample, 1 or 2)
    names = [header[column] for column in features]
    x = _finite(_numbers(path, delimiter, features, header), names)
    return dataset(x, labels[:, 0], labels[:, 1] if sub else None, feature_names=names)


def _header(path: Path) -> tuple[list[str], str]:
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            line = file.readline()
    except UnicodeDecodeError:
        raise InputError(f"{path.name} must be text in UTF-8, got other bytes; save it as CSV in UTF-8") from None
    delimiter = max(DELIMITERS, key=line.count)
    return [name.strip() for name in next(csv.reader([line], delimiter=delimiter), [])], delimiter


def _cells(path: Path, delimiter: str, columns: list[int], width: int) -> list[list[str]]:
    """Read some columns as text, and check on the way that every row is as wide as the header."""
    cells = []
    try:
        for line, row in _rows(path, delimiter):
            if len(row) != width:
                raise InputError(f"line {line} of {path.name} must have {width} cells as the header, got {len(row)}")
            cells.append([row[column].strip() for column in columns])
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path.name} must be text in UTF-8, got {error}; save it as CSV in UTF-8") from None
    if not cells:
        raise InputError(f"{path.name} must have a row for each point below its header, got none")
    return cells


def _numbers(path: Path, delimiter: str, columns: list[int], header: list[str]) -> Array:
    """Read some columns as numbers: (sample, column)."""
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            file.readline()
            # Ten times as fast as float() on every cell; it does not say which cell it could not read.
            return np.loadtxt(file, delimiter=delimiter, usecols=columns, ndmin=2, comments=None, quotechar='"')
    except ValueError:
        raise InputError(_bad_cell(path, delimiter, columns, header)) from None


def _finite(x: Array, names: Sequence[str]) -> Array:
    bad = ~np.isfinite(x)
    if bad.any():
        first = names[int(bad.any(axis=0).argmax())]
        raise InputError(
            f"x must be finite, got {int(bad.sum())} NaN or infinite values, the first in column {first!r}; fill them "
            f"in, or leave the column out (--drop {shlex.quote(first)})"
        )
    return x


def _bad_cell(path: Path, delimiter: str, columns: list[int], header: list[str]) -> str:
    for line, row in _rows(path, delimiter):
        for column in columns:
            try:
                float(row[column])
            except ValueError:
                comma = re.fullmatch(r"\s*[-+]?\d+,\d+\s*", row[column])
                remedy = "write decimals with a point" if comma else "fill it in, or remove the row"
                name = shlex.quote(header[column])
                ask = f", or is it the column of labels (--label {name})?" if row[column].strip() else ""
                return (
                    f"line {line} of {path.name} must have a number in column {header[column]!r}, got "
                    f"{row[column]!r}; {remedy}, or leave the column out (--drop {name}){ask}"
                )
    return f"{path.name} must have plain decimal numbers in its cells; save it as CSV again"


def _rows(path: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows below the header with their line numbers; empty lines are no rows."""
    with open(path, encoding="utf-8-sig", newline="") as file:
        file.readline()
        reader = csv.reader(file, delimiter=delimiter)
        yield from ((reader.line_num + 1, row) for row in reader if row)
