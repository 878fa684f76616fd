"""From `mix` to one function G = Σ_j a_j ReLU(z_j) + c that is <= 0 wherever the rival is reached (see `regions.py`).

Each writes a to desk.slope, its uncertainty to desk.spread, and returns (valid, lower bound of c).
"""

from __future__ import annotations

import math

import numpy as np

from featavg.robustness.proof.apart import apart
from featavg.robustness.proof.arithmetic import (
    TINY,
    U,
    clear,
    copy,
    down,
    gamma,
    product_up,
    two_product,
    two_sum,
    up,
)
from featavg.robustness.proof.cases import Cases
from featavg.robustness.proof.compiled import borrowing, inner
from featavg.robustness.proof.desk import Desk
from featavg.robustness.proof.exponentials import ELEMENTARY, exponential
from featavg.robustness.proof.format import Floats
from featavg.robustness.proof.pools import Average, Ball, Products, Rows, excess

# Weights of the own outputs outside this range are refused, so that their shares are normal numbers.
SMALLEST_SHARE, LARGEST_SUM = 2.0**-400, 2.0**400


@borrowing
def mixed(
    cases: Cases, case: int, mix: Floats, ball: Ball, products: Products, low: Floats, high: Floats, desk: Desk
) -> tuple[bool, float]:
    """The region's rule; invalid as well if a coefficient left the range of floats."""
    clear(desk.slope)
    clear(desk.spread)
    clear(desk.power)
    first, count = cases.first_row[case], cases.first_row[case + 1] - cases.first_row[case]
    if len(mix) == 0:
        return True, 0.0
    if len(mix) != count + (1 if cases.pools and len(mix) > count else 0):
        return False, 0.0
    last = first + count
    if count == 1 and mix[0] == 1.0 and not cases.pools:
        # The row itself; a valid case is within the range of floats.
        copy(cases.slope[first], desk.slope)
        copy(cases.slope_spread[first], desk.spread)
        doubt = cases.constant_spread[first]
        return True, cases.constant[first] if doubt == 0.0 else down(cases.constant[first] - doubt)
    rows = Rows(
        cases.slope[first:last],
        cases.slope_spread[first:last],
        cases.constant[first:last],
        cases.constant_spread[first:last],
        cases.role[first:last],
    )
    if len(mix) > count:
        valid, constant = exponentials(rows, mix, desk)
    elif cases.pools:
        valid, constant = pooled(rows, mix, ball, products, low, high, desk.slope, desk.spread)
    else:
        valid, constant = mixed_rows(rows, mix, desk.slope, desk.spread)
    for j in range(len(desk.slope)):
        valid = valid and abs(desk.slope[j]) + desk.spread[j] < np.inf
    return valid, constant


@borrowing
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


@borrowing
def _add_multiple(total: float, doubt: float, factor: float, value: float, spread: float) -> tuple[float, float]:
    """total + factor·value, and at least its distance from the exact sum: 0 if the factor is 1 and nothing is lost."""
    p, e = (value, 0.0) if factor == 1.0 else two_product(factor, value)
    s, f = two_sum(total, p)
    if doubt == 0.0 and spread == 0.0 and e == 0.0 and f == 0.0 and factor == 1.0:
        return s, 0.0
    more = up(up(abs(e) + abs(f)) + product_up(factor, spread))
    return s, up(up(doubt + more) + 4.0 * TINY)


@apart(inner)
def pooled(
    rows: Rows, mix: Floats, ball: Ball, products: Products, low: Floats, high: Floats, slope: Floats, spread: Floats
) -> tuple[bool, float]:
    """G = p·f + H(p) − q·f − Ψ <= 0 where the rival's probabilities sum to at least the own ones (`regions.py`)."""
    whole = _own_sum(rows, mix)
    if not 0.0 < whole < LARGEST_SUM:
        return False, 0.0
    entropy, own_average = _own_average(rows, mix, whole)
    average = _rival_average(rows, mix)
    for j in range(len(slope)):
        slope[j] = own_average.slope[j] - average.slope[j]
        doubt = up(own_average.doubt[j] + average.doubt[j])
        spread[j] = up(doubt + U * abs(slope[j])) if doubt > 0.0 or slope[j] != 0.0 else 0.0
    constant = down(own_average.constant - average.constant)
    constant = down(constant - up(own_average.constant_doubt + average.constant_doubt))
    # ∞ proves nothing: so large a bound leaves no half-space.
    beyond = excess(rows, average, ball, products, low, high)
    return True, down(down(constant + entropy) - beyond)


@apart(inner)
def exponentials(rows: Rows, mix: Floats, desk: Desk) -> tuple[bool, float]:
    """G = p·f + H(p) − Σ_r exp(f_r − ℓ) − ℓ + 1, ℓ the last number of `mix` (`exponentials.py`); q is unused.

    Invalid if an output of the rival has more than one neuron, or one that falls, or two outputs share one.
    """
    whole, last = _own_sum(rows, mix), mix[len(mix) - 1]
    if not 0.0 < whole < LARGEST_SUM or not abs(last) < np.inf:
        return False, 0.0
    entropy, average = _own_average(rows, mix, whole)
    constant = down(down(down(average.constant - average.constant_doubt) + entropy) + down(1.0 - last))
    for j in range(len(desk.slope)):
        desk.slope[j], desk.spread[j] = average.slope[j], average.doubt[j]
    for o in range(len(rows.role)):
        if rows.role[o] < 0:
            level, found = up(up(rows.constant[o] + rows.constant_spread[o]) - last), -1
            for j in range(len(desk.slope)):
                steepest = up(rows.slope[o, j] + rows.slope_spread[o, j])
                if rows.slope[o, j] == 0.0 and rows.slope_spread[o, j] == 0.0:
                    continue
                if found >= 0 or not 0.0 < steepest < np.inf or desk.power[j] != 0.0:
                    return False, 0.0
                found, desk.power[j], desk.level[j] = j, steepest, level
            if found < 0:
                constant = down(constant - exponential(level))
    return True, constant


@borrowing
def _own_sum(rows: Rows, mix: Floats) -> float:
    """Σ of the own outputs' weights; NaN if a number of `mix` may not be."""
    whole = 0.0
    for o in range(len(rows.role)):
        own = rows.role[o] > 0
        if not abs(mix[o]) < np.inf or (own and 0.0 != mix[o] < SMALLEST_SHARE):
            return np.nan
        whole += mix[o] if own else 0.0
    return whole


@inner
def _own_average(rows: Rows, mix: Floats, whole: float) -> tuple[float, Average]:
    """The entropy of p = mix/Σ mix over the own group, rounded down, and Σ p_o f_o.

    Σ mix is computed within a relative error of count·u, so p within (count + 2)·u; with ε = (4·count + 24)·u that
    changes Σ p_o a_oj by at most ε·Σ p_o|a_oj| and −Σ p log p by at most ε·Σ p(1 + |log p|).
    """
    neurons = rows.slope.shape[1]
    average, doubt = np.zeros(neurons), np.zeros(neurons)
    share = (4.0 * len(mix) + 24.0) * U + ELEMENTARY
    entropy, size, constant, constant_size = 0.0, 0.0, 0.0, 0.0
    for o in range(len(rows.role)):
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
    return down(entropy - up(share * size)), Average(average, doubt, constant, bound)


@inner
def _rival_average(rows: Rows, mix: Floats) -> Average:
    """Σ q_r f_r over the rival's outputs, q = mix."""
    neurons, share = rows.slope.shape[1], gamma(len(mix) + 2.0)
    average, doubt = np.zeros(neurons), np.zeros(neurons)
    constant, constant_size = 0.0, 0.0
    for o in range(len(mix)):
        if rows.role[o] >= 0 or mix[o] == 0.0:
            continue
        constant += mix[o] * rows.constant[o]
        constant_size += abs(mix[o]) * (share * abs(rows.constant[o]) + rows.constant_spread[o])
        for j in range(neurons):
            average[j] += mix[o] * rows.slope[o, j]
            doubt[j] += abs(mix[o]) * (share * abs(rows.slope[o, j]) + rows.slope_spread[o, j])
    for j in range(neurons):
        doubt[j] = up(doubt[j] * (1.0 + share) + 8.0 * len(mix) * TINY)
    return Average(average, doubt, constant, up(constant_size * (1.0 + share) + 8.0 * len(mix) * TINY))
