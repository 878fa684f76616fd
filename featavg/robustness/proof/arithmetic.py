"""Float arithmetic with stated errors: outward rounding, error-free sums and products, double-double dot products.

u = 2⁻⁵³ is half the spacing of floats at 1. For one operation in round-to-nearest, result = exact·(1 + ε) + η with
|ε| <= u, |η| <= 2⁻¹⁰⁷⁵, and η = 0 for sums and differences. A sum of n products, in any order, with or without fused
operations, is within gamma(n)·Σ|xᵢyᵢ| + n·TINY of the exact one (Higham, Accuracy and Stability, section 3.1).
"""

from __future__ import annotations

import math

import numpy as np

from featavg.arrays import Array, Ints
from featavg.robustness.proof.compiled import borrowing, entry, summing
from featavg.robustness.proof.format import Floats
from featavg.robustness.proof.fused import fused, has_fused

U = 2.0**-53
SPACING = 2.0**-52
TINY = 2.0**-1074
# The least float that is normal, for what more than one TINY is allowed: to multiply TINY takes as long as fifty sums.
SMALL = 2.0**-1022
LARGEST = float(np.finfo(np.float64).max)
SPLITTER = 2.0**27 + 1.0


@entry
def up(value: float) -> float:
    """A float above every real that rounds to `value`.

    The next float is at most SPACING·|value| away, or TINY if `value` is subnormal; rounding is monotone.
    """
    return value + (SPACING * abs(value) + TINY)


@entry
def down(value: float) -> float:
    """A float below every real that rounds to `value`."""
    return value - (SPACING * abs(value) + TINY)


@entry
def difference_down(a: float, b: float) -> float:
    """At most a - b, and exactly 0 if a = b: a difference of floats rounds to 0 only if it is 0."""
    difference = a - b
    return difference if difference == 0.0 else down(difference)


@entry
def product_down(a: float, b: float) -> float:
    """At most a·b; 0·∞ = 0, for a slope that is exactly 0 contributes nothing, however far the interval reaches."""
    if a == 0.0 or b == 0.0:
        return 0.0
    product = a * b
    if product == np.inf:
        return product if max(abs(a), abs(b)) == np.inf else LARGEST
    return down(product)


@entry
def product_up(a: float, b: float) -> float:
    """At least a·b; 0·∞ = 0."""
    return -product_down(-a, b)


@entry
def gamma(count: float) -> float:
    """At least n·u / (1 - n·u), the relative error of a sum of n products; ∞ if there are too many."""
    share = (count + 1.0) * U
    return share * (1.0 + 2.0 * share) if share < 0.1 else np.inf


@entry
def two_sum(a: float, b: float) -> tuple[float, float]:
    """s + e = a + b exactly, s the rounded sum (Knuth)."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def _split_product(a: float, b: float) -> tuple[float, float]:
    """p + e = a·b, p the rounded product (Dekker); NaN if a factor exceeds 2⁹⁹⁵, which never passes for a proof."""
    p = a * b
    t = SPLITTER * a
    a_high = t - (t - a)
    a_low = a - a_high
    t = SPLITTER * b
    b_high = t - (t - b)
    b_low = b - b_high
    return p, ((a_high * b_high - p) + a_high * b_low + a_low * b_high) + a_low * b_low


def _fused_product(a: float, b: float) -> tuple[float, float]:
    """p + e = a·b, p the rounded product, its error by one fused operation."""
    p = a * b
    return p, fused(a, b, -p)


# Exact unless e is subnormal, then within 4·TINY.
two_product = entry(_fused_product if has_fused() else _split_product)


@borrowing
def preactivations(x: Floats, columns: Floats, biases: Floats, high: Floats, low: Floats) -> None:
    """Write Wx + b as high + low, with twice the working precision; `columns` is Wᵀ: (axis, neuron).

    Dot2 of Ogita, Rump and Oishi (2005): |high + low - exact| <= 2·gamma(d + 2)²·(|x|ᵀ|w| + |b|) + 8(d + 1)·TINY.
    """
    for j in range(len(biases)):
        high[j] = biases[j]
        low[j] = 0.0
    for i in range(len(x)):
        value = x[i]
        column = columns[i]
        for j in range(len(biases)):
            p, e = two_product(value, column[j])
            s, f = two_sum(high[j], p)
            high[j] = s
            low[j] += e + f


@borrowing
def clear(values: Array | Ints) -> None:
    """Write zeros: a slice would compile an error message with it."""
    for i in range(len(values)):
        values[i] = 0.0


@borrowing
def copy(vector: Array | Ints, out: Array | Ints) -> None:
    """out = vector."""
    for i in range(len(out)):
        out[i] = vector[i]


@summing
def dot(a: Array, b: Array) -> float:
    """Σ a_i b_i: within gamma(n)·Σ|a_i b_i| + n·TINY."""
    total = 0.0
    for i in range(len(a)):
        total += a[i] * b[i]
    return total


@summing
def added_sizes(values: Floats) -> float:
    """Σ |v_i|: within gamma(n) of itself."""
    total = 0.0
    for i in range(len(values)):
        total += abs(values[i])
    return total


@entry
def norm_up(values: Floats, euclidean: bool) -> float:
    """At least the ℓ2 or ℓ1 norm: relative error gamma(n), halved by the root of ℓ2.

    Squares below 2⁻¹⁰²² may lose 2⁻¹⁰⁷⁵ each.
    """
    count, grown = len(values), 1.0 + gamma(len(values) + 4.0)
    if euclidean:
        return up(math.sqrt(up(dot(values, values) * grown + count * SMALL)))
    return up(added_sizes(values) * grown)


def norms_up(rows: Floats, euclidean: bool) -> Floats:
    """At least the ℓ2 or ℓ1 norm of every row, whatever its scale; a zero row has norm exactly 0.

    Rows whose squares leave the normal range are divided by a power of two first, which loses below TINY per entry.
    """
    if rows.size == 0:
        return np.zeros(len(rows))
    with np.errstate(over="ignore"):
        total = np.vecdot(rows, rows) if euclidean else np.abs(rows).sum(axis=1)
        total *= 1.0 + gamma(rows.shape[1] + 4.0)
        size = np.sqrt(total) * (1.0 + 4.0 * U) if euclidean else total
        # Terms below 2⁻¹⁰²² together lose less than the least sum that is accepted here times u.
        for row in np.flatnonzero(~((total > 1e-200) & (total < 1e200))):
            largest = np.abs(rows[row]).max()
            unit = np.frexp(largest)[1] if 0.0 < largest < np.inf else 0
            scaled = norm_up(np.ldexp(rows[row], -unit), euclidean)
            size[row] = np.ldexp(scaled, unit) * (1.0 + 4.0 * U) + TINY if largest != 0.0 else 0.0
    return size
