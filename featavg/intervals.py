"""Confidence intervals, each formula once: of a mean, of a share, of a ratio.

SciPy is imported inside, because reading and showing records must not wait for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from featavg.arrays import Array, finite_vector
from featavg.errors import InputError

DRAWS = 1000  # of a bootstrap
ENDLESS = 1e200  # a ratio beyond this has nothing below the line


def student_t(values: ArrayLike, level: float = 0.95) -> tuple[float, float]:
    """Student's interval of the mean of `values` (sample,): mean ± t·s/√n.

    One value alone shows no spread: its interval is the whole line. Equal values have an interval of no width.

    >>> low, high = student_t([1.0, 2.0, 3.0])
    >>> round(low, 3), round(high, 3)
    (-0.484, 4.484)
    """
    sample = _sample(values)
    _check_level(level)
    if len(sample) == 1:
        return -math.inf, math.inf
    mean, half = float(sample.mean()), student_t_width(len(sample), level) * float(sample.std(ddof=1))
    return mean - half, mean + half


def student_t_width(count: int, level: float = 0.95) -> float:
    """t/√n, by which the standard deviation of n values becomes half of Student's interval.

    >>> round(student_t_width(3), 4)
    2.4841
    """
    from scipy.special import stdtrit

    return float(stdtrit(count - 1, (1 + level) / 2)) / math.sqrt(count)


def normal(values: ArrayLike, deviations: float = 1.96) -> tuple[float, float]:
    """The interval of the mean of many `values` (sample,): mean ± 1.96 s/√n, of level 95 % by default.

    >>> normal([0.0, 1.0])
    (-0.1929..., 1.1929...)
    """
    sample = _sample(values)
    half = deviations * float(sample.std()) / math.sqrt(len(sample))
    return float(sample.mean()) - half, float(sample.mean()) + half


def wilson(share: ArrayLike, count: int, level: float = 0.95) -> tuple[Array, Array]:
    """Wilson's score interval of a share of `count` independent points: two arrays like `share`.

    >>> [end.round(4) for end in wilson([0.5, 1.0], 100)]
    [array([0.4038, 0.963 ]), array([0.5962, 1.    ])]
    """
    from scipy.special import ndtri

    _check_level(level)
    _check_count(count)
    p, z = np.asarray(share, dtype=np.float64), float(ndtri((1 + level) / 2))
    middle = (p + z * z / (2 * count)) / (1 + z * z / count)
    half = z * np.sqrt(p * (1 - p) / count + z * z / (4 * count**2)) / (1 + z * z / count)
    return np.maximum(middle - half, 0.0), np.minimum(middle + half, 1.0)


def clopper_pearson(hits: int, count: int, level: float = 0.95) -> tuple[float, float]:
    """The interval of a share that covers it at least so often, whatever the share is: hits of count points.

    >>> [round(end, 4) for end in clopper_pearson(0, 10)]  # 1 − 0.025^(1/10)
    [0.0, 0.3085]
    """
    from scipy.special import betaincinv

    _check_level(level)
    _check_count(count)
    if not 0 <= hits <= count:
        raise InputError(f"hits must lie between 0 and {count}, got {hits}")
    tail = (1 - level) / 2
    low = float(betaincinv(hits, count - hits + 1, tail)) if hits else 0.0
    high = float(betaincinv(hits + 1, count - hits, 1 - tail)) if hits < count else 1.0
    return low, high


def share_over_seeds(shares: ArrayLike, points: int, level: float = 0.95) -> tuple[float, float]:
    """The interval of a mean of `shares` (seed,), each of `points` independent points: both levels count.

    Seeds differ by more than chance among points, so Student's interval over seeds is needed; seeds that agree to the
    last point show no spread, so Clopper and Pearson's over all points is needed too. The smallest interval that holds
    both covers whenever either does.

    >>> [round(end, 4) for end in share_over_seeds([1.0, 1.0, 1.0], points=100)]  # 0.025^(1/300)
    [0.9878, 1.0]
    """
    sample = _sample(shares)
    low, high = student_t(sample, level)
    count = points * len(sample)
    least, most = clopper_pearson(int(np.floor(sample.sum() * points + 1e-6)), count, level)
    if len(sample) == 1:
        return least, most
    return max(0.0, min(low, least)), min(1.0, max(high, most))


def bootstrap_ratio(
    above: Array, below: Array, statistic: Callable[..., Any], rng: np.random.Generator, level: float = 0.95
) -> tuple[float, tuple[float, float]]:
    """statistic(above)/statistic(below) over paired points (point,), and its bootstrap interval over points.

    >>> bootstrap_ratio(np.array([2.0, 4.0]), np.array([1.0, 2.0]), np.mean, np.random.default_rng(0))
    (2.0, (2.0, 2.0))

    Where so many draws have 0 below the line that no end can be told, it is ∞:

    >>> bootstrap_ratio(np.array([2.0, 4.0, 6.0]), np.array([0.0, 1.0, 2.0]), np.median, np.random.default_rng(0))
    (4.0, (3.0, inf))
    """
    _check_level(level)
    top, bottom = (np.minimum(values, 1e300) for values in (above, below))
    rows = rng.integers(len(top), size=(DRAWS, len(top)))
    spread = statistic(top[rows], axis=1) / np.maximum(statistic(bottom[rows], axis=1), 1e-300)
    value = float(statistic(top) / max(statistic(bottom), 1e-300))
    low, high = np.quantile(spread, [(1 - level) / 2, (1 + level) / 2])
    # The ratio itself may lie just outside of what was drawn.
    ends = (value, min(float(low), value), max(float(high), value))
    value, least, most = (np.inf if end > ENDLESS else end for end in ends)
    return value, (least, most)


def _sample(values: ArrayLike) -> Array:
    sample = finite_vector(values, "values")
    if not len(sample):
        raise InputError("an interval needs at least one value, got none; run at least one seed")
    return sample


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        raise InputError(f"level must lie between 0 and 1, got {level}")


def _check_count(count: int) -> None:
    if count < 1:
        raise InputError("a share of no points has no interval")
