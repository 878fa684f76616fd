"""The same k-class network has very different radii under different read-outs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from featavg.analysis import theory
from featavg.experiments import Expect, Quantity
from featavg.experiments.paper.setting import Setting
from featavg.record import Drawing
from featavg.robustness import Readout, Status, robust_radius

COST = ("long", 40)
NEEDS: tuple[str, ...] = ()
# Medians of an independent prototype.
EXPECTED: dict[Readout, float] = {"argmax": 37.7, "maximum": 38.2, "summed-logits": 25.1, "summed-probabilities": 38.2}
COORDS = {"readout": tuple(EXPECTED)}
COLUMNS = {
    "radius": Quantity("median exact ℓ2 radius", ("readout",)),
    "largest": "largest median over the read-outs",
    "difference": "median over points of the exact radius under summed probabilities minus that under maximum",
    "exact": "share of points whose radius is exact under every read-out, within the search's default budget",
}
CLAIMS = [
    *(
        Expect("radius", f"The median radius under {readout} is {expected}.", "independent prototype",
               expected=expected, tolerance=0.5, at={"readout": readout},
               because="the median of {config.test_points} points is known to 0.1, that of the prototype too")
        for readout, expected in EXPECTED.items()
    ),
    Expect("difference", "Under summed probabilities, the paper's read-out, radii are those under the maximum.",
           "independent prototype", expected=0.0, tolerance=0.4, because="one percent of the radius"),
    Expect("exact", "Nearly every radius is exact.", "certified bracket", expected=0.99, tolerance=0.0,
           relation="at least", because="a search may stop at a tie of the float lattice", check=True),
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
    """The paper's setting."""

    test_points: int = 300
    seeds: int = 10


def measure(config: Config, seed: int) -> dict[str, Any]:
    """Compute the radius of the same test points of the same network under every read-out."""
    data = config.data(seed)
    network = config.fine(data, seed, [config.steps]).final
    test = config.test(data, seed, config.test_points)
    brackets = {
        readout: robust_radius(
            network, test.x, test.cluster if readout == "argmax" else test.y, readout=readout, proofs=False
        )
        for readout in EXPECTED
    }
    radii = np.stack([bracket.upper for bracket in brackets.values()])
    medians = np.median(radii, axis=1)
    return {
        "radius": medians,
        "largest": medians.max(),
        "difference": np.median(brackets["summed-probabilities"].upper - brackets["maximum"].upper),
        "exact": min(bracket.status.count(Status.EXACT) / len(bracket) for bracket in brackets.values()),
    }
