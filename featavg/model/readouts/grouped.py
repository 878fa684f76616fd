"""Several outputs of each class: pooled first, then the largest pool decides."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from featavg.arrays import Array, Bools, Ints
from featavg.data import Names
from featavg.errors import InputError
from featavg.model.readouts.base import Groups, Readout

How = Literal["summed-probabilities", "maximum", "summed-logits"]
GROUPED: tuple[How, ...] = ("summed-probabilities", "maximum", "summed-logits")


@dataclass(frozen=True, eq=False)
class Grouped(Readout):
    """The coarse class with the largest pool: log Σ exp F (the paper's), max F or Σ F over the outputs of the class.

    >>> pair = Grouped(Groups.of([1, 1, -1]), "maximum")
    >>> pair.margins(np.array([[2.0, 3.0, 1.0]]), np.array([1]))
    array([2.])
    """

    groups: Groups
    how: How = "summed-probabilities"
    name: str = field(init=False)
    labels: Names = field(init=False)  # (class,)  the coarse ones

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.how)
        object.__setattr__(self, "labels", self.groups.labels)

    def margins(self, outputs: Array, codes: Ints, rival: Ints | None = None) -> Array:
        """Pool of the own class − the largest other pool."""
        pools, rows = self.pools(outputs), np.arange(len(codes))
        return pools[rows, codes] - pools[rows, self._rival(pools, codes, rival)]

    def slope(self, outputs: Array, codes: Ints, rival: Ints | None = None) -> Array:
        """∂pool/∂F of the own class − that of the largest other one."""
        against = self._rival(self.pools(outputs), codes, rival)
        return self._shares(outputs, codes) - self._shares(outputs, against)

    def decide(self, outputs: Array) -> Ints:
        """The class of the largest pool."""
        return np.argmax(self.pools(outputs), axis=1)

    def predict(self, outputs: Array) -> Names:
        """The label decided for; with labels -1 and +1 a tie is 0."""
        if np.array_equal(self.labels, [-1, 1]):
            return np.sign(self.score(outputs)).astype(np.int64)
        return super().predict(outputs)

    def pools(self, outputs: Array) -> Array:
        """The pool of every class: (sample, class)."""
        if self.how == "summed-logits":
            return outputs @ self._members().T.astype(outputs.dtype)
        columns = [self._pool(outputs[:, members]) for members in self._members()]
        return np.stack(columns, axis=1)

    def check(self, outputs: int) -> None:
        """A group for each output, and at least two groups."""
        if len(self.groups.codes) != outputs:
            raise InputError(
                f"class_labels must hold one label for each of {outputs} outputs, got {len(self.groups.codes)}"
            )
        if len(self.groups.labels) < 2:
            raise InputError("a binary read-out needs class_labels with both signs; set them on the network")

    def _members(self) -> Bools:
        """Which output is whose: (class, output)."""
        return np.arange(len(self.groups.labels))[:, None] == self.groups.codes

    def _pool(self, outputs: Array) -> Array:
        top: Array = outputs.max(axis=1)
        if self.how == "maximum":
            return top
        total: Array = np.log(np.exp(outputs - top[:, None]).sum(axis=1))
        return total + top

    def _shares(self, outputs: Array, codes: Ints) -> Array:
        """∂pool/∂F of one class at each sample: 1 at its outputs, at the largest of them, or their softmax."""
        own = self._members()[codes]
        if self.how == "summed-logits":
            return own.astype(np.float64)
        masked = np.where(own, outputs, -np.inf)
        top = masked.max(axis=1, keepdims=True)
        if self.how == "maximum":
            shares = np.zeros(outputs.shape)
            np.put_along_axis(shares, masked.argmax(axis=1)[:, None], 1.0, axis=1)
            return shares
        shares = np.exp(masked - top)
        return shares / shares.sum(axis=1, keepdims=True)

    def _rival(self, pools: Array, codes: Ints, rival: Ints | None) -> Ints:
        if rival is not None:
            return rival
        others = pools.copy()
        np.put_along_axis(others, codes[:, None], -np.inf, axis=1)
        return np.argmax(others, axis=1)
