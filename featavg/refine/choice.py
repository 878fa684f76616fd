"""How many sub-classes, which learning rate, when to stop: tried on one part of the points, judged on another.

The rule: among all trials (number of sub-classes, learning rate, steps) take the one with the largest held-out robust
radius, subject to two conditions on held-out accuracy.

  1. It is not below the coarse baseline's: a network trained on the coarse labels from a small random start, at its
     most accurate moment.
  2. It is not below that of the most accurate trial by more than two standard errors of their paired difference, so
     that what looks like noise may be paid for robustness, and nothing else.

If no trial meets the first, the second alone decides. Sub-classes must earn their keep: if the same rule over trials
with one sub-class a class finds one that meets the second condition too, at a radius within 5 % of the largest, that
one is taken. So on data without sub-structure luck with few held-out points does not cut classes up.

On few points a fifth is too small to see a loss of two points of accuracy, so there up to five fifths are held out in
turn and their points judged together.

Robustness and accuracy depend on learning rate times steps rather than on either, so a few rates at doubling moments
are a finer grid of that product.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from featavg.arrays import Array, Ints
from featavg.refine.clustering import means
from featavg.refine.descent import Frame, State, at_centers, at_random, descend, labelled
from featavg.refine.heldout import SHARE, Parts, Worth, folds, pool

# The doubling moments at which a run is judged.
MARKS = (25, 50, 100, 200, 400, 800, 1600, 3200, 6400)
RATES = (1.0, 3.0)  # multiples of the longest step that is surely stable
COUNTS = (1, 2, 5, 10, 20, 50, 100, 200)
POINTS_EACH = 5  # a sub-class of fewer points is not tried
WORTH = 1.05  # a gain in radius below 5 % is not worth finer labels
ERRORS = 2.0  # standard errors of the paired difference to the most accurate trial
# Neurons a class and rates of the baseline: more neurons did not make it more accurate, and it needs ten times as long.
BASELINE_WIDTH = 20
BASELINE_RATES = (10.0, 30.0)

Split = Callable[[Ints, int], tuple[Ints, Ints]]  # (rows, count) -> labels of these rows, class of each label


@dataclass(frozen=True)
class Trial:
    """One number of sub-classes and one learning rate at one moment of training, on held-out points."""

    count: int  # a class; 0 is the coarse baseline
    rate: float  # as a multiple of the longest step that is surely stable
    steps: int
    accuracy: float
    radius: float  # mean Newton distance in the units of the data


@dataclass(frozen=True)
class Choice:
    """What was chosen, and everything it was chosen from."""

    count: int
    rate: float
    steps: int
    trials: tuple[Trial, ...]
    baseline: float | None  # held-out accuracy of the coarse network, if one was trained


Tried = list[tuple[Trial, Worth]]
Setting = tuple[int, float, int]  # count, rate, steps


def marks_until(steps: int) -> tuple[int, ...]:
    """The moments at which a run is judged: doubling, and the last.

    >>> marks_until(300)
    (25, 50, 100, 200, 300)
    """
    return (*(mark for mark in MARKS if mark < steps), steps)


def fit_state(
    x: Array, labels: Ints, weights: Array, frame: Frame, rate: float, width: int, marks: Sequence[int], seed: int
) -> Iterator[tuple[int, State]]:
    """Train `width` neurons a sub-class on points of the frame, from the centers of their sub-classes."""
    start = at_centers(means(x, labels, weights), width, seed)
    return descend(start, x, labelled(labels), weights, rate * frame.rate, marks, seed)


def choose(
    x: Array, codes: Ints, weights: Array, split: Split, counts: Sequence[int], *,
    rates: Sequence[float], width: int, marks: Sequence[int], seed: int,
) -> Choice:  # fmt: skip
    """Try every number in `counts`, every rate and every moment of `marks`; return the best by the rule above."""
    splits = folds(codes, weights, seed, least=max(counts))
    found: dict[Setting, list[Worth]] = {}
    for fitted, judged in splits:
        parts = Parts.of(x, codes, weights, fitted, judged)
        attempts = [_fine(parts, split(fitted, count), count, rates, width, marks, seed) for count in counts]
        if len(counts) > 1:
            attempts.append(_coarse(parts, width, marks, seed))
        for setting, worth in chain.from_iterable(attempts):
            found.setdefault(setting, []).append(worth)
    judged_weights = np.concatenate([weights[judged] for _, judged in splits])
    pooled = ((setting, pool(worths, judged_weights)) for setting, worths in found.items())
    tried = [(Trial(*setting, worth.accuracy, worth.radius), worth) for setting, worth in pooled]
    baseline = max((trial.accuracy for trial, _ in tried if trial.count == 0), default=None)
    best = _best([(trial, worth) for trial, worth in tried if trial.count], baseline, judged_weights)
    return Choice(best.count, best.rate, best.steps, tuple(trial for trial, _ in tried), baseline)


def possible_counts(codes: Ints, weights: Array, low: int = 1, high: int = COUNTS[-1]) -> tuple[int, ...]:
    """The numbers of sub-classes a class that the smallest class has points for; at least `low`."""
    smallest = float(np.bincount(codes, weights).min()) * (1 - SHARE)
    wanted = sorted({low, high, *(count for count in COUNTS if low <= count <= high)})
    return tuple(count for count in wanted if count == low or count * POINTS_EACH <= smallest)


def _fine(
    parts: Parts, split: tuple[Ints, Ints], count: int, rates: Sequence[float], width: int, marks: Sequence[int],
    seed: int,
) -> Iterator[tuple[Setting, Worth]]:  # fmt: skip
    labels, class_of = split
    for rate in rates:
        for mark, state in fit_state(parts.x, labels, parts.weights, parts.frame, rate, width, marks, seed):
            yield (count, rate, mark), parts.judge(state, class_of)


def _coarse(parts: Parts, width: int, marks: Sequence[int], seed: int) -> Iterator[tuple[Setting, Worth]]:
    classes = int(parts.codes.max()) + 1
    start = at_random(classes, BASELINE_WIDTH * width, parts.x.shape[1], seed)
    for rate in BASELINE_RATES:
        pace = rate * parts.frame.rate
        for mark, state in descend(start, parts.x, labelled(parts.codes), parts.weights, pace, marks, seed):
            yield (0, rate, mark), parts.judge(state, np.arange(classes))


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
    """The trials not below the most accurate one by more than two standard errors."""
    top = max((worth for _, worth in tried), key=lambda worth: worth.accuracy)
    return [trial for trial, worth in tried if top.accuracy - worth.accuracy <= ERRORS * _error(top, worth, weights)]


def _error(one: Worth, other: Worth, weights: Array) -> float:
    """The standard error of the difference of two accuracies on the same points; a weight counts as repetitions."""
    return float(np.sqrt(weights @ (one.right != other.right)) / weights.sum())
