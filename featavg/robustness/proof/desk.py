"""Working memory of the checker: what holds at one node, and what one cut is made of."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from featavg.arrays import Ints
from featavg.robustness.proof.format import Floats
from featavg.robustness.proof.references import by_reference


@by_reference
class Desk(NamedTuple):
    """Scratch arrays, overwritten by every cut."""

    center: Floats  # (neuron,)  z0 rounded to a float
    center_low: Floats  # (neuron,)  z0 = center + center_low within center_error
    center_error: Floats  # (neuron,)
    slack: Floats  # (neuron,)  at least |z0 − center|
    slope: Floats  # (neuron,)  a, the coefficients of G
    spread: Floats  # (neuron,)  by how much a may differ from the true coefficient
    bend: Floats  # (neuron,)  q of the curve
    power: Floats  # (neuron,)  b of the exponential exp(b ReLU(z) + e) that G subtracts, 0 for none
    level: Floats  # (neuron,)  e
    theta: Floats  # (neuron,)
    support: Ints  # (neuron,)  where θ is not 0
    seen: Floats  # (neuron,)  Gθ, where the frame has a Gram matrix
    direction: Floats  # (coordinate,)  h, the normal of the cut
    direction_low: Floats  # (coordinate,)
    remainder: Floats  # (coordinate,)  h − q, what the box leaves of it
    box_low: Floats  # (coordinate,)  the box seen from x; empty for ℓ2 without a box
    box_high: Floats


class Halfspace(NamedTuple):
    """⟨h,δ⟩ + offset <= 0 for every point of the rival within the reach.

    h is `desk.direction` within `slip`, in the dual norm; in terms of the box's remainder h − q the half-space is
    ⟨h − q,δ⟩ + offset_in_box <= 0 with ‖h − q‖_* <= length.
    """

    offset: float
    offset_in_box: float
    length: float
    slip: float
    weight: float  # at least Σ |θ_j|‖w_j‖_*
    terms: int  # entries of θ that count


def new_desk(neurons: int, coordinates: int, box: int) -> Desk:
    """Scratch arrays for that many neurons and coordinates; `box` is 0 where there is none."""
    parts: list[Any] = [*np.zeros((11, neurons)), *np.zeros((3, coordinates)), *np.zeros((2, box))]
    parts.insert(10, np.zeros(neurons, dtype=np.int64))
    return Desk(*parts)
