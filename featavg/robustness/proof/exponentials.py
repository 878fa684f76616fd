"""The rule of the exponentials: summed probabilities where each of the rival's outputs has a neuron of its own.

log x <= ℓ + x exp(−ℓ) − 1 for any ℓ, so the rival is reached only where

    G = p·f + H(p) − Σ_r exp(f_r − ℓ) − ℓ + 1 <= 0.

With f_r = b_r ReLU(z_j) + c_r, b_r > 0 and another j for each r, G is a sum over neurons, as it is for rows. So a cut
needs κ_j below

    F(z) = a ReLU(z) − θz + q(z − m)² − exp(b ReLU(z) + e),    e = c_r − ℓ,

over the interval, with a from the own outputs and q from the curve (`curves.py`), which pays for all neurons at once.
For z <= 0 that is a parabola. For z >= 0 it is convex up to some s and concave beyond, since

    F''(z) = 2q − b² exp(bz + e)

falls. For any s and t: on [l, s], where F'' >= −ν, F(z) >= F(t) + F'(t)(z − t) − ½ν(z − t)²; on [s, u], where
F'' <= ε, F(z) >= min(F(s), F(u)) − ⅛ε(u − s)². An s near the turn leaves almost nothing of ν and ε.
"""

from __future__ import annotations

import math

import numpy as np

from featavg.robustness.proof.arithmetic import SPACING, TINY, U, difference_down, down, product_down, product_up, up
from featavg.robustness.proof.compiled import borrowing, entry

# exp and log of the platform are taken to be within eight units in the last place.
ELEMENTARY = 16.0 * U
# Steps towards the lowest point of F; any number of them is valid.
STEPS = 12


@borrowing
def exponential(value: float) -> float:
    """At least exp(value); ∞ beyond what floats hold."""
    return math.exp(value) * (1.0 + ELEMENTARY) + TINY if value < 700.0 else np.inf


@entry
def exponential_offset(
    slope: float, theta: float, bend: float, middle: float, power: float, level: float, low: float, high: float
) -> float:
    """κ <= F(z) for all z in [low, high] and all a >= slope, b <= power (> 0), e <= level."""
    if not high < np.inf or not up(product_up(power, max(high, 0.0)) + level) < 700.0:
        return -np.inf
    least = np.inf
    if low <= 0.0:
        stop = min(high, 0.0)
        if bend > 0.0:
            least = _parabola(-theta, bend, middle, low, stop)
        else:
            least = min(product_down(-theta, low), product_down(-theta, stop))
        least = down(least - exponential(level))
    if high > 0.0:
        rising = _rising(difference_down(slope, theta), bend, middle, power, level, max(low, 0.0), high)
        least = rising if rising < least or not rising > -np.inf else least
    return least


@borrowing
def _parabola(slope: float, bend: float, middle: float, low: float, high: float) -> float:
    """At most the least of slope·z + q(z − m)²: the tangent at any z* is below."""
    at = min(max(middle - 0.5 * slope / bend, low), high)
    turn = 2.0 * bend * (at - middle)
    doubt = 8.0 * U * (abs(slope) + abs(turn)) + 8.0 * TINY
    return _on_tangent(_square_down(slope, bend, middle, at), slope + turn, doubt, at, low, high)


@borrowing
def _square_down(slope: float, bend: float, middle: float, z: float) -> float:
    """At most slope·z + q(z − m)²."""
    away = max(0.0, down(abs(z - middle)))
    return down(product_down(slope, z) + product_down(bend, max(0.0, down(away * away))))


@borrowing
def _on_tangent(value: float, steep: float, doubt: float, at: float, low: float, high: float) -> float:
    """At most the least of value + F'·(z − at) over [low, high], for all F' within `doubt` of `steep`."""
    tilt = 0.0
    if low < at:
        tilt = product_down(up(steep + doubt), down(low - at))
    if at < high:
        tilt = min(tilt, product_down(down(steep - doubt), up(high - at)))
    return down(value + min(tilt, 0.0))


@borrowing
def _rising(slope: float, bend: float, middle: float, power: float, level: float, low: float, high: float) -> float:
    """At most the least of slope·z + q(z − m)² − exp(bz + e) over [low, high], 0 <= low <= high < ∞."""
    turn = turning_point(bend, power, level, low, high)
    at = lowest_point(slope, bend, middle, power, level, low, turn)
    grown = power * exponential(up(product_up(power, at) + level))
    steep, pull = slope + 2.0 * bend * (at - middle) - grown, 2.0 * bend * abs(at - middle)
    doubt = 8.0 * U * (abs(slope) + pull + grown) + grown * _share(power, level, at) + 8.0 * TINY * (1.0 + power)
    least = _on_tangent(_value(slope, bend, middle, power, level, at), steep, doubt, at, low, turn)
    # F'' at the turn, from below and above.
    most = up(up(power * power) * exponential(up(product_up(power, turn) + level)))
    lacks, bulges = max(0.0, up(most - 2.0 * bend)), 2.0 * bend - most * (1.0 - _share(power, level, turn))
    bulges = max(0.0, up(bulges + 8.0 * SPACING * (bend + most) + 16.0 * TINY * (1.0 + power * power)))
    least = down(least - up(up(0.5 * lacks) * up(up(turn - low) ** 2)))
    if turn < high:
        ends = min(_value(slope, bend, middle, power, level, turn), _value(slope, bend, middle, power, level, high))
        least = min(least, down(ends - up(up(0.125 * bulges) * up(up(high - turn) ** 2))))
    return least


@borrowing
def _value(slope: float, bend: float, middle: float, power: float, level: float, z: float) -> float:
    """At most F(z)."""
    return down(_square_down(slope, bend, middle, z) - exponential(up(product_up(power, z) + level)))


@borrowing
def _share(power: float, level: float, z: float) -> float:
    """By what share of it the computed exponential may exceed the exact one."""
    return 4.0 * ELEMENTARY + 8.0 * SPACING * (power * z + abs(level) + 1.0)


@borrowing
def turning_point(bend: float, power: float, level: float, low: float, high: float) -> float:
    """Nearly where 2q = b² exp(bz + e), or the end of the interval next to it."""
    if not bend > 0.0:
        return low
    return min(max((math.log(2.0 * bend / (power * power)) - level) / power, low), high)


@borrowing
def lowest_point(
    slope: float, bend: float, middle: float, power: float, level: float, low: float, turn: float
) -> float:
    """Nearly where F' = slope + 2q(z − m) − b exp(bz + e) is 0 in [low, turn], or the end next to that.

    F' is concave and grows there, so that Newton's method climbs to its zero from the lower end.
    """
    at = low
    for _ in range(STEPS):
        grown = power * math.exp(power * at + level)
        steep, rate = slope + 2.0 * bend * (at - middle) - grown, 2.0 * bend - power * grown
        if steep >= 0.0:
            break
        following = at - steep / rate if rate > 0.0 else turn
        if following >= turn:
            return turn
        if following - at <= 1e-15 * at:
            break
        at = following
    return at
