"""A user's own data by path; one file per kind, holding `ENDINGS` and `read(path, label, sublabel)`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from featavg.data.dataset import Dataset
from featavg.errors import InputError
from featavg.registry import Registry

READERS = Registry.of_folder(__name__, __file__)
FOLDER = "/"  # what the name of a folder ends in


def read_points(
    path: str | os.PathLike[str],
    label: str | None = None,
    sublabel: str | None = None,
    *,
    drop: Sequence[str] = (),
) -> Dataset:
    """Read points with labels of any kind, and sub-labels if there are any.

    Args:
        path: an .npz of arrays x (sample, axis) or (sample, height, width[, channel]), y, and optionally sublabels;
            a .csv or .tsv with a header, one row per point; or a folder class/image or class/sub-class/image.
            Images of bytes become numbers in [0, 1]; all else is taken as it is.
        label: which array or column holds the labels: `y` in an npz, `label` in a CSV by default.
        sublabel: the same for sub-labels: `sublabels` in an npz, `sublabel` in a CSV if there is one, by default.
        drop: columns of a CSV to leave out.

    >>> import tempfile
    >>> import numpy as np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savez(folder + "/mine.npz", x=np.eye(3), y=["cat", "dog", "cat"])
    ...     read_points(folder + "/mine.npz").class_names
    ('cat', 'dog')
    """
    path = Path(path)
    if not path.exists():
        raise InputError(f"no data at {path}; check the path")
    ending = FOLDER if path.is_dir() else path.suffix.lower()
    for reader in map(READERS.module, READERS):
        if ending in reader.ENDINGS:
            data: Dataset = reader.read(path, label, sublabel, drop)
            return data
    raise InputError(f"data must be an .npz, a .csv or a folder of images by class, got {path.name}")
