"""How many sub-classes, which learning rate, when to stop: tried on one part of the points, judged on another.

The rule: among all trials (number of sub-classes, learning rate, steps) take the one with the largest held-out robust
radius, subject to two conditions on held-out accuracy.

  1. It is not below the coarse baseline's: a network trained on the coarse labels from a small random start, at its
     most accurate moment.
  2. It is not below that of the most accurate trial by more than two standard errors of their paired difference, so
     that what looks like noise may be paid for robustness, and nothing else.

If no trial meets the first, the second alone decides. Sub-classes must earn their keep: if the same rule over trials
with one sub-class per class finds one that meets the second condition too, at a radius within 5 % of the largest, that
one is taken. So on data without sub-structure luck with few held-out points does not cut classes up.

On few points a fifth is too small to see a loss of two points of accuracy, so there up to five fifths are held out in
turn and their points judged together.

Robustness and accuracy depend on learning rate times steps rather than on either, so a few rates at doubling moments
are a finer grid of that product.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np

from featavg.arrays import Array, Bools, Ints
from featavg.data import split
from featavg.model import Grouped, Groups
from featavg.progress import Progress, silent
from featavg.refine.clusters import means
from featavg.refine.frame import Frame, State, at_centers, at_random, descend

# The doubling moments at which a run is judged.
MARKS = (25, 50, 100, 200, 400, 800, 1600, 3200, 6400)
RATES = (1.0, 3.0)  # multiples of the longest step that is surely stable
COUNTS = (1, 2, 5, 10, 20, 50, 100, 200)
POINTS_EACH = 5  # a sub-class of fewer points is not tried
WORTH = 1.05  # a gain in radius below 5 % is not worth finer labels
ERRORS = 2.0  # standard errors of the paired difference to the most accurate trial
# Neurons per class and rates of the baseline: more neurons did not make it more accurate, and it needs ten times as
# long.
BASELINE_WIDTH = 20
BASELINE_RATES = (10.0, 30.0)
FIFTHS = (0.2,) * 5  # one of which is held out, or each in turn
LEAST = 20  # classes with fewer points are too small to be split: trials are judged where they were trained
MOST_TRAINED = 10_000  # points that trials are trained on; the chosen one is trained on all
MOST_JUDGED = 5_000
ENOUGH_JUDGED = 2_000  # so many leave half a point of error on the difference of two accuracies
WALKED = 500  # judged points whose radius is estimated
NEWTON_STEPS = 8

Find = Callable[[Ints, int], tuple[Ints, Ints]]  # (rows, count) -> labels of these rows, class of each label
Setting = tuple[int, float, int]  # count, rate, steps


@dataclass(frozen=True)
class Trial:
    """One number of sub-classes and one learning rate at one moment of training, on held-out points."""

    count: int  # per class; 0 is the coarse baseline
    rate: float  # as a multiple of the longest step that is surely stable
    steps: int
    accuracy: float
    radius: float  # mean Newton distance in the units of the data


@dataclass(frozen=True, repr=False)
class Selection:
    """What was chosen, and everything it was chosen from."""

    count: int
    rate: float
    steps: int
    trials: tuple[Trial, ...] = ()
    baseline: float | None = None  # held-out accuracy of the coarse network, if one was trained

    def front(self) -> tuple[Trial, ...]:
        """The trials that no other one beats in both accuracy and radius, most accurate first.

        >>> some = [Trial(1, 1.0, 25, *worth) for worth in ((0.9, 1.0), (0.8, 0.9), (0.7, 2.0))]
        >>> [trial.accuracy for trial in Selection(1, 1.0, 25, tuple(some)).front()]
        [0.9, 0.7]
        """
        best: list[Trial] = []
        for trial in sorted(self.trials, key=lambda one: (-one.accuracy, -one.radius)):
            if not best or trial.radius > best[-1].radius:
                best.append(trial)
        return tuple(best)

    def __repr__(self) -> str:
        return (
            f"Selection({self.count} sub-classes, rate {self.rate:g}, {self.steps} steps; of {len(self.trials)} trials)"
        )


class Worth(NamedTuple):
    """Weighted means over held-out points, and the points themselves."""

    accuracy: float
    radius: float  # mean Newton distance, which is the area under the curve of robust accuracy; 0 for errors
    right: Bools  # (sample,)  which points are classified rightly


Tried = list[tuple[Trial, Worth]]


class Parts(NamedTuple):
    """Points to train on and points to judge by, in the frame of the first."""

    frame: Frame
    x: Array  # (fitted, axis)
    codes: Ints  # (fitted,)
    weights: Array  # (fitted,)
    held: Array  # (judged, axis)
    held_codes: Ints  # (judged,)
    shares: Array  # (judged,)  weights that sum to 1

    @classmethod
    def of(cls, x: Array, codes: Ints, weights: Array, fitted: Ints, judged: Ints) -> Parts:
        """The rows to train on and the rows to judge by."""
        frame = Frame.of(x[fitted], weights[fitted])
        inside, held = (frame.inside(x[rows], len(fitted)) for rows in (fitted, judged))
        shares = weights[judged] / weights[judged].sum()
        return cls(frame, inside, codes[fitted], weights[fitted], held, codes[judged], shares)

    def judge(self, state: State, class_of: Ints) -> Worth:
        """What a state is worth on the held-out points, where output j speaks for class `class_of[j]`."""
        right, few = self.right(state, class_of), slice(0, WALKED)
        distance = newton_distances(state, grouped(class_of), self.held[few], self.held_codes[few]) * self.frame.size
        shares = self.shares[few]
        return Worth(float(self.shares @ right), float(shares @ distance / shares.sum()), right)

    def right(self, state: State, class_of: Ints) -> Bools:
        """Which held-out points are classified rightly: (judged,)."""
        return grouped(class_of).margins(state.outputs(self.held), self.held_codes) > 0


def marks_until(steps: int) -> tuple[int, ...]:
    """The moments at which a run is judged: doubling, and the last.

    >>> marks_until(300)
    (25, 50, 100, 200, 300)
    """
    return (*(mark for mark in MARKS if mark < steps), steps)


def select(
    x: Array, codes: Ints, weights: Array, find: Find, counts: Sequence[int], *,
    rates: Sequence[float], width: int, marks: Sequence[int], seed: int, progress: Progress = silent,
) -> Selection:  # fmt: skip
    """Try every number in `counts`, every rate and every moment of `marks`; return the best by the rule above."""
    splits = folds(codes, weights, seed, least=max(counts))
    found: dict[Setting, list[Worth]] = {}
    for turn, (fitted, judged) in enumerate(splits):
        parts = Parts.of(x, codes, weights, fitted, judged)
        attempts = []
        for place, count in enumerate(counts):
            cut = f"{count} sub-class{'es' if count > 1 else ''} per class"
            progress((turn + place / len(counts)) / len(splits), f"{cut}, part {turn + 1} held out")
            labels, class_of = find(fitted, count)
            start = at_centers(means(parts.x, labels, parts.weights), width, seed)
            attempts.append(_tried(parts, start, labels, class_of, count, rates, marks, seed))
        if len(counts) > 1:
            each = np.arange(int(codes.max()) + 1)
            start = at_random(len(each), BASELINE_WIDTH * width, x.shape[1], seed)
            attempts.append(_tried(parts, start, parts.codes, each, 0, BASELINE_RATES, marks, seed))
        for setting, worth in chain.from_iterable(worths.items() for worths in attempts):
            found.setdefault(setting, []).append(worth)
    judged_weights = np.concatenate([weights[judged] for _, judged in splits])
    judged_together = ((setting, pool(worths, judged_weights)) for setting, worths in found.items())
    tried = [(Trial(*setting, worth.accuracy, worth.radius), worth) for setting, worth in judged_together]
    baseline = max((trial.accuracy for trial, _ in tried if trial.count == 0), default=None)
    best = _best([(trial, worth) for trial, worth in tried if trial.count], baseline, judged_weights)
    return Selection(best.count, best.rate, best.steps, tuple(trial for trial, _ in tried), baseline)


def possible_counts(codes: Ints, weights: Array, low: int = 1, high: int = COUNTS[-1]) -> tuple[int, ...]:
    """The numbers of sub-classes per class that the smallest class has points for; at least `low`."""
    smallest = float(np.bincount(codes, weights).min()) * (1 - FIFTHS[0])
    wanted = sorted({low, high, *(count for count in COUNTS if low <= count <= high)})
    return tuple(count for count in wanted if count == low or count * POINTS_EACH <= smallest)


def folds(codes: Ints, weights: Array, seed: int, least: int = 1) -> list[tuple[Ints, Ints]]:
    """Pairs of rows to train on and rows to judge by, a fifth of every class; all for both where a class is small.

    One fifth where that is enough points to judge by, and up to all five in turn where it is not. Of very many rows
    some are taken, if they hold at least `least` points of every class.
    """
    everyone = np.arange(len(codes))
    if np.bincount(codes, weights).min() < LEAST or np.bincount(codes).min() < 2 * len(FIFTHS):
        return [(everyone, everyone)]
    parts = split(codes, FIFTHS, seed)
    turns = int(np.clip(np.ceil(ENOUGH_JUDGED / (FIFTHS[0] * len(codes))), 1, len(FIFTHS)))
    pairs = [(np.setdiff1d(everyone, parts[turn]), parts[turn]) for turn in range(turns)]
    return [(_some(fitted, codes, seed, MOST_TRAINED, least), _some(judged, codes, seed, MOST_JUDGED, 1))
            for fitted, judged in pairs]  # fmt: skip


def _some(rows: Ints, codes: Ints, seed: int, most: int, least: int) -> Ints:
    """`most` of the rows with every class in its share, all of them if a class would keep fewer than `least` points."""
    if len(rows) <= most:
        return rows
    taken = rows[split(codes[rows], (most, len(rows) - most), seed)[0]]
    kept = np.bincount(codes[taken], minlength=int(codes.max()) + 1)
    return taken if kept.min() >= least else rows


def pool(worths: Sequence[Worth], weights: Array) -> Worth:
    """The worth of one kind of network trained on several folds, on all their held-out points; weights (sample,)."""
    right = np.concatenate([worth.right for worth in worths])
    return Worth(float(weights @ right / weights.sum()), float(np.mean([worth.radius for worth in worths])), right)


def grouped(class_of: Ints) -> Grouped:
    """The read-out of a network whose output j speaks for class `class_of[j]`: summed probabilities."""
    return Grouped(Groups.of(class_of))


def newton_distances(state: State, decision: Grouped, x: Array, codes: Ints) -> Array:
    """Length of a Newton walk to where the decision for `codes` is lost: (sample,), 0 for errors.

    δ ← −(m − ⟨g,δ⟩)/‖g‖² g, the nearest point of the boundary linearised at δ, with the margin m and its gradient
    g = c W. Fixed points are perpendicular to the boundary, as the nearest point of it is. All that is needed of δ are
    ⟨w_r, δ⟩, so steps are made in the space of the neurons, with W Wᵀ. An attack of `featavg.robustness` also searches
    a ray and confirms what it finds: fifty times as long, for an estimate that only ranks trials.
    """
    start = x @ state.weights.T + state.biases
    gram = state.weights @ state.weights.T
    moved, length, wrong = np.zeros_like(start), np.zeros(len(x)), np.zeros(len(x), dtype=bool)
    for step in range(NEWTON_STEPS):
        z = start + moved
        outputs = state.up(np.maximum(z, 0.0))
        margin = decision.margins(outputs, codes)
        if step == 0:
            wrong = margin <= 0
        through = state.down(decision.slope(outputs, codes).astype(z.dtype)) * (z >= 0)  # c
        toward = through @ gram
        steep = np.maximum((through * toward).sum(axis=1), np.finfo(np.float32).tiny)
        level = margin - (through * moved).sum(axis=1)
        moved, length = -(level / steep)[:, None] * toward, np.abs(level) / np.sqrt(steep)
    return np.where(wrong, 0.0, length)


def _tried(
    parts: Parts, start: State, labels: Ints, class_of: Ints, count: int, rates: Sequence[float], marks: Sequence[int],
    seed: int,
) -> dict[Setting, Worth]:  # fmt: skip
    """What each rate is worth at each mark, from one start, on labels whose classes are `class_of`."""
    worths: dict[Setting, Worth] = {}
    for rate in rates:

        def judge(mark: int, state: State, rate: float = rate) -> None:
            worths[count, rate, mark] = parts.judge(state, class_of)

        descend(start, parts.x, labels, parts.weights, rate * parts.frame.rate, marks, seed, judge)
    return worths


def _best(tried: Tried, baseline: float | None, weights: Array) -> Trial:
    best = _widest(tried, baseline, weights)
    ones = [(trial, worth) for trial, worth in tried if trial.count == 1]
    if ones and best.count > 1:
        plain = _widest(ones, baseline, weights)
        if plain in _accurate(tried, weights) and best.radius < WORTH * plain.radius:
            return plain
    return best


def _widest(tried: Tried, baseline: float | None, weights: Array) -> Trial:
    """The largest radius of the accurate trials, of those not below the baseline if there are any."""
    close = _accurate(tried, weights)
    able = [trial for trial in close if baseline is None or trial.accuracy >= baseline] or close
    # Rounding must not decide between equal trials: the fewer labels and steps win.
    return min(able, key=lambda trial: (-round(trial.radius, 9), trial.count, trial.rate, trial.steps))


def _accurate(tried: Tried, weights: Array) -> list[Trial]:
    """The trials not below the most accurate one by more than two standard errors of their difference.

    That error is taken over the same points, where a weight counts as repetitions.
    """
    top = max((worth for _, worth in tried), key=lambda worth: worth.accuracy)
    errors = [np.sqrt(weights @ (top.right != worth.right)) / weights.sum() for _, worth in tried]
    return [one for (one, worth), error in zip(tried, errors, strict=True)
            if top.accuracy - worth.accuracy <= ERRORS * error]  # fmt: skip
