"""What every read-out is, and the coarse classes of outputs that some of them need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from featavg.arrays import Array, Ints
from featavg.data import Dataset, Names, encode
from featavg.errors import InputError


@dataclass(frozen=True, eq=False)
class Groups:
    """The coarse class of every output."""

    codes: Ints  # (output,)  positions in `labels`
    labels: Names  # (class,)  sorted

    @classmethod
    def of(cls, values: ArrayLike) -> Groups:
        """Groups from the coarse label of each output, as the user writes them: (output,).

        >>> Groups.of([1, -1, 1]).codes
        array([1, 0, 1])
        """
        labels, codes = np.unique(np.asarray(values), return_inverse=True)
        return cls(codes.reshape(-1).astype(np.int64), labels)

    @property
    def values(self) -> Names:
        """The coarse label of each output, as given: (output,)."""
        return np.asarray(self.labels[self.codes])


class Readout:
    """Outputs F (sample, output) → a decision among `labels`. A tie counts as an error for every class.

    Codes are positions in `labels`; members give margins and their slope, the rest follows.
    """

    name: str
    labels: Names  # (class,)  sorted

    def margins(self, outputs: Array, codes: Ints, rival: Ints | None = None) -> Array:
        """By how much the decision is `codes` (sample,): (sample,); against one class only if `rival` names it."""
        raise NotImplementedError

    def slope(self, outputs: Array, codes: Ints, rival: Ints | None = None) -> Array:
        """∂margin/∂F: (sample, output)."""
        raise NotImplementedError

    def decide(self, outputs: Array) -> Ints:
        """The class decided for, as a code: (sample,), the first of those that tie."""
        raise NotImplementedError

    def targets(self, data: Dataset) -> Ints:
        """The labels of `data` that the outputs are trained on: the fine ones."""
        return data.cluster

    def neuron_class(self, last: Array) -> Ints:
        """The output that each neuron drives most, from the last weights (output, neuron): (neuron,)."""
        return np.argmax(np.abs(last), axis=0)

    def check(self, outputs: int) -> None:
        """Refuse a network of another number of outputs."""
        raise NotImplementedError

    def predict(self, outputs: Array) -> Names:
        """The class decided for, as a label: (sample,)."""
        return np.asarray(self.labels[self.decide(outputs)])

    def score(self, outputs: Array) -> Array:
        """The margin of the second of two classes: (sample,)."""
        if len(self.labels) != 2:
            raise InputError(f"a binary score needs two classes, got {len(self.labels)} under the read-out {self.name}")
        return self.margins(outputs, np.ones(len(outputs), dtype=np.int64))

    def encode(self, y: ArrayLike, name: str = "y") -> Ints:
        """Labels (sample,) as codes; an unknown label is refused, with the known ones."""
        return encode(y, self.labels, name)

    def same_as(self, other: Any) -> bool:
        """Whether both are the same read-out of the same classes."""
        if not isinstance(other, Readout) or self.name != other.name or not np.array_equal(self.labels, other.labels):
            return False
        mine, theirs = getattr(self, "groups", None), getattr(other, "groups", None)
        if mine is None or theirs is None:
            return mine is theirs
        return np.array_equal(mine.codes, theirs.codes) and np.array_equal(mine.labels, theirs.labels)


def at_rows(codes: Ints, values: ArrayLike, width: int) -> Array:
    """A matrix (sample, width) that is 0 but for `values` (sample,) at the columns `codes` (sample,)."""
    placed = np.zeros((len(codes), width))
    placed[np.arange(len(codes)), codes] = values
    return placed
