"""Radii in which both ends are proved: search proposes, a checker disposes. ℓ2 without a box, every read-out.

`robust_radius` counts margins up to 1e-9 of their terms as ties and checks its proofs in plain floats; here a point is
fooled where the margin is <= 0, without tolerance, and every returned number was shown by `proof/`, in enclosures.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from featavg.arrays import Array, Bools, Ints
from featavg.errors import InputError
from featavg.robustness.checked_bracket import RadiusBracket, status_of
from featavg.robustness.proof import Decision, Neurons, Problem
from featavg.robustness.proof.format import Kind, Norm
from featavg.robustness.question import Question, Readout, ask, part
from featavg.robustness.search.answer import answer
from featavg.robustness.search.budget import Budget
from featavg.robustness.search.propose import Progress
from featavg.threads import one_thread

KINDS: dict[str, Kind] = {
    "sign": "sign",
    "argmax": "argmax",
    "maximum": "maximum",
    "summed-logits": "logits",
    "summed-probabilities": "probabilities",
}


@dataclass(frozen=True, eq=False)
class CheckedQuestion:
    """A question as the checker means it: fooled is a margin <= 0, and there is no tolerance."""

    asked: Question

    @property
    def x(self) -> Array:
        """The points: (point, axis)."""
        return self.asked.x

    @property
    def y(self) -> Ints:
        """Their labels: (point,)."""
        return self.asked.y

    @property
    def norm(self) -> Norm:
        """ℓ2."""
        return "l2"

    def margins(self, points: ArrayLike) -> Array:
        """By how much the decision at point i is still y_i, in floats: (point,)."""
        return self.asked.margins(points)

    def fooled(self, points: ArrayLike) -> Bools:
        """Whether point i is misclassified or tied, in floats: (point,)."""
        return self.margins(points) <= 0

    def distances(self, points: ArrayLike) -> Array:
        """Distance of point i from x_i, in floats: (point,)."""
        return self.asked.distances(points)

    def part(self, chosen: Any) -> CheckedQuestion:
        """The same question at some of its points."""
        return CheckedQuestion(part(self.asked, chosen))

    def same_as(self, other: Any) -> bool:
        """Whether both ask the same decision of the same network at the same points."""
        return isinstance(other, CheckedQuestion) and self.asked.same_as(other.asked)

    def problem(self) -> Problem:
        """The question in arrays; binary labels of grouped outputs become the groups 0 (−1) and 1 (+1)."""
        network, kind, y = self.asked.network, KINDS[self.asked.readout], self.asked.y
        grouped = kind not in ("sign", "argmax")
        groups = np.zeros(network.output_count, dtype=np.int64)
        if grouped and network.class_labels is not None:
            groups = (network.class_labels > 0).astype(np.int64)
        arrays = (network.weights, network.biases, network.second, network.output_bias)
        return Problem(
            neurons=Neurons(*(np.ascontiguousarray(each, dtype=np.float64) for each in arrays)),
            x=np.ascontiguousarray(self.x, dtype=np.float64),
            labels=(y > 0).astype(np.int64) if grouped else y,
            decision=Decision(kind, groups),
        )


def checked_radius(
    model: Any,
    x: ArrayLike,
    y: ArrayLike,
    readout: Readout | None = None,
    *,
    within: float | None = None,
    budget: Budget = Budget(),  # noqa: B008  (frozen)
    progress: Progress | None = None,
) -> RadiusBracket:
    """Return the ℓ2 radius of every point between two proved numbers, with proofs that leave the process.

    Args:
        model: anything `as_network` reads: one hidden layer, ReLU.
        x: points (sample, axis).
        y: their labels, as for `robust_radius`.
        readout: as for `robust_radius`.
        within: decide this one radius only: `lower` > within is proved or `upper` <= within is shown, or it is open.
        budget: nodes and CPU seconds that one point may cost, and wall seconds for all.
        progress: called as progress(done, total).

    >>> bracket = checked_radius(([[1.0], [-1.0]], [0.0, 0.0], [[1.0, -1.0]], [0.0]), [[3.0], [-2.0]], [1, -1])
    >>> bracket.upper.round(6), str(bracket.status[0]), bracket.verify()
    (array([3., 2.]), 'exact', array([ True,  True]))
    """
    if not isinstance(budget, Budget):
        raise InputError(f"budget must be featavg.robustness.search.Budget(nodes=, seconds=, wall=), got {budget!r}")
    if within is not None and not (np.isfinite(within) and within > 0):
        raise InputError(f"within must be a positive radius, got {within!r}")
    question = CheckedQuestion(ask(model, x, y, readout=readout))
    if not len(question.x):
        raise InputError("x must hold at least one point, got an empty batch")
    # A hair more than asked, so that rounding cannot leave a proof short of the radius.
    reach = None if within is None else np.full(len(question.x), float(within) * (1.0 + 1e-9))
    with one_thread():
        found = answer(question.problem(), budget, progress or (lambda done, total: None), question.fooled, None, reach)
    status = status_of(found.lower, found.upper)
    return RadiusBracket(
        found.lower, found.upper, found.witness, status, question, (), found.proofs, tuple(found.certificates),
        tuple(found.ended),
    )  # fmt: skip
