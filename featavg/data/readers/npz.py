"""Arrays x and y, and perhaps sublabels, in an npz file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from featavg.data.dataset import Dataset, dataset
from featavg.errors import InputError
from featavg.npz import read_npz

ENDINGS = (".npz",)


def read(path: Path, label: str | None = None, sublabel: str | None = None, drop: Sequence[str] = ()) -> Dataset:
    """Read points (sample, axis) or images (sample, height, width[, channel]) with their labels."""
    if drop:
        raise InputError(f"the columns of an npz have no names to leave out, got {drop[0]!r}; save x without them")
    needed = ["x", label or "y", *([sublabel] if sublabel else [])]
    arrays = read_npz(path, needed, ["sublabels"])
    x, shape = _flat(arrays["x"], path)
    return dataset(x, arrays[label or "y"], arrays.get(sublabel or "sublabels"), shape=shape)


def _flat(x: NDArray[Any], path: Path) -> tuple[NDArray[Any], tuple[int, ...] | None]:
    """Points as rows, and their image shape if they are images."""
    if x.ndim == 2:
        return x, None
    if x.ndim not in (3, 4) or not x.size:
        raise InputError(f"x in {path.name} must be (sample, axis) or images (sample, height, width), got {x.shape}")
    rows = x.reshape(len(x), -1)
    return (np.divide(rows, 255.0) if x.dtype == np.uint8 else rows), x.shape[1:]
