"""Products G K with a few rows G, made by adding rows of K: without those where G is zero, and several runs at once."""

from __future__ import annotations

import numpy as np

from featavg.arrays import Array, Ints
from featavg.compilation import kernel

# How many multiplications of a dense product take as long as one of rows of K that are skipped where a factor is zero:
# 2 in cache, 2.6 beyond it (AMD EPYC, OpenBLAS).
SKIPPING = 2.5
# Up to so many rows at once are multiplied by K sooner by adding its rows than by BLAS, which first copies K.
FEW = 20


@kernel
def add_rows(matrix: Array, factors: Array, total: Array) -> None:
    """total += factors K over the factors that are not zero, eight rows of K at a time, added one after the other."""
    samples = len(factors)
    at = np.empty(samples, dtype=np.int64)
    found = 0
    for i in range(samples):  # without a branch, which would be guessed wrongly at every other point
        at[found] = i
        found += factors[i] != 0
    eights = found - found % 8
    for s in range(0, eights, 8):
        a, b, c, d = factors[at[s]], factors[at[s + 1]], factors[at[s + 2]], factors[at[s + 3]]
        e, f, g, h = factors[at[s + 4]], factors[at[s + 5]], factors[at[s + 6]], factors[at[s + 7]]
        k1, k2, k3, k4 = matrix[at[s]], matrix[at[s + 1]], matrix[at[s + 2]], matrix[at[s + 3]]
        k5, k6, k7, k8 = matrix[at[s + 4]], matrix[at[s + 5]], matrix[at[s + 6]], matrix[at[s + 7]]
        for j in range(samples):
            begun = total[j] + a * k1[j] + b * k2[j] + c * k3[j] + d * k4[j]
            total[j] = begun + e * k5[j] + f * k6[j] + g * k7[j] + h * k8[j]
    for s in range(eights, found):
        a, k1 = factors[at[s]], matrix[at[s]]
        for j in range(samples):
            total[j] += a * k1[j]


@kernel
def add_eight_rows(matrix: Array, at: Ints, one: Array, other: Array, total: Array, other_total: Array) -> None:
    """Add eight rows of K to the totals of two runs, by the factors of each."""
    a, b, c, d = one[at[0]], one[at[1]], one[at[2]], one[at[3]]
    e, f, g, h = one[at[4]], one[at[5]], one[at[6]], one[at[7]]
    k1, k2, k3, k4 = matrix[at[0]], matrix[at[1]], matrix[at[2]], matrix[at[3]]
    k5, k6, k7, k8 = matrix[at[4]], matrix[at[5]], matrix[at[6]], matrix[at[7]]
    p, q, r, s = other[at[0]], other[at[1]], other[at[2]], other[at[3]]
    t, u, v, w = other[at[4]], other[at[5]], other[at[6]], other[at[7]]
    for j in range(len(total)):
        x1, x2, x3, x4, x5, x6, x7, x8 = k1[j], k2[j], k3[j], k4[j], k5[j], k6[j], k7[j], k8[j]
        mine = total[j] + a * x1 + b * x2 + c * x3 + d * x4 + e * x5 + f * x6 + g * x7 + h * x8
        other_total[j] = other_total[j] + p * x1 + q * x2 + r * x3 + s * x4 + t * x5 + u * x6 + v * x7 + w * x8
        total[j] = mine


@kernel
def add_rows_to_each(matrix: Array, factors: Array, totals: Array) -> None:
    """`add_rows` for several runs (run, sample), two at a time: rows of K are read once for both.

    A row that only another run needs is added zero times, which changes no bit of a sum that is made row by row.
    """
    runs, samples = factors.shape
    at = np.empty(samples, dtype=np.int64)
    found = 0
    for i in range(samples):
        at[found] = i
        needed = False
        for r in range(runs):
            needed |= factors[r, i] != 0
        found += needed
    eights, twos = found - found % 8, runs - runs % 2
    for s in range(0, eights, 8):
        for r in range(0, twos, 2):
            add_eight_rows(matrix, at[s : s + 8], factors[r], factors[r + 1], totals[r], totals[r + 1])
    for s in range(eights, found):
        row = matrix[at[s]]
        for r in range(twos):
            a, total = factors[r, at[s]], totals[r]
            for j in range(samples):
                total[j] += a * row[j]
    if twos < runs:
        add_rows(matrix, factors[twos], totals[twos])


@kernel
def skipping_product(gradient: Array, matrix: Array) -> Array:
    """G K (neuron, sample), without the rows of K at which G is zero."""
    product = np.zeros_like(gradient)
    for r in range(len(gradient)):
        add_rows(matrix, gradient[r], product[r])
    return product


def whole_product(gradient: Array, matrix: Array) -> Array:
    """G K (neuron, sample), with all rows of K."""
    if len(gradient) > FEW:
        return gradient @ matrix
    product = np.zeros_like(gradient)
    add_rows_to_each(matrix, gradient, product)
    return product
