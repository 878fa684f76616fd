"""One output: its sign decides between two classes."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from featavg.arrays import Array, Ints
from featavg.data import Dataset, Names
from featavg.errors import InputError
from featavg.model.readouts.base import Readout


@dataclass(frozen=True, eq=False)
class Sign(Readout):
    """sgn f decides: the first label where f < 0, the second where f > 0; the paper's labels -1 and +1 by default.

    >>> Sign().margins(np.array([[2.0], [-3.0]]), np.array([1, 1]))
    array([ 2., -3.])
    """

    labels: Names = field(default_factory=lambda: np.array([-1, 1]))
    name: str = field(default="sign", init=False)

    def margins(self, outputs: Array, codes: Ints, rival: Ints | None = None) -> Array:
        """y f."""
        return (2 * codes - 1) * outputs[:, 0]

    def slope(self, outputs: Array, codes: Ints, rival: Ints | None = None) -> Array:
        """Y."""
        return (2.0 * codes - 1)[:, None]

    def decide(self, outputs: Array) -> Ints:
        """1 where f > 0, else 0."""
        return (outputs[:, 0] > 0).astype(np.int64)

    def predict(self, outputs: Array) -> Names:
        """The label decided for; with labels -1 and +1 a tie is 0."""
        if np.array_equal(self.labels, [-1, 1]):
            return np.sign(outputs[:, 0]).astype(np.int64)
        return super().predict(outputs)

    def targets(self, data: Dataset) -> Ints:
        """The coarse labels."""
        return data.y

    def neuron_class(self, last: Array) -> Ints:
        """The sign of a neuron's second-layer weight: -1 or +1, 0 for a neuron without influence."""
        return np.sign(last[0]).astype(np.int64)

    def check(self, outputs: int) -> None:
        """One output, two labels."""
        if outputs != 1 or len(self.labels) != 2:
            raise InputError(f"the read-out sign needs one output and two labels, got {outputs} and {len(self.labels)}")
