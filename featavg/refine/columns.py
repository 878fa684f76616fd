"""Columns of the points: their names, which a model remembers and checks, and a scale that becomes part of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from featavg.arrays import Array
from featavg.errors import InputError
from featavg.model import Layer, Network


def names_of(x: Any) -> tuple[str, ...]:
    """The names of the columns of a table of pandas, empty for anything else."""
    names = tuple(getattr(x, "columns", ()))
    return names if all(isinstance(name, str) for name in names) else ()


def check_columns(known: Sequence[str], given: Sequence[str]) -> None:
    """Refuse columns that are not those of the model, in its order; where either has no names nothing can be said.

    >>> check_columns(["a", "b"], ["b", "a"])
    Traceback (most recent call last):
    featavg.errors.InputError: columns must come as in training (a, b), got column 'b' as the first; reorder them
    """
    if not len(known) or not len(given) or list(known) == list(given):
        return
    missing = [name for name in known if name not in given]
    if missing:
        raise InputError(f"the model was trained with a column {missing[0]!r}, got none of that name; check the data")
    place = next((i for i, (one, other) in enumerate(zip(known, given, strict=False)) if one != other), len(known))
    if place == len(known):
        raise InputError(f"the model was not trained with a column {given[place]!r}; leave it out")
    where = "the first" if place == 0 else f"number {place + 1}"
    told = ", ".join(known[:3]) + (", …" if len(known) > 3 else "")
    raise InputError(f"columns must come as in training ({told}), got column {given[place]!r} as {where}; reorder them")


@dataclass(frozen=True)
class Scale:
    """z = (x − mean)/deviation, column by column; a constant column keeps its unit."""

    mean: Array  # (axis,)
    deviation: Array  # (axis,)

    @classmethod
    def of(cls, x: Array) -> Scale:
        """That of the columns of x (sample, axis).

        >>> Scale.of(np.array([[0.0, 5.0], [4.0, 5.0]])).deviation
        array([2., 1.])
        """
        deviation = x.std(axis=0)
        return cls(x.mean(axis=0), np.where(deviation > 0, deviation, 1.0))

    def inside(self, x: Array) -> Array:
        """z of points x."""
        return (x - self.mean) / self.deviation

    def raw(self, network: Network) -> Network:
        """A network on z as one on x: W z + b = (W/deviation) x + b − W (mean/deviation)."""
        first, *rest = network.layers
        weights = first.weights / self.deviation
        return replace(network, layers=(Layer(weights, first.biases - weights @ self.mean), *rest))

    def scaled(self, network: Network) -> Network:
        """A network on x as one on z."""
        first, *rest = network.layers
        layer = Layer(first.weights * self.deviation, first.biases + first.weights @ self.mean)
        return replace(network, layers=(layer, *rest))
