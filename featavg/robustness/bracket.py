"""A radius with its honesty: what is proved, what is shown, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np
from numpy.typing import ArrayLike

from featavg.arrays import Array, Bools, Ints
from featavg.errors import InputError

if TYPE_CHECKING:
    from featavg.robustness.question import Norm, Question, Readout
    from featavg.robustness.verifier import Proofs

# By how much the arithmetic of a proof may fall short of the bound it proves.
AGREEMENT = 1e-12


class Asked(Protocol):
    """What a bracket needs of its question, be it one about a two-layer or about a deep network."""

    @property
    def x(self) -> Array:
        """The points: (sample, axis)."""

    @property
    def y(self) -> Ints:
        """Their labels: (sample,)."""

    @property
    def norm(self) -> Norm:
        """The norm of the distance."""

    @property
    def readout(self) -> Readout:
        """How outputs become a decision."""

    @property
    def box(self) -> tuple[float, float] | None:
        """Lowest and highest allowed coordinate, or none."""

    def margins(self, points: ArrayLike) -> Array:
        """By how much the decision at point i is still y_i: (sample,)."""

    def fooled(self, points: ArrayLike) -> Bools:
        """Whether point i is misclassified or tied: (sample,)."""

    def distances(self, points: ArrayLike) -> Array:
        """Distance of point i from x_i: (sample,)."""

    def same_as(self, other: Any) -> bool:
        """Whether both ask the same decision of the same network at the same points."""


@dataclass(frozen=True)
class RadiusBracket:
    """For each point lower <= true radius <= upper; an attack alone has lower 0, a certificate alone upper ∞."""

    lower: Array  # (sample,)  no smaller perturbation fools the network
    upper: Array  # (sample,)  this one does
    witness: Array  # (sample, axis)  the fooled point at distance upper, NaN where there is none
    status: tuple[str, ...]  # (sample,)  exact, open: why, attack only, certificate only, failed: why
    question: Asked
    flags: tuple[str, ...] = field(default=())  # what a method says against itself
    proofs: Proofs | None = field(default=None, repr=False)  # of the lower bounds, if they were kept

    def __len__(self) -> int:
        return len(self.lower)

    def verify(self) -> Bools:
        """Check every bracket from scratch, with plain arithmetic and no solver: (sample,).

        True where the proofs reach `lower` by weak duality and the witness is fooled at distance `upper`.

        >>> from featavg.robustness import robust_radius
        >>> robust_radius(([[1.0]], [0.0], [[1.0]], [-1.0]), [[3.0]], [1]).verify()
        array([ True])
        """
        return self._lower_holds() & self._upper_holds()

    def _lower_holds(self) -> Bools:
        if not self.lower.any():
            return np.ones(len(self), dtype=bool)
        if self.proofs is None:
            raise InputError("no proofs were kept with this bracket; ask again with proofs=True")
        from featavg.robustness.verifier import proved

        question = cast("Question", self.question)  # lower bounds are proved for two-layer networks only
        return (self.lower >= 0) & (self.lower <= proved(question, self.proofs) * (1.0 + AGREEMENT))

    def _upper_holds(self) -> Bools:
        none = np.isinf(self.upper)
        points = np.where(none[:, None], self.question.x, self.witness)
        distance = self.question.distances(points)
        shown = self.question.fooled(points) & np.isclose(distance, self.upper, rtol=AGREEMENT, atol=0.0)
        if self.question.box is not None:
            low, high = self.question.box
            shown &= ((points >= low) & (points <= high)).all(axis=1)
        return none | shown
