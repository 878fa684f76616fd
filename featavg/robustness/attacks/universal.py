"""The theorem's attack: one direction for all points of a class (paper, Theorem 1(3); Frei et al., Theorem 4.2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from featavg.arrays import Array, finite_matrix, finite_vector
from featavg.errors import InputError
from featavg.robustness.attacks.base import Attack, Found
from featavg.robustness.attacks.field import Field
from featavg.robustness.attacks.two_layer import field_of
from featavg.robustness.question import Norm, Readout, ask
from featavg.threads import one_thread

SCALES = tuple(0.05 * 1.5**power for power in range(18))  # 0.05 to 50


@dataclass(frozen=True, kw_only=True)
class UniversalDirection(Attack):
    """x − t·v_y with one v_y for each class, and for each point the smallest t that fools.

    Of a two-layer network v_y is the gradient of the margin with all neurons on and all parties of a side averaged,
    v_y = y Σ_r a_r w_r for one output. With several parties the pairs Σ_r (P_ir − P_qr) w_r, i own and q not, are
    tried as well, each one common to all points. Of any other network v_y is the mean gradient at the points of the
    class. `direction` replaces them all; `featavg.deep.feature_directions` are those of a deep network's features.

    >>> two = ([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0], [[1.0, -1.0]], [0.0])
    >>> UniversalDirection()(two, [[4.0, 2.0]], [1]).upper.round(9)
    array([1.41421356])
    """

    name: ClassVar[str] = "universal direction"
    direction: ArrayLike | None = None  # (class, axis)  points move by −t·v_y; or v (axis,), they move by −y·t·v
    scales: tuple[float, ...] = SCALES  # the steps t that are tried where rays are not exact

    def search(self, field: Field) -> Found:
        """One ray for each direction."""
        best = field.nothing
        for ray in self._rays(field):
            best = field.shorter(best, field.first_along(-ray, self.scales))
        return Found(best)

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
        field = field_of(ask(model, x, y, norm=norm, readout=readout, box=box))
        ray = self._rays(field)[0]
        # The part of a given direction that no neuron sees counts in its length, since all points take the same step.
        whole = 1.0 if self.direction is None else field.norm.length(np.atleast_2d(np.asarray(self.direction))).max()
        steps = np.asarray(sizes, dtype=np.float64) / whole
        with one_thread():
            return np.array([field.fooled(field.inside(-step * ray)).mean() for step in steps])

    def _rays(self, field: Field) -> list[Array]:
        """Directions (sample, coordinate) towards the own class, of norm 1 unless given."""
        if self.direction is None:
            return field.common_rays()
        question, y, axes = field.question, field.question.y[field.rows], field.question.x.shape[1]
        if np.ndim(self.direction) == 1 and question.readout.name != "argmax":
            return [field.coordinates(y[:, None] * finite_vector(self.direction, "direction", axes))]
        given = finite_matrix(self.direction, "direction", columns=axes)
        codes = y if question.readout.name == "argmax" else (y + 1) // 2
        classes = 1 + int(codes.max(initial=0)) if question.readout.name == "argmax" else 2
        if len(given) < classes:
            raise InputError(f"direction must have a row for each of {classes} classes, got {len(given)}")
        return [field.coordinates(given[codes])]
