"""From radii of points to robust accuracy: the share of points whose class survives every perturbation of a size.

A point survives δ if its true radius is greater than δ: a perturbation of exactly its radius fools it. Where only a
bracket is known, at least the points with lower > δ survive and at most those with upper > δ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import binom

from featavg.arrays import Array, finite_vector
from featavg.errors import InputError
from featavg.intervals import wilson
from featavg.robustness.bracket import RadiusBracket


@dataclass(frozen=True)
class RobustAccuracy:
    """The robust accuracy at each radius lies between `lower` and `upper`; for exact radii they agree."""

    radii: Array  # (radius,)
    lower: Array  # (radius,)  proved
    upper: Array  # (radius,)  not refuted; what an attack alone claims
    points: int

    def interval(self, confidence: float = 0.95) -> tuple[Array, Array]:
        """Wilson's interval for the share over all points of the distribution: two arrays (radius,).

        It reaches from the lower end for `lower` to the upper end for `upper`.
        """
        _check_confidence(confidence)
        return wilson(self.lower, self.points, confidence)[0], wilson(self.upper, self.points, confidence)[1]


@dataclass(frozen=True)
class Difference:
    """A difference of robust accuracies at each radius, somewhere between `lower` and `upper`."""

    radii: Array  # (radius,)
    lower: Array  # (radius,)
    upper: Array  # (radius,)


@dataclass(frozen=True)
class AccuracyLines:
    """One line a method over the same radii, as `featavg.figures.curves` takes them."""

    labels: tuple[str, ...]
    radii: Array  # (radius,)
    line: Array  # (method, radius)
    lower: Array  # (method, radius)  the band around it, of no width where the line is all that is known
    upper: Array  # (method, radius)


@dataclass(frozen=True)
class RadiusQuantile:
    """A quantile of the radii lies in [lower, upper]; that of the distribution in [low, high], with confidence."""

    share: float
    lower: float
    upper: float
    low: float
    high: float


def robust_accuracy(radius: RadiusBracket, radii: ArrayLike) -> RobustAccuracy:
    """Return the robust accuracy at `radii`: #{lower > δ}/n <= truth <= #{upper > δ}/n.

    >>> from featavg.robustness.attacks import UniversalDirection
    >>> linear = ([[1.0], [-1.0]], [0.0, 0.0], [[1.0, -1.0]], [0.0])
    >>> robust_accuracy(UniversalDirection()(linear, [[1.0], [3.0]], [1, 1]), [0, 1.5, 2]).upper
    array([1. , 0.5, 0.5])
    """
    sizes = robust_sizes(radii)
    return RobustAccuracy(sizes, share_above(radius.lower, sizes), share_above(radius.upper, sizes), len(radius))


def robust_curve(radius: RadiusBracket) -> RobustAccuracy:
    """Return the whole curve: robust accuracy at 0 and at every radius where it jumps.

    Between two of its radii the curve is constant and has the value of the smaller one (draw it `steps-post`).
    """
    ends = np.concatenate([[0.0], radius.lower, radius.upper])
    return robust_accuracy(radius, np.unique(ends[np.isfinite(ends)]))


def accuracy_lines(brackets: Mapping[str, RadiusBracket], radii: ArrayLike) -> AccuracyLines:
    """Return what each method says of the robust accuracy at `radii`, ready to be drawn.

    An attack's line is its upper bound and a certificate's its lower one; any other line is the middle of its band.

    >>> from featavg.robustness.attacks import UniversalDirection
    >>> linear = ([[1.0], [-1.0]], [0.0, 0.0], [[1.0, -1.0]], [0.0])
    >>> accuracy_lines({"attacked": UniversalDirection()(linear, [[1.0], [3.0]], [1, 1])}, [0, 2]).line
    array([[1. , 0.5]])
    """
    if not brackets:
        raise InputError("accuracy_lines needs at least one bracket")
    lower, upper = [], []
    for bracket in brackets.values():
        found, kinds = robust_accuracy(bracket, radii), set(bracket.status)
        lower.append(found.upper if kinds == {"attack only"} else found.lower)
        upper.append(found.lower if kinds == {"certificate only"} else found.upper)
    low, high = np.stack(lower), np.stack(upper)
    return AccuracyLines(tuple(brackets), found.radii, (low + high) / 2, low, high)


def is_robust(radius: RadiusBracket, delta: float, failing: float = 0.0) -> bool | None:
    """Whether the network is δ-robust (paper, Def. 2.6): at least a share 1 − `failing` of points survives δ.

    None if the brackets are too wide to tell.
    """
    if not 0 <= failing <= 1:
        raise InputError(f"failing must be a share between 0 and 1, got {failing}")
    found = robust_accuracy(radius, [delta])
    # 0.7 − 0.4 is not quite 0.3 in binary; the slack is far below one point.
    wanted = 1 - failing - 1e-9
    if found.lower[0] >= wanted:
        return True
    return False if found.upper[0] < wanted else None


def radius_quantile(radius: RadiusBracket, share: float = 0.5, confidence: float = 0.95) -> RadiusQuantile:
    """Return the smallest radius that at least a `share` of points does not exceed; the median by default.

    The interval over points is the one of order statistics, which assumes nothing about the distribution.
    """
    count = len(radius)
    if not count or not 0 < share < 1:
        raise InputError(f"need points and a share between 0 and 1, got {count} points and {share=}")
    _check_confidence(confidence)
    low, high = np.sort(radius.lower), np.sort(radius.upper)
    place = int(np.ceil(share * count * (1 - 1e-12))) - 1
    first = int(binom.ppf((1 - confidence) / 2, count, share)) - 1
    last = int(binom.ppf((1 + confidence) / 2, count, share))
    return RadiusQuantile(
        share=share,
        lower=float(low[place]),
        upper=float(high[place]),
        low=float(low[first]) if first >= 0 else 0.0,
        high=float(high[last]) if last < count else np.inf,
    )


def overstatement(claimed: RadiusBracket, truth: RadiusBracket, radii: ArrayLike) -> Difference:
    """By how much the robust accuracy that an attack leaves standing exceeds the true one, at each radius."""
    if len(claimed) != len(truth):
        raise InputError(f"need radii of the same points, got {len(claimed)} and {len(truth)} of them")
    left, real = robust_accuracy(claimed, radii), robust_accuracy(truth, radii)
    return Difference(left.radii, left.upper - real.upper, left.upper - real.lower)


def robust_sizes(radii: ArrayLike, name: str = "radii") -> Array:
    """Radii (radius,), finite and not negative; a single number counts as one of them."""
    try:
        given = np.atleast_1d(np.asarray(radii, dtype=np.float64))
    except (TypeError, ValueError):
        raise InputError(f"{name} must be numbers, got {radii!r}") from None
    sizes = finite_vector(given, name)
    if sizes.min(initial=0.0) < 0:
        raise InputError(f"{name} must not be negative, got {sizes.min()}")
    return sizes


def share_above(values: Array, sizes: Array) -> Array:
    """The share of values (point,) that exceed each size: (size,)."""
    if not len(values):
        raise InputError("robust accuracy needs at least one point, got none")
    return (len(values) - np.searchsorted(np.sort(values), sizes, side="right")) / len(values)


def _check_confidence(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise InputError(f"confidence must lie between 0 and 1, got {confidence}")
