"""By how much the fine network is more robust than the coarse one, point by point, also at equal clean accuracy.

A gain is robust accuracy of the fine network minus that of the coarse one at the coarse network's median radius, at the
same points. Do fine labels gain on CIFAR-10 what the paper publishes, or nothing to speak of? The paper's networks gain
14.4 points there (Fig. 3 right); both questions were asked beforehand, and at most one of the two claims can hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from featavg.arrays import Array
from featavg.experiments import Expect
from featavg.record import Column

NETWORKS = ("coarse", "fine")
PUBLISHED_GAIN = 0.144  # of Fig. 3 right at radius 0.56, where the coarse network has 50.6 %
PLACES = {"gain": "at the coarse median radius", "matched_gain": "at equal clean accuracy"}
Published = Mapping[str, Mapping[float, float]]  # network -> radius -> robust accuracy in the paper's figure


def gap(coarse: Array, fine: Array, radius: Array) -> Array:
    """1[fine > r] − 1[coarse > r] at radii r (seed,), from upper bounds (seed, point): (seed, point).

    >>> gap(np.array([[0.1, 0.9]]), np.array([[0.7, 0.9]]), np.array([0.5]))
    array([[1., 0.]])
    """
    return (fine > radius[:, None]).astype(np.float64) - (coarse > radius[:, None])


def median_radius(upper: Array) -> Array:
    """The radius at which half of all points are fooled, wrong ones at 0: (seed,) from upper bounds (seed, point)."""
    return np.median(upper, axis=1)


def matched_gap(clean: tuple[Array, Array], upper: tuple[Array, Array], radius: Array) -> tuple[Array, Array]:
    """The gap at equal clean accuracy, and the difference of clean accuracy that is left: (seed, point), (seed,).

    The network (coarse, fine) that ends less accurate is taken at its end; the other one is taken back to when it
    first had that accuracy, between two moments in proportion to accuracy, or at the first moment if it was better
    already. clean is (seed, moment), upper bounds are (seed, moment, point), radii (seed,).

    >>> coarse, fine = np.array([[0.8, 0.9]]), np.array([[0.85, 0.95]])
    >>> early_is_robust = np.array([[[2.0], [0.0]]])
    >>> matched_gap((coarse, fine), (0 * early_is_robust, early_is_robust), np.array([1.0]))
    (array([[0.5]]), array([0.]))
    """
    level = np.minimum(clean[0][:, -1], clean[1][:, -1])
    shares = [np.stack([_moment(row, end) for row, end in zip(rows, level, strict=True)]) for rows in clean]
    standing = [
        np.einsum("st,stp->sp", share, (found > radius[:, None, None]).astype(np.float64))
        for share, found in zip(shares, upper, strict=True)
    ]
    accuracy = [(share * rows).sum(axis=1) for share, rows in zip(shares, clean, strict=True)]
    return standing[1] - standing[0], accuracy[1] - accuracy[0]


def standing(upper: Array, radii: Array) -> Array:
    """Robust accuracy (..., radius) from upper bounds (..., point)."""
    return np.mean(upper[..., None, :] > radii[:, None], axis=-1)


def largest_published_gap(published: Published) -> tuple[float, float]:
    """The radius of the paper's largest gap, and that gap."""
    coarse, fine = (np.array(list(published[kind].values())) for kind in NETWORKS)
    return float(list(published["coarse"])[int((fine - coarse).argmax())]), float((fine - coarse).max())


def disagreement(upper: Mapping[str, Array], published: Published, unit: float) -> Array:
    """Mean distance of both curves from the published ones, whose radii are read in a unit: (seed,)."""
    differences = [
        np.abs(standing(upper[kind], unit * np.array(list(curve))) - np.array(list(curve.values())))
        for kind, curve in published.items()
    ]
    return np.asarray(np.mean(differences, axis=(0, 2)))


def _moment(clean: Array, level: float) -> Array:
    """The shares of the moments (moment,) that make up the time at which a network has accuracy `level`."""
    shares = np.zeros(len(clean))
    if clean[-1] == level:
        shares[-1] = 1.0
        return shares
    first = int(np.argmax(clean >= level))
    shares[first] = 1.0
    if first:
        after = (level - clean[first - 1]) / (clean[first] - clean[first - 1])
        shares[first - 1], shares[first] = 1 - after, after
    return shares


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
