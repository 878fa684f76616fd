"""The theorem's attack: one direction for all points of a class (paper, Theorem 1(3); Frei et al., Theorem 4.2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from featavg.arrays import Array, finite_matrix, finite_vector
from featavg.errors import InputError
from featavg.robustness.attacks.awake import nth_party
from featavg.robustness.attacks.base import Attack, Found, shorter
from featavg.robustness.attacks.field import Field
from featavg.robustness.question import Norm, Readout, ask
from featavg.threads import one_thread


@dataclass(frozen=True, kw_only=True)
class UniversalDirection(Attack):
    """x − t·v_y with one v_y for each class, and for each point the smallest t that fools, exactly.

    v_y is the gradient of the margin with all neurons on and all parties of a side averaged, v_y = y Σ_r a_r w_r for
    one output. With several parties the pairs Σ_r (P_ir − P_qr) w_r, i own and q not, are tried as well, each one
    common to all points. `direction` replaces them all.

    >>> two = ([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0], [[1.0, -1.0]], [0.0])
    >>> UniversalDirection()(two, [[4.0, 2.0]], [1]).upper.round(9)
    array([1.41421356])
    """

    name: ClassVar[str] = "universal direction"
    direction: ArrayLike | None = None  # v (axis,), points move by −y·t·v; for argmax (class, axis), by −t·v_y

    def search(self, field: Field) -> Found:
        """One exact ray for each direction."""
        best = np.full(field.at_rest.shape, np.nan)
        for ray in [self.toward(field), *([] if self.direction is not None else _pairs(field))]:
            best = shorter(field, best, field.first_along(-ray))
        return Found(best)

    def toward(self, field: Field) -> Array:
        """The direction v_y of each sample, towards its own class: (sample, coordinate), of norm 1 unless given."""
        question, y = field.question, field.question.y[field.rows]
        if self.direction is None:
            sides = [side / side.sum(axis=1, keepdims=True) for side in (field.contest.own, field.contest.other)]
            pull = (sides[0] - sides[1]) @ field.contest.shares
            return field.ball.steepest(pull @ field.weights)
        axes = question.x.shape[1]
        if question.readout == "argmax":
            given = finite_matrix(self.direction, "direction", columns=axes)
            if len(given) != len(question.network.second):
                raise InputError(f"direction must have a row for each of {len(question.network.second)} classes")
            return field.coordinates(given[y])
        return field.coordinates(y[:, None] * finite_vector(self.direction, "direction", axes))

    def share(
        self,
        model: Any,
        x: ArrayLike,
        y: ArrayLike,
        sizes: ArrayLike,
        *,
        norm: Norm = "l2",
        readout: Readout | None = None,
        box: tuple[float, float] | None = None,
    ) -> Array:
        """The share of points that x − size·v_y fools, one and the same step for all of a class: (size,).

        >>> two = ([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0], [[1.0, -1.0]], [0.0])
        >>> UniversalDirection().share(two, [[4.0, 2.0], [9.0, 0.0]], [1, 1], [1.0, 2.0, 9.0])
        array([0. , 0.5, 1. ])
        """
        field = Field.of(ask(model, x, y, norm=norm, readout=readout, box=box))
        ray = self.toward(field)
        # The part of a given direction that no neuron sees counts in its length, since all points take the same step.
        whole = 1.0 if self.direction is None else field.ball.norm(np.atleast_2d(np.asarray(self.direction))).max()
        steps = np.asarray(sizes, dtype=np.float64) / whole
        with one_thread():
            return np.array([field.fooled(field.inside(-step * ray)).mean() for step in steps])


def _pairs(field: Field) -> list[Array]:
    """The directions of all pairs of an own and another party, one pair a class of samples at a time."""
    shares, own, other = field.contest.shares, field.contest.own, field.contest.other
    most_own, most_other = (int(side.sum(axis=1).max(initial=0)) for side in (own, other))
    if most_own * most_other == 1:
        return []
    return [
        field.ball.steepest((shares[nth_party(own, i)] - shares[nth_party(other, q)]) @ field.weights)
        for i in range(most_own)
        for q in range(most_other)
    ]
