"""By how much the fine network is more robust than the coarse one, point by point, also at equal clean accuracy."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from featavg.arrays import Array

NETWORKS = ("coarse", "fine")
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
