"""Read a user's own data: an npz file, a CSV file, or a folder of images by class."""

from __future__ import annotations

import csv
import os
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from featavg.arrays import Array
from featavg.data.dataset import Dataset, dataset
from featavg.data.folders import read_folder
from featavg.errors import InputError

DELIMITERS = (",", ";", "\t")


def read_points(path: str | os.PathLike[str], label: str | None = None, sublabel: str | None = None) -> Dataset:
    """Read points with labels of any kind, and sub-labels if there are any.

    Args:
        path: an .npz of arrays x (sample, axis) or (sample, height, width[, channel]), y, and optionally sublabels;
            a .csv or .tsv with a header, one row per point; or a folder class/image or class/sub-class/image.
            Images of bytes become numbers in [0, 1]; all else is taken as it is.
        label: which array or column holds the labels: `y` in an npz, `label` in a CSV by default.
        sublabel: the same for sub-labels: `sublabels` in an npz, `sublabel` in a CSV if there is one, by default.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savez(folder + "/mine.npz", x=np.eye(3), y=["cat", "dog", "cat"])
    ...     read_points(folder + "/mine.npz").class_names
    ('cat', 'dog')
    """
    path = Path(path)
    if path.is_dir():
        if label is not None or sublabel is not None:
            raise InputError(
                f"in a folder of images the folder names are the labels; leave the column of labels out for {path}"
            )
        return read_folder(path)
    if not path.is_file():
        raise InputError(f"no data at {path}; check the path")
    if path.suffix.lower() == ".npz":
        return _read_npz(path, label, sublabel)
    if path.suffix.lower() in (".csv", ".tsv"):
        return _read_csv(path, label, sublabel)
    raise InputError(f"data must be an .npz, a .csv or a folder of images by class, got {path.name}")


def _read_npz(path: Path, label: str | None, sublabel: str | None) -> Dataset:
    wanted = {"x", label or "y", sublabel or "sublabels"}
    whole = f"{path.name} must be a whole npz file, got one that is not ({{}}); write it again with numpy.savez"
    if not zipfile.is_zipfile(path):
        raise InputError(whole.format("no zip archive"))
    try:
        # Opened here, since NumPy leaves a file that it cannot read open.
        with open(path, "rb") as stream, np.load(stream, allow_pickle=False) as file:
            names = list(file)
            arrays = {name: file[name] for name in names if name in wanted}
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError) as error:
        raise InputError(whole.format(error)) from None
    except ValueError:  # what NumPy raises for arrays of Python objects
        raise InputError(
            f"{path.name} must hold plain arrays, got pickled objects, which could run code; save numbers or strings"
        ) from None
    for name in ("x", label or "y", *([sublabel] if sublabel else [])):
        if name not in arrays:
            raise InputError(f"{path.name} must hold an array {name!r}, got {', '.join(names)}; rename it or say which")
    x, shape = _flat(arrays["x"], path)
    return dataset(x, arrays[label or "y"], arrays.get(sublabel or "sublabels"), shape=shape)


def _flat(x: NDArray[np.generic], path: Path) -> tuple[NDArray[np.generic], tuple[int, ...] | None]:
    """Return points as rows, and their image shape if they are images."""
    if x.ndim == 2:
        return x, None
    if x.ndim not in (3, 4):
        raise InputError(f"x in {path.name} must be (sample, axis) or images (sample, height, width), got {x.shape}")
    rows = x.reshape(len(x), -1)
    return (np.divide(rows, 255.0) if x.dtype == np.uint8 else rows), x.shape[1:]


def _read_csv(path: Path, label: str | None, sublabel: str | None) -> Dataset:
    header, delimiter = _header(path)
    for name in (label or "label", *([sublabel] if sublabel else [])):
        if header.count(name) != 1:
            raise InputError(
                f"{path.name} must have one column {name!r}, got {header.count(name)} among "
                f"{', '.join(header[:8])}{', ...' if len(header) > 8 else ''}; name the column of labels"
            )
    sub = sublabel or ("sublabel" if "sublabel" in header else None)
    names = [label or "label"] + ([sub] if sub else [])
    columns = [header.index(name) for name in names]
    features = [column for column in range(len(header)) if column not in columns]
    if not features:
        raise InputError(f"{path.name} must have columns of numbers beside its labels, got only {', '.join(header)}")
    labels = np.array(_cells(path, delimiter, columns, len(header)))  # (sample, 1 or 2)
    x = _numbers(path, delimiter, features, header)
    names = [header[column] for column in features]
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


def _bad_cell(path: Path, delimiter: str, columns: list[int], header: list[str]) -> str:
    for line, row in _rows(path, delimiter):
        for column in columns:
            try:
                float(row[column])
            except ValueError:
                return (
                    f"line {line} of {path.name} must have a number in column {header[column]!r}, got "
                    f"{row[column]!r}; fill it in, or remove the row or the column"
                )
    return f"{path.name} must have plain decimal numbers in its cells; save it as CSV again"


def _rows(path: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows below the header with their line numbers; empty lines are no rows."""
    with open(path, encoding="utf-8-sig", newline="") as file:
        file.readline()
        reader = csv.reader(file, delimiter=delimiter)
        yield from ((reader.line_num + 1, row) for row in reader if row)
