"""What an attack moves in: some points of a question, the norm around them, and how the margin changes there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Self

import numpy as np

from featavg.arrays import Array, Bools, Ints
from featavg.robustness.attacks.protocol import Attackable
from featavg.robustness.norms import Norm, norm_of

HALVINGS = 12


@dataclass(frozen=True, eq=False)
class Field:
    """Margins m(x_i + δ_i) and their gradients; row i of every δ belongs to sample i.

    All is computed in the precision of the network, and clipped to the box before use.
    """

    question: Attackable  # about all points
    rows: Ints  # (sample,)  which of them; a point may occur more than once

    exact_rays: ClassVar[bool] = False  # whether `first_along` sees the whole ray, at the cost of one pass

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, rows: Ints | Bools) -> Self:
        """The same field at some of the samples, each as often as it is named."""
        return replace(self, rows=self.rows[rows])

    @cached_property
    def asked(self) -> Attackable:
        """The question about these samples alone."""
        return self.question.part(self.rows)

    @cached_property
    def x(self) -> Array:
        """The points of these samples: (sample, axis)."""
        return self.question.x[self.rows].astype(self.question.precision, copy=False)

    @property
    def norm(self) -> Norm:
        """The norm of the question."""
        return norm_of(self.question.norm)

    @property
    def at_rest(self) -> Array:
        """δ = 0: (sample, coordinate)."""
        return np.zeros_like(self.x)

    @property
    def nothing(self) -> Array:
        """δ of samples for which none is known, NaN: (sample, coordinate)."""
        return np.full_like(self.at_rest, np.nan)

    @property
    def size(self) -> Array:
        """‖x‖ as far as the network sees it: (sample,)."""
        return self.norm.length(self.coordinates(self.x))

    def coordinates(self, vectors: Array) -> Array:
        """Vectors of the input space as δ are written: (..., coordinate)."""
        return vectors.astype(self.question.precision, copy=False)

    def points(self, delta: Array) -> Array:
        """x + δ, clipped to the box: (sample, axis)."""
        box = self.question.box
        return self.x + delta if box is None else np.clip(self.x + delta, *box)

    def inside(self, delta: Array) -> Array:
        """What is left of δ inside the box; never longer than δ."""
        box = self.question.box
        return delta if box is None else np.clip(self.x + delta, *box) - self.x

    def margins(self, delta: Array) -> Array:
        """m(x + δ): (sample,)."""
        return self.asked.margins(self.points(delta)).astype(delta.dtype, copy=False)

    def gradients(self, delta: Array) -> tuple[Array, Array]:
        """m (sample,) and ∂m/∂δ (sample, coordinate) at x + δ."""
        margins, slopes = self.asked.slopes(self.points(delta))
        return margins.astype(delta.dtype, copy=False), slopes.astype(delta.dtype, copy=False)

    def tie(self, delta: Array) -> Array | float:
        """The largest margin at x + δ that counts as a tie during the search: (sample,)."""
        return 0.0

    def fooled(self, delta: Array) -> Bools:
        """Whether x + δ is misclassified or tied: (sample,)."""
        return np.asarray(self.margins(delta) <= self.tie(delta))

    def first_along(self, direction: Array, scales: Sequence[float] = (1.0,), halvings: int = HALVINGS) -> Array:
        """The boundary on the ray from x along `direction`: (sample, coordinate), NaN where it is not met.

        It is found by bisection below the first of the rising `scales` at which the ray fools.
        """
        low, high = np.zeros_like(direction[:, 0]), np.full_like(direction[:, 0], np.nan)
        for scale in scales:
            left = np.flatnonzero(np.isnan(high) & whole_rows(direction))
            if not len(left):
                break
            lost = self.take(left).fooled(scale * direction[left])
            high[left[lost]], low[left[~lost]] = scale, scale
        found = np.flatnonzero(~np.isnan(high))
        ends = np.full_like(direction, np.nan)
        if len(found):
            part, ray = self.take(found), direction[found]
            ends[found] = part.inside(part._bisect(ray, low[found], high[found], halvings)[:, None] * ray)
        return ends

    def _bisect(self, ray: Array, below: Array, above: Array, halvings: int) -> Array:
        for _ in range(halvings):
            middle = (below + above) / 2
            lost = self.fooled(self.inside(middle[:, None] * ray))
            above, below = np.where(lost, middle, above), np.where(lost, below, middle)
        return above

    def lengths(self, delta: Array) -> Array:
        """‖δ‖, ∞ where there is none: (sample,)."""
        lengths = self.norm.length(delta)
        return np.where(np.isnan(lengths), np.inf, lengths)

    def shorter(self, best: Array, delta: Array) -> Array:
        """Row by row the shorter of two perturbations (sample, coordinate); NaN is longer than all."""
        return np.where((self.lengths(delta) < self.lengths(best))[:, None], delta, best)

    def random(self, rng: np.random.Generator, radius: Array | float) -> Array:
        """Perturbations drawn from the ball and clipped to the box: (sample, coordinate)."""
        rest = self.at_rest
        return self.inside(self.norm.random(rng, rest.shape, radius).astype(rest.dtype, copy=False))

    def alike(self) -> Ints:
        """A number for each sample, the same for all whose decisions are lost at the same points: (sample,)."""
        return np.unique(self.asked.y, return_inverse=True)[1]

    def common_rays(self) -> list[Array]:
        """Unit directions (sample, coordinate) that raise the margin, each one common to all samples of a label.

        Here one, the mean gradient at the points of the label.
        """
        _, gradient = self.gradients(self.at_rest)
        alike = self.alike()
        means = np.stack([gradient[alike == number].mean(axis=0) for number in np.unique(alike)])
        return [self.norm.steepest(means)[alike]]

    def rival_rays(self) -> Array:
        """Perturbations that fool though no gradient at x shows them: (sample, coordinate), NaN where none is known."""
        return self.nothing

    def dead_starts(self) -> Bools:
        """At which samples no neuron of any rival is on, so that no gradient sees one: (sample,), False if unknown."""
        return np.zeros(len(self), dtype=bool)


def whole_rows(delta: Array) -> Bools:
    """Which rows hold a perturbation: (sample,), False where they are NaN."""
    return np.asarray(np.isfinite(delta).all(axis=1))
