"""Radii of coarse decisions that are made over sub-classes, for two classes or more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from featavg.arrays import Array, Ints
from featavg.errors import InputError
from featavg.model import Network
from featavg.robustness import Budget, Question, RadiusBracket, robust_radius

READOUTS = ("maximum", "summed-probabilities")


@dataclass(frozen=True)
class CoarseQuestion(Question):
    """Each point's own class against all others together; `y` is +1 everywhere and `code` the class."""

    code: Ints | None = None  # (sample,)
    class_of: Ints | None = None  # (output,)

    def margins(self, points: ArrayLike) -> Array:
        """By how much the own class still wins: (sample,)."""
        assert self.code is not None
        assert self.class_of is not None
        values = np.empty(len(self.code))
        for c in np.unique(self.code):
            own = self.code == c
            side = one_against_rest(self.network, self.class_of, c)
            values[own] = side.score(np.asarray(points)[own], self.readout)
        return values

    def _arrays(self) -> list[Any]:
        return [*super()._arrays(), self.code, self.class_of]


def coarse_radius(
    network: Network, class_of: Ints, x: Array, codes: Ints, *, readout: str, budget: Budget, **asked: Any
) -> RadiusBracket:
    """Return the bracket of every point's radius, each class against the rest under the named read-out.

    `maximum` is searched exactly, `summed-probabilities` is bracketed; a budget that ends is told in the status.
    Proofs are kept for two classes only, since a proof belongs to one split of the outputs.
    """
    if readout not in READOUTS:
        raise InputError(f"readout must be one of {', '.join(READOUTS)}, got {readout!r}")
    if class_of.max() == 1:
        return _bracket(one_against_rest(network, class_of, 1), x, 2 * codes - 1, readout, budget, asked)
    lower, upper = np.zeros(len(x)), np.full(len(x), np.inf)
    witness, status = np.full(x.shape, np.nan), np.full(len(x), "", dtype=object)
    for c in np.unique(codes):
        own = np.flatnonzero(codes == c)
        side = one_against_rest(network, class_of, int(c))
        part = _bracket(side, x[own], np.ones(len(own), dtype=np.int64), readout, budget, asked)
        lower[own], upper[own], witness[own], status[own] = part.lower, part.upper, part.witness, part.status
    question = CoarseQuestion(
        network, x, np.ones(len(x), dtype=np.int64), part.question.norm, part.question.readout, part.question.box,
        code=codes, class_of=class_of,
    )  # fmt: skip
    return RadiusBracket(lower, upper, witness, tuple(status.tolist()), question)


def one_against_rest(network: Any, class_of: Ints, code: int) -> Network:
    """Return the network whose positive outputs are those of one class."""
    signs: Ints = np.where(class_of == code, 1, -1)
    return network.changed(class_labels=signs)


def _bracket(network: Any, x: Array, y: Ints, readout: str, budget: Budget, asked: dict[str, Any]) -> RadiusBracket:
    return robust_radius(network, x, y, readout=readout, budget=budget, **asked)  # type: ignore[arg-type]
