"""What all attacks share: how they are called, and that what they return is tested again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from featavg.arrays import Array, Bools
from featavg.robustness.attacks.field import Field
from featavg.robustness.bracket import RadiusBracket
from featavg.robustness.question import Norm, Question, Readout, ask
from featavg.threads import one_thread

# A witness on the boundary may miss it by rounding; it is then pushed out by the least of these that fools.
PUSHES = (0.0, 1e-14, 1e-12, 1e-10, 1e-8, 1e-6)
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
    itself. A norm is not part of an attack: `norm`, `readout` and `box` belong to the question.
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

    @one_thread()
    def on(self, question: Question) -> RadiusBracket:
        """Attack a question that was already asked."""
        field = Field.of(question)
        delta, flags = self.search(field)
        wrong = field.fooled(field.at_rest)
        delta = settle(field, np.where(wrong[:, None], 0.0, delta))
        found = whole_rows(delta)
        safe = np.where(found[:, None], delta, 0.0)
        witness = np.where(found[:, None], field.points(safe), np.nan)
        beyond = field.inside(safe * (1 + BEYOND))
        tied = found & (np.abs(field.margins(beyond)) <= field.tie(beyond))
        flags += counted("ended in a tie", tied) + counted("nothing found", ~found)
        return RadiusBracket(
            lower=np.zeros(len(question.x)),
            upper=np.where(found, question.distances(np.where(found[:, None], witness, question.x)), np.inf),
            witness=witness,
            status=("attack only",) * len(question.x),
            question=question,
            flags=tuple(f"{self.name}: {flag}" for flag in flags),
        )

    @abstractmethod
    def search(self, field: Field) -> Found:
        """Look for perturbations; points that are fooled as they are need none."""


def settle(field: Field, delta: Array) -> Array:
    """Return δ·(1 + push) with the least push at which the question itself says fooled, NaN where none does."""
    settled = np.full(delta.shape, np.nan)
    open_rows = np.flatnonzero(whole_rows(delta))
    for push in PUSHES:
        part = field.take(open_rows)
        pushed = part.inside(delta[open_rows] * (1 + push))
        fooled = part.asked.fooled(part.points(pushed))
        settled[open_rows[fooled]] = pushed[fooled]
        open_rows = open_rows[~fooled]
        if not len(open_rows):
            break
    return settled


def whole_rows(delta: Array) -> Bools:
    """Which rows hold a perturbation: (sample,), False where they are NaN."""
    return np.asarray(np.isfinite(delta).all(axis=1))


def shorter(field: Field, best: Array, delta: Array) -> Array:
    """Row by row the shorter of two perturbations (sample, coordinate); NaN is longer than all."""
    lengths = [np.nan_to_num(field.ball.norm(one), nan=np.inf) for one in (best, delta)]
    return np.where((lengths[1] < lengths[0])[:, None], delta, best)


def counted(what: str, where: Bools) -> tuple[str, ...]:
    """One flag that counts, or none: 'zero gradient at 3 of 1000 points'."""
    count = int(np.count_nonzero(where))
    return (f"{what} at {count} of {len(where)} points",) if count else ()


def dead_start(field: Field) -> tuple[str, ...]:
    """The flag of points at which a gradient sees no neuron of any rival, though there are some."""
    rivals = field.contest.rival_neurons()
    dead: Bools = np.asarray(rivals.any(axis=1) & ~(rivals & (field.start >= 0)).any(axis=1))
    return counted("dead start (all rival neurons off)", dead)
