"""What is measured, derived and claimed of coarse and fine labels on images.

A gap is robust accuracy of the fine network minus that of the coarse one, at the same points and radius. The paper
claims that it is positive, so its claims accept every gap from 0 upwards: that the sign is right is all that is asked.
Tolerances were written before the reference runs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from featavg.arrays import Array
from featavg.experiments import Expect, Quantity
from featavg.experiments.images.attacks import ATTACKS, control_radii
from featavg.experiments.images.gaps import (
    NETWORKS,
    Published,
    disagreement,
    gap,
    largest_published_gap,
    matched_gap,
    median_radius,
    standing,
)
from featavg.experiments.images.pairs import ImageSetting, Pair
from featavg.record import Column, Table

COORDS = {
    "network": NETWORKS,
    "attack": ATTACKS,
    "moment": lambda config: config.moments,
    "mark": lambda config: config.marks,
}
COLUMNS = {
    "upper": Quantity("ℓ2 radius in pixels by each attack, an upper bound", ("network", "attack", "point")),
    "control": Quantity("upper bound by PGD on 10-way cross-entropy, fine network", ("control_point",)),
    "flags": "what the attacks say against themselves",
    "examples": Quantity("pictures", ("example", "picture", "height", "width", "channel"), once=True),
    "universal": Quantity("universal perturbations", ("network", "label", "height", "width", "channel"), once=True),
    "clean": Quantity("clean accuracy of the binary decision on all test images", ("network", "moment")),
    "over_time": Quantity("upper bound by the minimal-norm attack", ("network", "moment", "time_point")),
    "two_layer_clean": Quantity("clean accuracy of the two-layer networks", ("network", "mark")),
    "two_layer_lower": Quantity("proved ℓ2 radius, two layers", ("network", "mark", "exact_point")),
    "two_layer_upper": Quantity("exact ℓ2 radius, two layers", ("network", "mark", "exact_point")),
    "two_layer_verified": "smallest share, over networks and marks, of points with a verified proof",
}
BEST = "best of minimal norm, PGD, transfer, boundary walk and feature direction per point, an upper bound"
TWO_LAYER = (
    "fine − coarse robust accuracy at the coarse network's median exact ℓ2 radius then, maximum read-out, no box"
)
AT_MEDIAN = f"fine − coarse robust accuracy at the coarse network's median radius of each seed; {BEST}"
AT_EQUAL = (
    "fine − coarse robust accuracy at the coarse median radius, minimal-norm attack; the network that ends more "
    "accurate is taken back to when it first had the other's final accuracy"
)


def sign(column: str, text: str, source: str, published: float | None = None) -> Expect:
    """The claim that a gap is not negative."""
    return Expect(column, text, source, expected=0.0, tolerance=0.0, relation="at least", published=published,
        because="the paper claims the sign; how large a gain must be to matter is left to the reader")  # fmt: skip


def published_gap(published: Published, source: str, units: str) -> Expect:
    """Compare at the radius of the paper's largest gap."""
    radius, theirs = largest_published_gap(published)
    where = f"At radius {radius:g} ({units}), where the published gain is largest,"
    return sign("published_gap", f"{where} the fine network is more robust.", source, theirs)


def agreement(source: str, units: str) -> Expect:
    """Both curves against the published ones."""
    return Expect(
        "disagreement", f"Both curves are those of the paper, if its radii are {units}.", source,
        expected=0.0, tolerance=0.1, relation="at most",
        because="architecture, training and attack are unstated; ten points separate the readings of the unit",
    )  # fmt: skip


def median_gap(source: str) -> Expect:
    """Compare where the coarse network is fooled at half of the points."""
    text = "Where half of all points of the coarse network are fooled, the fine network is more robust."
    return sign("median_gap", text, source)


def over_points(source: str) -> list[Expect]:
    """The two main gaps again, of the networks at hand: with few seeds an interval over seeds settles little."""
    text = "In these {config.seeds} pairs of networks, the fine network is more robust"
    return [
        sign("median_gap_points", f"{text} at the coarse median radius.", source),
        sign("equal_accuracy_points", f"{text} at equal clean accuracy.", source),
    ]


EQUAL_ACCURACY = sign(
    "equal_accuracy_gap",
    "At equal clean accuracy of the binary decision, the fine network is still more robust.", "reviewers' question",
)  # fmt: skip
EARLY = sign("early_gap", "After the first epoch, the fine network is more robust.", "trial runs of this project")
TWO_LAYERS = [
    sign("two_layer_first_gap",
         "After {config.marks[0]} steps, the fine two-layer network on raw pixels is more robust.",
         "Fig. 3, on two layers"),
    Expect("two_layer_last_gap", "After {config.last_mark} steps nothing is left of that gain.",
           "trial runs of this project", expected=0.0, tolerance=0.05, relation="at most",
           because="five points are hardly seen beside a gain of ten or more"),
]  # fmt: skip
ATTACKS_SUCCEED = Expect("left", "At radius {config.reach:g} the attacks leave nothing of either network's accuracy.",
                         "sanity of attacks (Carlini et al. 2019)", expected=0.0, tolerance=0.02, relation="at most",
                         because="a curve that levels off higher is the sign of a failed attack")  # fmt: skip
MINIMAL_NORM_SUFFICES = Expect(
    "minimal_excess", "One pass of the minimal-norm attack is never more than a point above PGD.",
    "this project's requirement", expected=0.0, tolerance=0.01, relation="at most", because="one point of accuracy",
)  # fmt: skip
CONTROL_OVERSTATES = Expect("control_excess",
    "An attack on 10-way cross-entropy, scored on the binary decision, levels off and overstates robustness.",
    "public reproduction (its curves level off at 37 % and 43 %)", expected=0.1, tolerance=0.0, relation="at least",
    because="ten points above zero at any radius is a failed attack by every standard")  # fmt: skip
SANITY = [ATTACKS_SUCCEED, MINIMAL_NORM_SUFFICES, CONTROL_OVERSTATES]


def gaps(config: ImageSetting, table: Table, pair: Pair) -> dict[str, Column]:
    """All gaps between the networks, by seed."""
    best = {kind: table.sel("upper", network=kind, attack="best") for kind in NETWORKS}  # (seed, point)
    coarse, fine = best.values()
    early, early_fine = (table.sel("over_time", network=kind)[:, 0] for kind in NETWORKS)
    at_median = gap(coarse, fine, median_radius(coarse))
    at_equal, remaining = _matched(table, "clean", "over_time")
    over = "as above, with the interval over {} test points instead of {} seeds: it says nothing about other networks"
    columns = {
        "median_gap": _by_seed(at_median.mean(axis=1), AT_MEDIAN),
        "equal_accuracy_gap": _by_seed(at_equal.mean(axis=1), AT_EQUAL),
        "equal_accuracy_left": _by_seed(remaining, "difference of clean accuracy that is left"),
        "median_gap_points": Column(at_median.ravel(), ("any_point",), over.format(at_median.size, config.seeds)),
        "equal_accuracy_points": Column(at_equal.ravel(), ("any_early",), over.format(at_equal.size, config.seeds)),
        "early_gap": _by_seed(
            gap(early, early_fine, median_radius(early)).mean(axis=1),
            "fine − coarse robust accuracy at the coarse network's median radius after that epoch, minimal-norm attack",
        ),
    }
    if pair.published:
        at = np.full(config.seeds, largest_published_gap(pair.published)[0] * pair.unit)
        how = f"fine − coarse robust accuracy, summed probabilities, ℓ2; {BEST}"
        columns["published_gap"] = _by_seed(gap(coarse, fine, at).mean(axis=1), how)
        how = f"mean difference of robust accuracy over published radii and both networks; {BEST}"
        columns["disagreement"] = _by_seed(disagreement(best, pair.published, pair.unit), how)
    if config.marks:
        for place, name in ((0, "first"), (-1, "last")):
            few, many = (table.sel("two_layer_upper", network=kind)[:, place] for kind in NETWORKS)
            values = gap(few, many, median_radius(few)).mean(axis=1)
            columns[f"two_layer_{name}_gap"] = _by_seed(values, TWO_LAYER)
        remaining = _matched(table, "two_layer_clean", "two_layer_upper")[1]
        columns["two_layer_equal_left"] = _by_seed(remaining, "difference of clean accuracy that is left, two layers")
    return columns


def sanity(config: ImageSetting, table: Table) -> dict[str, Column]:
    """What says whether the attacks are good, by seed."""
    radii, upper = np.array(config.ball_radii), table["upper"]  # (seed, network, attack, point)
    minimal, pgd = (standing(upper[:, :, ATTACKS.index(name)], radii) for name in ("minimal_norm", "pgd"))
    best = upper[:, :, ATTACKS.index("best")]
    shown = ", ".join(map(str, radii))
    return {
        "left": left_standing(best, config.reach),
        "minimal_excess": _by_seed(
            (minimal - pgd).max(axis=(1, 2)),
            f"largest difference of robust accuracy over both networks and radii {shown}; PGD {config.ball_steps} "
            "steps from x and from one random start",
        ),
        "control_excess": control_excess(config, table["control"], best[:, NETWORKS.index("fine")]),
    }


def left_standing(best: Array, reach: float) -> Column:
    """Robust accuracy at the largest radius, from upper bounds (seed, network, point)."""
    how = f"robust accuracy at the largest radius, the larger of the two networks; {BEST}"
    return Column(np.mean(best > reach, axis=2).max(axis=1), ("seed",), how, points=best.shape[2])


def control_excess(config: ImageSetting, by_control: Array, best: Array) -> Column:
    """What the control leaves more than the best attack at the first of its points, from upper bounds (seed, point)."""
    reach = control_radii(config)[-1]
    same = best[:, : by_control.shape[1]]
    how = f"robust accuracy of the fine network at radius {config.reach:g} by that attack minus by the best of all"
    return _by_seed(np.mean(by_control > reach, axis=1) - np.mean(same > reach, axis=1), how)


def _matched(table: Table, clean: str, upper: str) -> tuple[Array, Array]:
    """`matched_gap` at the radius that is the coarse network's median at the end."""
    coarse, fine = ((table.sel(clean, network=kind), table.sel(upper, network=kind)) for kind in NETWORKS)
    return matched_gap((coarse[0], fine[0]), (coarse[1], fine[1]), median_radius(coarse[1][:, -1]))


def _by_seed(values: Any, how: str) -> Column:
    return Column(values, ("seed",), how)
