"""The bound Ψ of `proof/pools.py` once more, in rationals; roots, exponentials and logarithms to eighty digits."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import NamedTuple

import numpy as np

DIGITS = 80
Q = list[Fraction]
ZERO = Fraction(0)
KINK = Fraction(1, 2**30)


class Middle(NamedTuple):
    z: Q
    lift: Fraction


def root(value: Fraction) -> Fraction:
    scale = 10**DIGITS
    return Fraction(math.isqrt(value.numerator * scale**2 // value.denominator), scale)


def decimal(value: Fraction, operation: str) -> Fraction:
    with localcontext() as context:
        context.prec = DIGITS
        return Fraction(getattr(Decimal(value.numerator) / Decimal(value.denominator), operation)())


def dot(a: Q, b: Q) -> Fraction:
    return sum((x * y for x, y in zip(a, b, strict=True)), start=ZERO)


def recentered(middle: Middle, w: list[Q], z0: Q, h: Q, offset: Fraction) -> Middle:
    square = dot(h, h)
    if offset <= 0 or not square:
        return middle
    step = Fraction(float(offset / square))
    lift = 2 * step * offset - step * step * square
    return (
        Middle([z - step * dot(row, h) for z, row in zip(z0, w, strict=True)], lift) if lift > middle.lift else middle
    )


def line(a: Q, c: Fraction, middle: Middle, low: Q, high: Q) -> tuple[Fraction, Fraction, Q]:
    """e, the ceiling and the tilt of one difference."""
    level, ceiling, tilt = c, c, []
    for slope, z, one, other in zip(a, middle.z, low, high, strict=True):
        t = slope if other > 0 else ZERO
        if one < 0 < other:
            t *= other / (other - one) if slope > 0 else int(z > KINK * (one - other))
        corners = [end for end in (one, other) if end] + ([ZERO] if one <= 0 <= other else [])
        level += t * z + max(slope * max(end, ZERO) - t * end for end in corners)
        ceiling += max(slope * max(end, ZERO) for end in (one, other))
        tilt.append(t)
    return (level, ceiling, tilt) if level < ceiling else (ceiling, ceiling, [ZERO] * len(tilt))


def excess(rows: list[tuple[Q, Fraction]], middle: Middle, square: Fraction, w: list[Q], low: Q, high: Q) -> Fraction:
    """Ψ, with the squared radius of the ball."""
    square = max(square, ZERO)
    lines, radius = [line(a, c, middle, low, high) for a, c in rows], root(square)
    v = [[dot(tilt, list(column)) for column in zip(*w, strict=True)] for _, _, tilt in lines]
    far = [
        max(ZERO, min(root(dot(u, u)) * radius, ceiling - level))
        for u, (level, ceiling, _) in zip(v, lines, strict=True)
    ]
    top = max(level + f for (level, _, _), f in zip(lines, far, strict=True))
    whole = sum(decimal(level + f - top, "exp") for (level, _, _), f in zip(lines, far, strict=True))
    mass = [decimal(level - top, "exp") for level, _, _ in lines]
    pull = [dot(mass, list(column)) for column in zip(*v, strict=True)]
    bend = [root(m * curvature(f)) for m, f in zip(mass, far, strict=True)]
    together = sum(mass) + root(dot(pull, pull)) * radius + perron(bend, v) * square
    return top + decimal(min(whole, together), "ln")


def curvature(most: Fraction) -> Fraction:
    if most <= 1:
        return Fraction(1, 2) + most / 6 + most**2 / (24 - 24 * most / 5)
    return (decimal(most, "exp") - 1 - most) / most**2


def perron(bend: Q, v: list[Q]) -> Fraction:
    matrix = [[b * c * abs(dot(x, y)) for c, y in zip(bend, v, strict=True)] for b, x in zip(bend, v, strict=True)]
    floats, x = np.array([[float(entry) for entry in row] for row in matrix]), np.ones(len(bend))
    for _ in range(5):
        x = floats @ x
        x = x / x.max() + 1e-6 if x.max() > 0 else np.ones(len(bend))
    chosen = [Fraction(value) for value in x.tolist()]
    return max(dot(row, chosen) / own for row, own in zip(matrix, chosen, strict=True))


def least_exponential(a: Fraction, theta: Fraction, q: Fraction, m: Fraction, power: Q, low: Fraction, high: Fraction):
    """Nearly the least of a ReLU(z) − θz + q(z − m)² − exp(b ReLU(z) + e): the least value where it may turn."""
    b, e = power

    def value(z: Fraction) -> Fraction:
        return a * max(z, ZERO) - theta * z + q * (z - m) ** 2 - decimal(b * max(z, ZERO) + e, "exp")

    ends = [low, high] + ([ZERO] if low <= 0 <= high else [])
    turns = [min(max(m + theta / (2 * q), low), min(high, ZERO))] if q and low <= 0 else []
    spaced = np.linspace(float(max(low, ZERO)), float(high), 2001) if high > 0 else np.zeros(0)
    steep = float(a - theta) + 2 * float(q) * (spaced - float(m)) - float(b) * np.exp(float(b) * spaced + float(e))
    for i in np.flatnonzero((steep[:-1] < 0) & (steep[1:] >= 0)).tolist():
        one, other = spaced[i], spaced[i + 1]
        for _ in range(60):
            z = 0.5 * (one + other)
            rising = (
                float(a - theta) + 2 * float(q) * (z - float(m)) - float(b) * math.exp(float(b) * z + float(e)) >= 0
            )
            one, other = (one, z) if rising else (z, other)
        turns.append(min(max(Fraction(one), low), high))
    return min(value(z) for z in ends + turns)
