"""What all attacks on deep networks share: how they are called, and that what they return is tested again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import torch
from torch import Tensor

from featavg.arrays import Array
from featavg.deep.attacks.checks import counted, levelling, randomness
from featavg.deep.attacks.field import Field, finite_rows, rows_where
from featavg.deep.attacks.witnesses import push_over
from featavg.deep.question import DeepQuestion
from featavg.robustness import RadiusBracket


class Found(NamedTuple):
    """What a search brings home; nobody has believed it yet."""

    delta: Tensor  # (sample, axis)  NaN where nothing was found
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class DeepAttack(ABC):
    """A search for small perturbations that fool: `attack(question)` is an upper bound of every radius.

    The bracket has lower 0, upper ∞ and witness NaN where nothing was found, and flags by which the attack accuses
    itself. Points that are fooled as they are have radius 0 and are not searched.
    """

    name: ClassVar[str]

    def __call__(self, question: DeepQuestion) -> RadiusBracket:
        """Attack all points of a question."""
        wrong = np.asarray(question.fooled(question.x))
        alive = rows_where(torch.from_numpy(~wrong))
        field = Field.of(question).take(alive)
        witness = np.full(question.x.shape, np.nan)
        witness[wrong] = question.x[wrong]
        flags: tuple[str, ...] = ()
        if len(field):
            delta, flags = self.search(field)
            witness[alive.numpy()] = _points(field, delta)
        return self._bracket(question, witness, flags)

    @abstractmethod
    def search(self, field: Field) -> Found:
        """Look for perturbations of points that are not fooled as they are."""

    @property
    def reach(self) -> float:
        """The largest radius at which this attack looks."""
        return float("inf")

    def _bracket(self, question: DeepQuestion, witness: Array, flags: tuple[str, ...]) -> RadiusBracket:
        # The search is not believed: what the question itself does not call fooled is no witness.
        witness = push_over(question, witness, self.reach)
        whole = np.asarray(np.isfinite(witness).all(axis=1))
        points = np.where(whole[:, None], witness, question.x)
        found = whole & question.fooled(points)
        upper = np.where(found, question.distances(points), np.inf)
        said = flags + counted("not confirmed", whole & ~found) + counted("nothing found", ~found)
        said += levelling(upper, self.reach) + randomness(question)
        return RadiusBracket(
            lower=np.zeros(len(upper)),
            upper=upper,
            witness=np.where(found[:, None], witness, np.nan),
            status=("attack only",) * len(upper),
            question=question,
            flags=tuple(f"{self.name}: {flag}" for flag in said),
        )


def _points(field: Field, delta: Tensor) -> Array:
    """The points x + δ inside the box, NaN where there is no δ: (sample, axis), float64."""
    points = field.points(torch.nan_to_num(delta)).double()
    points[~finite_rows(delta)] = torch.nan
    return points.numpy()
