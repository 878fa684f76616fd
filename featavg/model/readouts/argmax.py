"""Several outputs: the largest decides."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from featavg.arrays import Array, Ints
from featavg.data import Names
from featavg.errors import InputError
from featavg.model.readouts.base import Groups, Readout, at_rows


@dataclass(frozen=True, eq=False)
class Argmax(Readout):
    """The class of the largest output; `groups`, if known, says which coarse class each belongs to.

    >>> Argmax(np.arange(3)).margins(np.array([[2.0, 0.0, 1.0]]), np.array([0]))
    array([1.])
    """

    labels: Names  # (output,)
    groups: Groups | None = None
    name: str = field(default="argmax", init=False)

    def margins(self, outputs: Array, codes: Ints, rival: Ints | None = None) -> Array:
        """F_y − max_{j≠y} F_j, or F_y − F_rival."""
        rows = np.arange(len(codes))
        return outputs[rows, codes] - outputs[rows, self._rival(outputs, codes, rival)]

    def slope(self, outputs: Array, codes: Ints, rival: Ints | None = None) -> Array:
        """+1 at y, −1 at the largest other output."""
        width = outputs.shape[1]
        return at_rows(codes, 1.0, width) - at_rows(self._rival(outputs, codes, rival), 1.0, width)

    def decide(self, outputs: Array) -> Ints:
        """argmax_j F_j."""
        return np.argmax(outputs, axis=1)

    def check(self, outputs: int) -> None:
        """One label for each of at least two outputs."""
        if outputs < 2 or len(self.labels) != outputs:
            raise InputError(f"the read-out argmax needs a label for each output, got {len(self.labels)} for {outputs}")
        if self.groups is not None and len(self.groups.codes) != outputs:
            raise InputError(
                f"class_labels must hold one label for each of {outputs} outputs, got {len(self.groups.codes)}"
            )

    def _rival(self, outputs: Array, codes: Ints, rival: Ints | None) -> Ints:
        if rival is not None:
            return rival
        others = outputs.copy()
        np.put_along_axis(others, codes[:, None], -np.inf, axis=1)
        return np.argmax(others, axis=1)
