"""The rule of the exponentials in arb balls: why it holds is written in `exponentials.py`."""

from __future__ import annotations

import math

from featavg.robustness.proof.audit_place import Ball, Balls, Place

# Steps towards the lowest point: as many as the checker makes.
STEPS = 12
Powers = dict[int, tuple[Ball, Ball]]  # by neuron: b and e of the exponential that G subtracts


def powers_of(desk: Place, rivals: list[int], last: Ball) -> tuple[Powers, Ball] | None:
    """b and e of the neuron of each output, what outputs without one come to; None where the rule does not apply."""
    powers: Powers = {}
    rest = desk.flint.arb(0)
    for r in rivals:
        used = [j for j, slope in enumerate(desk.outputs[r]) if not slope.is_zero()]
        level = desk.constants[r] - last
        if not used:
            rest += level.exp()
        elif len(used) > 1 or used[0] in powers or not desk.outputs[r][used[0]] > 0:
            return None
        else:
            powers[used[0]] = (desk.outputs[r][used[0]], level)
    return powers, rest


def least_exponential(
    a: Ball, theta: Ball, low: Ball, high: Ball, power: tuple[Ball, Ball], bend: Ball, middle: Ball, zero: Ball
) -> Ball:
    """At most the least of a ReLU(z) − θz + q(z − m)² − exp(b ReLU(z) + e) over [low, high]."""
    if not high.is_finite() or not low.is_finite():
        return -zero.pos_inf()
    parts = []
    if not low > 0:
        stop = high.min(zero)
        at = low.mid() if bend.is_zero() else (middle + theta / (2 * bend)).mid().max(low.mid()).min(stop.mid())
        value, steep = _curve(-theta, bend, middle, at)
        parts.append((value + _tilt(steep, at, low, stop) if not bend.is_zero() else _line(-theta, low, stop))
                     - power[1].exp())  # fmt: skip
    if not high < 0:
        parts.append(_rising(a - theta, bend, middle, power, low.max(zero), high))
    return parts[0] if len(parts) == 1 else parts[0].min(parts[1])


def _line(slope: Ball, low: Ball, high: Ball) -> Ball:
    return (slope * low).min(slope * high)


def _tilt(steep: Ball, at: Ball, low: Ball, high: Ball) -> Ball:
    return (steep * (low - at)).min(steep * (high - at)).min(low * 0)


def _curve(slope: Ball, bend: Ball, middle: Ball, z: Ball) -> tuple[Ball, Ball]:
    """Value and slope of slope·z + q(z − m)²."""
    away = z - middle
    # A ball around 0 to a power is NaN.
    return slope * z + bend * away * away, slope + 2 * bend * away


def _rising(slope: Ball, bend: Ball, middle: Ball, power: tuple[Ball, Ball], low: Ball, high: Ball) -> Ball:
    """Convex up to `turn`, concave beyond; floats choose `turn` and the lowest point before it."""
    b, e = power
    floats = [float(number.mid()) for number in (slope, bend, middle, b, e, low, high)]
    turn, at = (slope * 0 + value for value in _turn_and_lowest(*floats))
    turn, at = turn.max(low.mid()).min(high.mid()), at.max(low.mid()).min(high.mid())

    def value(z: Ball) -> Ball:
        return _curve(slope, bend, middle, z)[0] - (b * z + e).exp()

    steep = _curve(slope, bend, middle, at)[1] - b * (b * at + e).exp()
    second, zero = 2 * bend - b * b * (b * turn + e).exp(), slope * 0
    convex = value(at) + _tilt(steep, at, low, turn) - (-second).max(zero) * (turn - low) * (turn - low) / 2
    return convex.min(value(turn).min(value(high)) - second.max(zero) * (high - turn) * (high - turn) / 8)


def _turn_and_lowest(
    slope: float, bend: float, middle: float, b: float, e: float, low: float, high: float
) -> tuple[float, float]:
    """Where 2q = b² exp(bz + e), and where the derivative is 0 before that, or the ends next to them."""
    if not bend > 0:
        return low, low
    turn, at = min(max((math.log(2 * bend / (b * b)) - e) / b, low), high), low
    for _ in range(STEPS):
        grown = b * math.exp(min(b * at + e, 700.0))
        steep, rate = slope + 2 * bend * (at - middle) - grown, 2 * bend - b * grown
        if steep >= 0:
            break
        following = at - steep / rate if rate > 0 else turn
        if following >= turn:
            return turn, turn
        at = following
    return turn, at


def shares_of(mix: Balls, own: list[int]) -> tuple[dict[int, Ball], Ball] | None:
    """p of the own outputs and its entropy; None if the weights may not be."""
    whole = sum((mix[o] for o in own), start=mix[0] * 0)
    if any(mix[o] < 0 for o in own) or not whole > 0:
        return None
    p = {o: mix[o] / whole for o in own if not mix[o].is_zero()}
    return p, -sum((share * share.log() for share in p.values()), start=mix[0] * 0)
