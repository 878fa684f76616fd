"""Do fine labels gain on CIFAR-10 what the paper publishes, or nothing to speak of? Both questions, asked beforehand.

A gain is robust accuracy of the fine network minus that of the coarse one at the coarse network's median radius, at the
same points. The paper's networks gain 14.4 points there (Fig. 3 right); at most one of the two claims can hold.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from featavg.arrays import Array
from featavg.experiments import Expect
from featavg.experiments.images.gaps import gap, median_radius
from featavg.record import Column

PUBLISHED_GAIN = 0.144  # of Fig. 3 right at radius 0.56, where the coarse network has 50.6 %
PLACES = {"gain": "at the coarse median radius", "matched_gain": "at equal clean accuracy"}


def gain_claims(source: str, where: str, suffix: str = "") -> Iterator[Expect]:
    """What was asked before any network was attacked; `suffix` tells columns over points from those over seeds."""
    for name, at in PLACES.items():
        yield Expect(f"{name}{suffix}", f"{where} fine labels bring the published gain {at}.", source,
            expected=PUBLISHED_GAIN, published=PUBLISHED_GAIN, tolerance=0.05, relation="at least",
            because="five points: other networks of the same kind, and a figure that is read to ± 1.5")  # fmt: skip
        yield Expect(f"{name}{suffix}", f"{where} they bring nothing to speak of {at}.", "reviewers' question",
                     expected=0.0, tolerance=0.07, because="seven points, half of the published gain")  # fmt: skip
    yield Expect(f"log_ratio{suffix}", f"{where} fine labels lengthen the radii of points that both put right.", source,
                 expected=0.0, tolerance=0.0, relation="at least", because="longer is longer")  # fmt: skip


def gains(coarse: Array, fine: Array, matched: Array, how: str, axis: str = "seed") -> dict[str, Column]:
    """The columns that `gain_claims` speaks of, from upper bounds (pair, point) and the gap at equal accuracy.

    >>> found = gains(np.array([[1.0, 2.0, 0.0]]), np.array([[2.0, 4.0, 1.0]]), np.zeros((1, 3)), "by an attack")
    >>> found["gain"].values, found["log_ratio"].values.round(3)
    (array([0.333...]), array([0.693]))
    """
    columns = {}
    for name, each in _by_point(coarse, fine, matched).items():
        there = np.isfinite(each).sum(axis=1)
        columns[name] = Column(np.nansum(each, axis=1) / np.maximum(there, 1), (axis,), _told(name, how))
    return columns


def gains_over_points(coarse: Array, fine: Array, matched: Array, how: str) -> dict[str, Column]:
    """The same with an interval over points, about the pairs at hand: few pairs settle little about others."""
    columns = {}
    for name, each in _by_point(coarse, fine, matched).items():
        there = each[np.isfinite(each)] if np.isfinite(each).any() else np.zeros(len(each))
        text = f"{_told(name, how)}; over {there.size} points of {len(coarse)} pairs, nothing is said of other networks"
        columns[f"{name}_points"] = Column(there, (f"{name}_point",), text)
    return columns


def _by_point(coarse: Array, fine: Array, matched: Array) -> dict[str, Array]:
    """Each (pair, point)."""
    gain = gap(coarse, fine, median_radius(coarse))
    return {"gain": gain, "matched_gain": matched, "log_ratio": log_ratios(coarse, fine)}


def log_ratios(coarse: Array, fine: Array) -> Array:
    """log(fine/coarse) of upper bounds, NaN where one of them is 0 or ∞."""
    both = (np.minimum(coarse, fine) > 0) & np.isfinite(coarse) & np.isfinite(fine)
    return np.log(np.where(both, fine, np.nan) / np.where(both, coarse, 1.0))


def _told(name: str, how: str) -> str:
    if name == "log_ratio":
        return f"mean log of fine over coarse radii at points that both put right, 0 if there is none; {how}"
    return f"fine − coarse robust accuracy {PLACES[name]}; {how}"
