"""From `mix` to one function G = Σ_j a_j ReLU(z_j) + c that is <= 0 wherever the rival is reached (see `regions.py`).

Each writes a to desk.slope, its uncertainty to desk.spread, and returns (valid, lower bound of c).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from featavg.arrays import Ints
from featavg.robustness.proof.arithmetic import (
    TINY,
    U,
    clear,
    down,
    product_down,
    product_up,
    two_product,
    two_sum,
    up,
)
from featavg.robustness.proof.cases import Cases
from featavg.robustness.proof.compiled import kernel
from featavg.robustness.proof.desk import Desk
from featavg.robustness.proof.format import Floats

# exp and log of the platform are taken to be within eight units in the last place.
ELEMENTARY = 16.0 * U
# Weights of the own outputs outside this range are refused, so that their shares are normal numbers.
SMALLEST_SHARE, LARGEST_SUM = 2.0**-400, 2.0**400


class Rows(NamedTuple):
    """The rows of one rival, or all outputs with their roles."""

    slope: Floats  # (row, neuron)
    slope_spread: Floats  # (row, neuron)
    constant: Floats  # (row,)
    constant_spread: Floats  # (row,)
    role: Ints  # (row,)


@kernel
def mixed(cases: Cases, case: int, mix: Floats, low: Floats, high: Floats, desk: Desk) -> tuple[bool, float]:
    """The region's rule; invalid as well if a coefficient left the range of floats."""
    clear(desk.slope)
    clear(desk.spread)
    first, count = cases.first_row[case], cases.first_row[case + 1] - cases.first_row[case]
    if len(mix) == 0:
        return True, 0.0
    if len(mix) != count:
        return False, 0.0
    if cases.pooled:
        outputs = outputs_of(cases, first, first + count)
        valid, constant = pooled(outputs, mix, low, high, desk.slope, desk.spread)
    else:
        valid, constant = mixed_rows(outputs_of(cases, first, first + count), mix, desk.slope, desk.spread)
    for j in range(len(desk.slope)):
        valid = valid and abs(desk.slope[j]) + desk.spread[j] < np.inf
    return valid, constant


@kernel
def outputs_of(cases: Cases, first: int, last: int) -> Rows:
    """The rows of one case."""
    return Rows(
        cases.slope[first:last],
        cases.slope_spread[first:last],
        cases.constant[first:last],
        cases.constant_spread[first:last],
        cases.role[first:last],
    )


@kernel
def mixed_rows(rows: Rows, mix: Floats, slope: Floats, spread: Floats) -> tuple[bool, float]:
    """G = Σ_i λ_i g_i <= 0 where all g_i <= 0, for λ >= 0; sums and products are split into result and error."""
    constant, doubt = 0.0, 0.0
    for i in range(len(mix)):
        if not 0.0 <= mix[i] < np.inf:
            return False, 0.0
        for j in range(len(slope)):
            slope[j], spread[j] = _add_multiple(slope[j], spread[j], mix[i], rows.slope[i, j], rows.slope_spread[i, j])
        constant, doubt = _add_multiple(constant, doubt, mix[i], rows.constant[i], rows.constant_spread[i])
    return True, constant if doubt == 0.0 else down(constant - doubt)


@kernel
def _add_multiple(total: float, doubt: float, factor: float, value: float, spread: float) -> tuple[float, float]:
    """total + factor·value, and at least its distance from the exact sum: 0 if the factor is 1 and nothing is lost."""
    p, e = (value, 0.0) if factor == 1.0 else two_product(factor, value)
    s, f = two_sum(total, p)
    if doubt == 0.0 and spread == 0.0 and e == 0.0 and f == 0.0 and factor == 1.0:
        return s, 0.0
    more = up(up(abs(e) + abs(f)) + product_up(factor, spread))
    return s, up(up(doubt + more) + 4.0 * TINY)


@kernel
def pooled(rows: Rows, mix: Floats, low: Floats, high: Floats, slope: Floats, spread: Floats) -> tuple[bool, float]:
    """G = 1 − Σ_r (α_r D_r + γ_r) <= 0 where the rival's probabilities sum to at least the own ones (`regions.py`)."""
    count, whole = len(mix), 0.0
    for o in range(count):
        own = rows.role[o] > 0
        if not abs(mix[o]) < np.inf or (own and 0.0 != mix[o] < SMALLEST_SHARE):
            return False, 0.0
        whole += mix[o] if own else 0.0
    if not 0.0 < whole < LARGEST_SUM:
        return False, 0.0
    average, doubt = np.zeros(len(slope)), np.zeros(len(slope))
    entropy, constant, constant_doubt = _own_average(rows, mix, whole, average, doubt)
    total, size, unknown = 1.0, 1.0, 0.0
    share = (4.0 * count + 16.0) * U
    for o in range(count):
        if rows.role[o] < 0:
            between = rows.constant[o] - constant
            least, most = _difference_range(
                rows.slope[o], rows.slope_spread[o], between, constant_doubt, average, doubt, low, high
            )
            largest = _above_exponential(mix[o], entropy, least, most)
            total -= largest + mix[o] * between
            size += abs(largest) + abs(mix[o]) * (abs(between) + abs(rows.constant[o]) + abs(constant))
            unknown += abs(mix[o]) * constant_doubt
            for j in range(len(average)):
                step = rows.slope[o, j] - average[j]
                slope[j] -= mix[o] * step
                spread[j] += abs(mix[o]) * (share * abs(step) + doubt[j] + 2.0 * rows.slope_spread[o, j])
    for j in range(len(average)):
        spread[j] = up(spread[j] * (1.0 + share) + 8.0 * count * TINY)
    return True, down(total - up(up(size * share) + up(unknown * (1.0 + share))))


@kernel
def _own_average(rows: Rows, mix: Floats, whole: float, average: Floats, doubt: Floats) -> tuple[float, float, float]:
    """Σ p_o f_o for p = mix/Σ mix over the own group: slopes, their doubt; entropy rounded down, constant, its doubt.

    Σ mix is computed within a relative error of count·u, so p within (count + 2)·u; with ε = (4·count + 24)·u that
    changes Σ p_o a_oj by at most ε·Σ p_o|a_oj| and −Σ p log p by at most ε·Σ p(1 + |log p|).
    """
    share = (4.0 * len(mix) + 24.0) * U + ELEMENTARY
    entropy, size, constant, constant_size = 0.0, 0.0, 0.0, 0.0
    for o in range(len(mix)):
        if rows.role[o] <= 0 or mix[o] == 0.0:
            continue
        p = mix[o] / whole
        entropy -= p * math.log(p)
        size += p * (1.0 + abs(math.log(p)))
        constant += p * rows.constant[o]
        constant_size += p * abs(rows.constant[o])
        for j in range(len(average)):
            average[j] += p * rows.slope[o, j]
            doubt[j] += p * (share * abs(rows.slope[o, j]) + 2.0 * rows.slope_spread[o, j])
    for j in range(len(average)):
        doubt[j] = up(doubt[j] * (1.0 + share) + 8.0 * len(mix) * TINY)
    bound = up(share * constant_size + 8.0 * len(mix) * TINY)
    return down(entropy - up(share * size)), constant, bound


@kernel
def _difference_range(
    slopes: Floats,
    spreads: Floats,
    between: float,
    between_doubt: float,
    average: Floats,
    doubt: Floats,
    low: Floats,
    high: Floats,
) -> tuple[float, float]:
    """D_r = f_r − Σ p_o f_o over ReLU(z_j) in [max(l_j, 0), max(u_j, 0)], outward; its constant is `between`."""
    unsure = up(between_doubt + 2.0 * U * abs(between))
    least, most = down(between - unsure), up(between + unsure)
    for j in range(len(average)):
        if not high[j] <= 0.0:
            slope = slopes[j] - average[j]
            unsure = up(doubt[j] + 2.0 * U * abs(slope) + spreads[j])
            lower, upper = down(slope - unsure), up(slope + unsure)
            start = max(low[j], 0.0)
            least = down(least + min(product_down(lower, start), product_down(lower, high[j])))
            most = up(most + max(product_up(upper, start), product_up(upper, high[j])))
    return least, most


@kernel
def _above_exponential(alpha: float, entropy: float, least: float, most: float) -> float:
    """γ >= min(1, exp(D − H)) − αD for all D in [least, most]: convex up to H, linear beyond, so largest at these."""
    largest = -np.inf
    for end in (least, most):
        reached = min(1.0, math.exp(min(0.0, up(end - entropy))) * (1.0 + ELEMENTARY) + TINY)
        value = reached - product_down(alpha, end)
        if not value <= largest:
            largest = up(value)
    if least < entropy < most:
        largest = max(largest, up(1.0 - product_down(alpha, entropy)))
    return largest
