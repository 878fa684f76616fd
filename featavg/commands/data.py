"""Data by path or by name, with sub-labels from wherever the user has them."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from featavg.arrays import Array
from featavg.data import Dataset, Names, dataset, load_images, read_points
from featavg.data.sources import CATALOGUE, Progress
from featavg.errors import InputError

NONE = "none"  # instead of a file or a column: find sub-labels, though the data has some
CLASS = "class"  # the only column of a built-in set beside its pixels
TABLES = (".csv", ".tsv", ".txt")


@dataclass(frozen=True)
class Named:
    """Points with labels as the user wrote them, and sub-labels where there are any."""

    x: Array  # (sample, axis)
    y: Names  # (sample,)
    sublabels: NDArray[Any] | None  # (sample,)  text; empty where unknown
    shape: tuple[int, ...] | None  # (height, width[, channel]) of images


def read_data(
    name: str,
    label: str | None = None,
    sublabels: str | None = None,
    task: str | None = None,
    *,
    part: Literal["train", "test"] = "train",
    progress: Progress | None = None,
) -> Named:
    """Read what a user named.

    Args:
        name: a path for `read_points`, or digits, mnist, fashion-mnist, cifar10.
        label: the column of labels.
        sublabels: a CSV of one column with a row for each point, empty where unknown; or a column of the data itself;
            or `none`, to ignore those that the data has.
        task: of a built-in set: parity, halves, or the classes that are +1 with commas between.
        part: of a built-in set.
        progress: called as progress(what, bytes so far, bytes in all or None) while a set is fetched.
    """
    file = None if sublabels is None else _file(sublabels)
    column = None if file or sublabels == NONE else sublabels
    if name in ("digits", *CATALOGUE) and not Path(name).exists():
        data = _built_in(name, label, column, task, part, progress)
    elif task is not None:
        raise InputError(f"--task is for built-in sets (digits, {', '.join(CATALOGUE)}), got the data {name}")
    else:
        data = read_points(name, label, column)
    if file is not None:
        return Named(data.x, data.y, read_concepts(file, len(data)), data.shape)
    fine = data.fine if sublabels != NONE else None
    names = None if fine is None else np.array(data.fine_names, dtype=object)[fine.codes]
    return Named(data.x, data.y, names, data.shape)


def read_concepts(file: Path, count: int) -> NDArray[Any]:
    r"""Read a CSV of one named column, one row for each of `count` points; an empty row is an unknown sub-label.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = Path(folder, "breeds.csv").write_text("breed\npug\n\ntom\n")
    ...     read_concepts(Path(folder, "breeds.csv"), 3)
    array(['pug', '', 'tom'], dtype=object)
    """
    try:
        with open(file, encoding="utf-8-sig", newline="") as stream:
            rows = list(csv.reader(stream, delimiter="\t" if file.suffix.lower() == ".tsv" else ","))
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{file.name} must be text in UTF-8, got {error}; save it as CSV in UTF-8") from None
    header = rows[0] if rows else []
    if len(header) != 1 or any(len(row) > 1 for row in rows):
        wide = max((len(row) for row in rows), default=0)
        raise InputError(f"{file.name} must have one column, named in its first line, got {wide}; keep the sub-labels")
    if len(rows) - 1 != count:
        raise InputError(
            f"{file.name} must have a first line with a name, then a row for each of {count} points, got "
            f"{len(rows) - 1} rows; leave a row empty where the sub-label is unknown"
        )
    return np.array([row[0].strip() if row else "" for row in rows[1:]], dtype=object)


def _file(sublabels: str) -> Path | None:
    path = Path(sublabels)
    if path.is_file():
        return path
    if path.suffix.lower() in TABLES:
        raise InputError(f"no file of sub-labels at {path}; check the path")
    return None


def _built_in(
    name: str,
    label: str | None,
    column: str | None,
    task: str | None,
    part: Literal["train", "test"],
    progress: Progress | None,
) -> Dataset:
    if label is not None or column not in (None, CLASS):
        raise InputError(f"{name} is a built-in set: its labels are the --task, its only --sublabels column is {CLASS}")
    wanted = task or "parity"
    images = load_images(name, part, wanted if wanted in ("parity", "halves") else wanted.split(","), progress=progress)
    fine = None if column is None else images.known_fine().values
    return dataset(images.x, images.y, fine, shape=images.shape)
