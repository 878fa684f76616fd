"""Data by path or by name, with sub-labels from wherever the user has them."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from featavg.data.dataset import Dataset
from featavg.data.image_set import Part, Progress
from featavg.data.images import Task, load_images
from featavg.data.labels import UNKNOWN, Labels, Names
from featavg.data.readers import read_points
from featavg.data.sets import SETS
from featavg.errors import InputError

NONE = "none"  # instead of a file or a column: find sub-labels, though the data has some
CLASS = "class"  # the only column of a built-in set beside its pixels
TABLES = (".csv", ".tsv", ".txt")


def open_data(
    name: str,
    label: str | None = None,
    sublabels: str | None = None,
    task: Task | None = None,
    part: Part = "train",
    *,
    drop: Sequence[str] = (),
    progress: Progress | None = None,
) -> Dataset:
    """Read what a user named.

    Args:
        name: a path for `read_points`, or digits, mnist, fashion-mnist, cifar10.
        label: the column of labels.
        sublabels: a CSV of one column with a row for each point, empty where unknown; or a column of the data itself;
            or `none`, to ignore those that the data has.
        task: of a built-in set: parity, halves, or the classes that are +1, listed or with commas between.
        part: of a built-in set.
        drop: columns of a CSV to leave out.
        progress: called as progress(what, bytes so far, bytes in all or None) while a set is fetched.

    >>> data = open_data("digits", task="0,3,8", sublabels="class")
    >>> len(data), data.class_names, data.center_labels[[0, 1]]
    (1437, ('-1', '1'), array([ 1, -1]))
    """
    file = None if sublabels is None else _file(sublabels)
    column = None if file or sublabels == NONE else sublabels
    if name in SETS and not Path(name).exists():
        data = _built_in(name, label, column, task or "parity", part, drop, progress)
    elif task is not None:
        raise InputError(f"--task is for built-in sets ({', '.join(SETS)}), got the data {name}")
    else:
        data = read_points(name, label, column, drop=drop)
    if file is not None:
        return replace(data, fine=read_sublabels(file, len(data)), classes_of_fine=None)
    return replace(data, fine=None, classes_of_fine=None) if sublabels == NONE else data


def sublabels_of(data: Dataset) -> Names | None:
    """The fine labels as text, empty where unknown: (sample,); None if there are none.

    >>> from featavg.data import dataset
    >>> sublabels_of(dataset([[0.0], [1.0]], ["dog", "cat"], ["pug", "tom"]))
    array(['pug', 'tom'], dtype=object)
    """
    if data.fine is None:
        return None
    names = np.array([*data.fine_names, ""], dtype=object)
    return np.asarray(names[np.where(data.fine.codes == UNKNOWN, len(names) - 1, data.fine.codes)])


def read_sublabels(file: Path, count: int) -> Labels:
    r"""Read a CSV of one named column, one row for each of `count` points; an empty row is an unknown sub-label.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = Path(folder, "breeds.csv").write_text("breed\npug\n\ntom\n")
    ...     read_sublabels(Path(folder, "breeds.csv"), 3).codes
    array([ 0, -1,  1])
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
    return Labels.of([row[0].strip() if row else "" for row in rows[1:]], "sub-labels", count, partial=True)


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
    task: Task,
    part: Part,
    drop: Sequence[str],
    progress: Progress | None,
) -> Dataset:
    if label is not None or column not in (None, CLASS) or drop:
        raise InputError(f"{name} is a built-in set: its labels are the --task, its only --sublabels column is {CLASS}")
    images = load_images(name, part, task, progress=progress)
    return images if column == CLASS else replace(images, fine=None, classes_of_fine=None)
