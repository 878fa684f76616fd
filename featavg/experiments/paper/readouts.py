"""The same k-class network has very different radii under different read-outs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from featavg.analysis import theory
from featavg.experiments import Expect, Quantity
from featavg.experiments.paper.setting import Setting
from featavg.record import Drawing
from featavg.robustness import Budget, Readout, robust_radius

COST = ("long", 150)
NEEDS: tuple[str, ...] = ()
EXACT: dict[Readout, float] = {"argmax": 37.7, "maximum": 38.2, "summed-logits": 25.1}  # and an independent prototype
COORDS = {"readout": (*EXACT, "summed-probabilities")}
COLUMNS = {
    "radius": Quantity(
        "median exact ℓ2 radius; under summed probabilities that under maximum plus the difference, an upper bound",
        ("readout",),
    ),
    "largest": "largest median over the read-outs",
    "difference": "median over points of a witness's distance, an upper bound, minus the exact radius under maximum",
    "width": "median of 1 − lower/upper over the points, lower certified and upper witnessed",
}
CLAIMS = [
    *(
        Expect("radius", f"The median radius under {readout} is {expected}.", "independent prototype",
               expected=expected, tolerance=0.5, at={"readout": readout},
               because="the median of {config.test_points} points is known to 0.1, that of the prototype too")
        for readout, expected in EXACT.items()
    ),
    Expect("difference", "Witnesses against summed probabilities, the paper's read-out, are as far as the maximum's.",
           "independent prototype", expected=0.0, tolerance=0.4, because="one percent of the radius"),
    Expect("width", "Summed probabilities are bracketed to a tenth.", "certified bracket", expected=0.1, tolerance=0.0,
           relation="at most", because="what a search of {config.bracket_seconds:g} s per point leaves", check=True),
    Expect("largest", "No read-out passes √(d/2).", "Theorem 5",
           expected=lambda config, _: theory.optimal_radius(config.theory), tolerance=0.0, relation="at most",
           because="a bound"),
]  # fmt: skip
DRAWINGS = [
    Drawing("dots", {"measured": "radius", "labels": "readout"}, band=0.95, options={"x_label": "median ℓ2 radius"},
        caption="Median ℓ2 radius of one and the same k-class network under each read-out, with 95 % intervals over "
        "seeds. Summing logits throws away a third of the robustness that the features have."),
]  # fmt: skip


@dataclass(frozen=True)
class Config(Setting):
    """The paper's setting; summed probabilities, the one read-out that is bracketed, are asked for fewer points."""

    test_points: int = 300
    bracketed_points: int = 6
    bracket_seconds: float = 2.0  # of CPU, for each of them
    seeds: int = 10


def measure(config: Config, seed: int) -> dict[str, Any]:
    """Compute the radius of the same test points of the same network under every read-out."""
    data = config.data(seed)
    network = config.fine(data, seed, [config.steps]).final
    test = config.test(data, seed, config.test_points)
    radii = {
        readout: robust_radius(network, test.x, test.cluster if readout == "argmax" else test.y, readout=readout).upper
        for readout in EXACT
    }
    medians = {readout: float(np.median(radius)) for readout, radius in radii.items()}
    few = slice(config.bracketed_points)
    budget = Budget(seconds=config.bracket_seconds)
    bracket = robust_radius(network, test.x[few], test.y[few], readout="summed-probabilities", budget=budget)
    difference = float(np.median(bracket.upper - radii["maximum"][few]))
    radius = [*medians.values(), medians["maximum"] + difference]
    return {
        "radius": radius,
        "largest": max(radius),
        "difference": difference,
        "width": np.median(1 - bracket.lower / bracket.upper),
    }
