"""Which points each step looks at."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from featavg.arrays import Ints
from featavg.training.rules import check_positive


def batches(samples: int, size: int | None, seed: int) -> Iterator[Ints | None]:
    """Batches of `size` points without end, each epoch in a fresh order, its last incomplete batch dropped.

    None stands for all points.

    >>> sorted(next(batches(3, 2, seed=0)).tolist()) in ([0, 1], [0, 2], [1, 2])
    True
    """
    check_positive("batch_size", size)
    rng = np.random.default_rng(seed)
    while True:
        if size is None or size >= samples:
            yield None
            continue
        order = rng.permutation(samples)
        for start in range(0, samples - size + 1, size):
            yield order[start : start + size]
