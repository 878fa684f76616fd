"""G K for the G of a step, which is mostly zeros and copies: compiled, exact, without a bound or a tolerance on K.

A neuron that is off at a point has a zero there. Neurons of a group (those that drive the same output with the same
sign) have equal rows of G up to a number wherever both are on, and on most points all or none of them are. So one
product is made for what most of a group share, and a small one for where a neuron differs from it.
"""

from __future__ import annotations

import numpy as np

from featavg.arrays import Array, Ints
from featavg.compilation import kernel
from featavg.training.engines.base import Groups
from featavg.training.engines.row_sums import SKIPPING, add_rows


def sparse_product(rows: Array, matrix: Array, groups: Groups) -> Array:
    """G K (..., neuron, sample) of G (..., neuron, sample) and a symmetric K, by the cheaper of two ways."""
    if rows.ndim > 2:
        each = zip(rows, matrix, groups.number, groups.ratio, strict=True)
        return np.stack([sparse_product(one, k, Groups(number, ratio)) for one, k, number, ratio in each])
    count = int(groups.number.max()) + 1
    ratio = groups.ratio.astype(rows.dtype, copy=False)
    shared, own, work = split(rows, groups.number, ratio, count)
    if SKIPPING * work > rows.size:
        return rows @ matrix
    return assemble(matrix, shared, own, groups.number, ratio)


@kernel
def split(rows: Array, number: Ints, ratio: Array, count: int) -> tuple[Array, Array, int]:
    """G_r = ratio_r · shared_(group of r) + own_r; `work` counts the entries of both that are not zero."""
    neurons, samples = rows.shape
    size = np.zeros(count, dtype=np.int64)
    for r in range(neurons):
        size[number[r]] += 1
    on = np.zeros((count, samples), dtype=np.int64)
    shared = np.zeros((count, samples), dtype=rows.dtype)
    for r in range(neurons):
        group = number[r]
        for i in range(samples):
            if rows[r, i] != 0:
                if on[group, i] == 0:
                    shared[group, i] = rows[r, i] / ratio[r]
                on[group, i] += 1
    work = 0
    for group in range(count):
        for i in range(samples):
            if 2 * on[group, i] <= size[group]:
                shared[group, i] = 0
            work += shared[group, i] != 0
    own = np.empty(rows.shape, dtype=rows.dtype)
    rounding = 4 * np.finfo(rows.dtype).eps
    for r in range(neurons):
        group = number[r]
        for i in range(samples):
            value = rows[r, i] - ratio[r] * shared[group, i]
            # What is left of equal numbers is rounding of the ratio.
            own[r, i] = value if abs(value) > rounding * abs(rows[r, i]) else 0
            work += own[r, i] != 0
    return shared, own, work


@kernel
def assemble(matrix: Array, shared: Array, own: Array, number: Ints, ratio: Array) -> Array:
    """ratio_r · (shared K) + own_r K: (neuron, sample)."""
    neurons, samples = own.shape
    together = np.zeros_like(shared)
    for group in range(len(shared)):
        add_rows(matrix, shared[group], together[group])
    product = np.empty_like(own)
    for r in range(neurons):
        group = number[r]
        for j in range(samples):
            product[r, j] = ratio[r] * together[group, j]
        add_rows(matrix, own[r], product[r])
    return product
