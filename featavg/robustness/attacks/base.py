"""What all attacks share: how they are called, and that what they return is tested again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from featavg.arrays import Array
from featavg.robustness.attacks.checks import counted, levelling, randomness
from featavg.robustness.attacks.field import Field, whole_rows
from featavg.robustness.attacks.protocol import Attackable
from featavg.robustness.attacks.two_layer import field_of
from featavg.robustness.attacks.witnesses import push_over
from featavg.robustness.bracket import RadiusBracket, shown_distances
from featavg.robustness.question import Norm, Question, Readout, ask
from featavg.threads import one_thread

# How far beyond a witness the decision must be lost for good; if it is not, the witness only ties.
BEYOND = 1e-3


class Found(NamedTuple):
    """What a search brings home; nobody has believed it yet."""

    delta: Array  # (sample, coordinate)  NaN where nothing was found
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Attack(ABC):
    """A search for small perturbations that fool: `attack(model, x, y)` is an upper bound of every radius.

    The bracket has lower 0, upper ∞ and witness NaN where nothing was found, and flags by which the attack accuses
    itself. A norm is not part of an attack: `norm`, `readout` and `box` belong to the question. Deep networks are
    attacked by `attack.on(ask_deep(module, x, y))`.
    """

    name: ClassVar[str]

    def __call__(
        self,
        model: Any,
        x: ArrayLike,
        y: ArrayLike,
        *,
        norm: Norm = "l2",
        readout: Readout | None = None,
        box: tuple[float, float] | None = None,
    ) -> RadiusBracket:
        """Attack `model` at the points x (sample, axis) with labels y (sample,)."""
        return self.on(ask(model, x, y, norm=norm, readout=readout, box=box))

    def on(self, question: Attackable) -> RadiusBracket:
        """Attack a question that was already asked; points that are fooled as they are have radius 0."""
        # Products of a two-layer network are small, while the passes of a deep one may have all threads of torch.
        with one_thread() if isinstance(question, Question) else nullcontext():
            field, wrong = field_of(question), question.fooled(question.x)
            delta, alive = field.nothing, np.flatnonzero(~wrong)
            delta[wrong] = 0.0
            found = self.search(field.take(alive)) if len(alive) else Found(delta[alive])
            delta[alive] = found.delta
            return self._bracket(field, push_over(field, delta, self.reach), found.flags)

    @abstractmethod
    def search(self, field: Field) -> Found:
        """Look for perturbations of points that are not fooled as they are."""

    @property
    def reach(self) -> float:
        """The largest radius at which this attack looks."""
        return float("inf")

    def _bracket(self, field: Field, delta: Array, flags: tuple[str, ...]) -> RadiusBracket:
        question, whole = field.question, whole_rows(delta)
        safe = np.where(whole[:, None], delta, 0.0)
        # A point that is fooled as it is keeps all its digits, also those that the network does not see.
        points = np.where(safe.any(axis=1, keepdims=True), field.points(safe), question.x)
        # The search is not believed: what the question itself does not call fooled is no witness.
        found = whole & question.fooled(points)
        upper = shown_distances(question, np.where(found[:, None], points, np.nan))
        found = np.isfinite(upper)
        beyond = field.inside(safe * (1 + BEYOND))
        tied = found & (np.abs(field.margins(beyond)) <= field.tie(beyond))
        said = counted("ended in a tie", tied) + counted("not confirmed", whole & ~found)
        said += counted("nothing found", ~found) + levelling(upper, self.reach) + randomness(question)
        return RadiusBracket(
            lower=np.zeros(len(upper)),
            upper=upper,
            witness=np.where(found[:, None], points, np.nan),
            status=("attack only",) * len(upper),
            question=question,
            flags=tuple(f"{self.name}: {flag}" for flag in (*flags, *said)),
        )
