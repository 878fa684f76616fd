"""Radii of coarse decisions that are made over sub-classes, for two classes or more."""

from __future__ import annotations

from typing import Any

import numpy as np

from featavg.arrays import Array, Ints
from featavg.errors import InputError
from featavg.model import Grouped, Groups, Network
from featavg.model.readouts.grouped import How
from featavg.robustness import Budget, RadiusBracket, robust_radius

READOUTS: tuple[How, ...] = ("maximum", "summed-probabilities")


def coarse_radius(
    network: Network, class_of: Ints, x: Array, codes: Ints, *, readout: str, budget: Budget, **asked: Any
) -> RadiusBracket:
    """Return the bracket of every point's radius among the coarse classes of the outputs, under the named read-out."""
    for how in READOUTS:
        if readout == how:
            coarse = Grouped(Groups(class_of, np.arange(int(class_of.max()) + 1)), how)
            return robust_radius(network, x, codes, readout=coarse, budget=budget, **asked)
    raise InputError(f"readout must be one of {', '.join(READOUTS)}, got {readout!r}")


def one_against_rest(network: Any, class_of: Ints, code: int) -> Network:
    """Return the network whose positive outputs are those of one class."""
    signs: Ints = np.where(class_of == code, 1, -1)
    return network.changed(class_labels=signs)
