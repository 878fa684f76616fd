"""What data were taken for, in a sentence; and what looks wrong with them, with the option that helps."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

import numpy as np

from featavg.arrays import Array
from featavg.data.dataset import Dataset

SHOWN = 3  # names of columns in a sentence
MANY = 12  # more classes than this are counted, not listed
PIXELS = 16  # fewer columns than this are hardly an image
BRIGHT = 200  # of 255: half of the pixels of a set of images are as bright somewhere
IDS = {"id", "index", "row", "no", "nr", "number", "unnamed: 0", ""}
PARTS = {"train", "training", "test", "testing", "val", "valid", "validation", "dev"}


def describe(data: Dataset, ignored: Sequence[str] = ()) -> str:
    """Say what was read: rows, columns, classes with their sizes, and what was ignored.

    >>> from featavg.data import dataset
    >>> describe(dataset([[1.0, 2.0]] * 3, ["a", "b", "a"], feature_names=["u", "v"]), ["id"])
    'read 3 rows, 2 columns (u, v), classes a 2, b 1; ignored id'
    """
    names = data.feature_names
    listed = f" ({', '.join(names[:SHOWN])}{', …' if len(names) > SHOWN else ''})" if names else ""
    what = f"images of {_size(data.shape)}" if data.shape else f"{data.x.shape[1]} columns{listed}"
    rest = f"; ignored {', '.join(ignored)}" if ignored else ""
    return f"read {len(data)} rows, {what}, {_counts(data)}{rest}"


def _counts(data: Dataset) -> str:
    sizes = np.bincount(data.labels.codes, minlength=len(data.class_names))
    if len(sizes) > MANY:
        return f"{len(sizes)} classes of {sizes.min()} to {sizes.max()} rows"
    told = f"classes {', '.join(f'{name} {size}' for name, size in zip(data.class_names, sizes, strict=True))}"
    return told if data.fine is None else f"{told}, with {len(data.fine_names)} sub-labels"


def _size(shape: tuple[int, ...]) -> str:
    return f"{shape[1]} x {shape[0]} pixels" + (f" in {shape[2]} channels" if len(shape) > 2 else "")


def remarks(data: Dataset) -> list[str]:
    """What looks wrong, one sentence each: row numbers taken for a feature, parts taken for classes, pixels to 255.

    >>> from featavg.data import dataset
    >>> remarks(dataset([[7, 0.5], [8, 0.1], [9, 0.2]], ["a", "b", "a"], feature_names=["id", "u"]))
    ['column id looks like a number of the row, which says nothing about its class; leave it out with --drop id']
    """
    named = zip(data.feature_names, data.x.T, strict=True) if data.feature_names else ()
    found = [
        f"column {name} looks like a number of the row, which says nothing about its class; leave it out with "
        f"--drop {shlex.quote(name)}"
        for name, column in named
        if _counts_rows(name, column)
    ]
    if {name.lower() for name in data.class_names} <= PARTS:
        found.append(
            f"the classes are called {' and '.join(data.class_names)}, as parts of one data set are; if they are "
            "parts, give the folder of one of them, or name the column of classes with --label"
        )
    if _are_bytes(data.x) or (data.shape and (data.x.max(initial=0.0) > 1.0 or data.x.min(initial=0.0) < 0.0)):
        what = "pixels" if data.shape else "values look like pixels that"
        found.append(
            f"the {what} go from {data.x.min():g} to {data.x.max():g}, not from 0 to 1; every radius is in their units"
        )
    return found


def _counts_rows(name: str, column: Array) -> bool:
    """Whole numbers that are all different: in order, or without gaps, or called so."""
    if not np.array_equal(column, np.round(column)) or len(np.unique(column)) < len(column) or len(column) < 3:
        return False
    steps = np.diff(column)
    gapless = column.max() - column.min() == len(column) - 1
    return bool(gapless or (steps > 0).all() or name.strip().lower() in IDS or name.lower().endswith(("_id", " id")))


def _are_bytes(x: Array) -> bool:
    """Whole numbers from 0 to 255 in columns that mostly come near 255: pixels, though nobody said so.

    >>> _are_bytes(np.tile([[0.0], [9.0], [255.0]], 16)), _are_bytes(np.tile([[0.0], [9.0], [100.0]], 16))
    (True, False)
    """
    if x.shape[1] < PIXELS or x.min(initial=0.0) < 0 or x.max(initial=0.0) > 255 or not np.array_equal(x, np.round(x)):
        return False
    varying = np.ptp(x, axis=0) > 0
    return bool((x[:, varying].max(axis=0, initial=0.0) >= BRIGHT).sum() * 2 > varying.sum())
