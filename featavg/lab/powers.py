"""Networks whose activation is a power of ReLU: nothing is proved about them, attacks give upper bounds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from featavg.arrays import Array, Bools, Ints
from featavg.data import Names
from featavg.model import Network, Readout
from featavg.robustness import Norm, norm_of, whole_rows

TIE = 1e-9  # of the largest output


@dataclass(frozen=True, eq=False)
class PowerQuestion:
    """At each x_i: how far is the nearest point that a two-layer network of any activation does not put in y_i?"""

    network: Network
    x: Array  # (sample, axis)
    codes: Ints  # (sample,)  positions in the labels of the read-out
    readout: Readout
    norm: Norm = "l2"
    box: None = None
    precision: str = "float64"

    @property
    def y(self) -> Names:
        """-1 or +1: (sample,)."""
        return 2 * self.codes - 1

    def margins(self, points: ArrayLike) -> Array:
        """By how much the decision at point i is still y_i: (sample,); NaN where a point is none."""
        return self._judged(points)[0]

    def slopes(self, points: ArrayLike) -> tuple[Array, Array]:
        """The margin at point i (sample,) and Σ_r s_r φ'(z_r) w_r there (sample, axis), s = ∂margin/∂F · A."""
        network, outputs = self.network, self.network.outputs(points)
        through = self.readout.slope(outputs, self.codes) @ network.second
        sizes = np.linalg.norm(network.weights, axis=1)
        through = through * network.activation.slope(network.preactivations(points), sizes)
        return self.readout.margins(outputs, self.codes), through @ network.weights

    def fooled(self, points: ArrayLike) -> Bools:
        """Whether point i is misclassified or tied: (sample,)."""
        margins, size = self._judged(points)
        return np.asarray(margins <= TIE * size)

    def _judged(self, points: ArrayLike) -> tuple[Array, Array]:
        """Margins and the largest output at each point, of which some may be NaN where an attack found nothing."""
        given = np.asarray(points, dtype=np.float64)
        none = ~whole_rows(given)
        outputs = self.network.outputs(np.where(none[:, None], 0.0, given))
        margins = self.readout.margins(outputs, self.codes)
        return np.where(none, np.nan, margins), np.abs(outputs).max(axis=1)

    def distances(self, points: ArrayLike) -> Array:
        """Distance of point i from x_i: (sample,)."""
        return norm_of(self.norm).length(np.asarray(points) - self.x)

    def part(self, chosen: Bools | Ints) -> PowerQuestion:
        """The same question at some of its points, each as often as it is named."""
        return replace(self, x=self.x[chosen], codes=self.codes[chosen])

    def problem(self) -> None:
        """There is no checker for powers."""

    def same_as(self, other: Any) -> bool:
        """Whether both ask about the same network at the same points."""
        return isinstance(other, PowerQuestion) and self.network is other.network and np.array_equal(self.x, other.x)
