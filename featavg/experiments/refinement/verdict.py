"""The verdict on one classifier at one radius: what is proved and what is refuted, point by point.

Every number comes from `robust_at`: a point counts as standing below where no perturbation up to the radius is proved
to fool it, and as lost above where one is shown that does.
"""

from __future__ import annotations

from dataclasses import dataclass

from featavg.arrays import Array, Ints
from featavg.model import Network
from featavg.robustness import Budget, Readout, robust_accuracy, robust_at

BUDGET = Budget(nodes=2000, seconds=0.15)


@dataclass(frozen=True)
class Verdict:
    """Robust accuracy at one radius lies between `lower`, proved, and `upper`, not refuted."""

    lower: float
    upper: float


def verdict(network: Network, x: Array, y: Ints, radius: float, readout: Readout) -> Verdict:
    """Return the bracket of the robust accuracy of `network` at `radius` under a binary read-out."""
    found = robust_accuracy(robust_at(network, x, y, radius, readout=readout, budget=BUDGET, proofs=False), radius)
    return Verdict(float(found.lower[0]), float(found.upper[0]))
