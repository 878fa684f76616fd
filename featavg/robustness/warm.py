"""Compile the kernels of exact radii before they are needed: `python -m featavg.robustness.warm`, as `make` does.

Compiled kernels are kept on disk, beside the package or in NUMBA_CACHE_DIR, so that this is needed once.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from featavg.model import MulticlassNetwork
from featavg.robustness.radius import robust_radius

QUESTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"box": (-9.0, 9.0)},
    {"readout": "summed-probabilities"},
)


def warm_up() -> float:
    """Ask tiny questions, with and without a box, of rows and of summed probabilities; return seconds.

    >>> warm_up() >= 0.0
    True
    """
    began = time.perf_counter()
    # Three points and four neurons in ten axes: hard enough that every kernel is called.
    random = np.random.default_rng(0)
    weights, second = random.standard_normal((4, 10)), random.standard_normal((4, 4))
    network = MulticlassNetwork(weights, np.ones(4), second, np.zeros(4), class_labels=np.array([1, 1, -1, -1]))
    for question in QUESTIONS:
        asked = {"readout": "maximum"} | question
        x = random.standard_normal((3, 10))
        y = np.where(network.score(x, asked["readout"]) >= 0, 1, -1)
        robust_radius(network, x, y, **asked).verify()
    return time.perf_counter() - began


if __name__ == "__main__":
    warm_up()
