"""Which number of sub-classes, and when to stop: tried on one part of the points, judged on another.

The rule: among all trials (number of sub-classes, steps) whose held-out accuracy is not below the coarse baseline's by
more than one standard error, take the one with the largest held-out robust radius. The baseline is a network of as many
neurons, trained on the coarse labels from a small random start, at its best moment. If no trial is accurate enough,
the most accurate one is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from featavg.arrays import Array, Ints
from featavg.refine.clustering import means
from featavg.refine.descent import Frame, State, at_centers, at_random, descend
from featavg.refine.heldout import measure

MARKS = (25, 50, 100, 200, 400, 800, 1600, 3200, 6400)
COUNTS = (1, 2, 5, 10, 20, 50, 100, 200)
POINTS_EACH = 10  # a sub-class of fewer points is not tried
SHARE = 0.2  # of the points is held out
LEAST = 20  # classes with fewer points are too small to be split: trials are judged where they were trained
MOST_TRAINED = 10_000  # points that trials are trained on; the chosen one is trained on all

Split = Callable[[Ints, int], tuple[Ints, Ints]]  # (rows, count) -> labels of these rows, class of each label


@dataclass(frozen=True)
class Trial:
    """One number of sub-classes at one moment of training, on held-out points."""

    count: int  # a class; 0 is the coarse baseline
    steps: int
    accuracy: float
    radius: float  # mean Newton distance in the units of the data


@dataclass(frozen=True)
class Choice:
    """What was chosen, and everything it was chosen from."""

    count: int
    steps: int
    trials: tuple[Trial, ...]
    baseline: float | None  # held-out accuracy of the coarse network, if one was trained


def marks_until(steps: int) -> tuple[int, ...]:
    """The moments at which a run is judged: doubling, and the last.

    >>> marks_until(300)
    (25, 50, 100, 200, 300)
    """
    return (*(mark for mark in MARKS if mark < steps), steps)


def fit_state(
    x: Array, labels: Ints, weights: Array, frame: Frame, rate: float, width: int, marks: Sequence[int], seed: int
) -> list[tuple[int, State]]:
    """Train `width` neurons a sub-class on points of the frame, from the centers of their sub-classes."""
    start = at_centers(means(x, labels, weights), width, seed)
    return list(descend(start, x, labels, weights, rate * frame.rate, marks, seed))


def choose(
    x: Array, codes: Ints, weights: Array, split: Split, counts: Sequence[int], *,
    rate: float, width: int, marks: Sequence[int], seed: int,
) -> Choice:  # fmt: skip
    """Try every number of sub-classes in `counts` and every moment of `marks`; return the best by the rule above."""
    fitted, judged = _parts(codes, weights, seed)
    frame = Frame.of(x[fitted], weights[fitted])
    inside, held = frame.inside(x[fitted]), frame.inside(x[judged])
    trials = []
    for count in counts:
        labels, class_of = split(fitted, count)
        for mark, state in fit_state(inside, labels, weights[fitted], frame, rate, width, marks, seed):
            worth = measure(state, class_of, held, codes[judged], weights[judged])
            trials.append(Trial(count, mark, worth.accuracy, worth.radius * frame.size))
    baseline = None
    if len(counts) > 1:
        classes = int(codes.max()) + 1
        start = at_random(classes, max(counts) * width, x.shape[1], seed)
        run = descend(start, inside, codes[fitted], weights[fitted], rate * frame.rate, marks, seed)
        worths = [
            (mark, measure(state, np.arange(classes), held, codes[judged], weights[judged])) for mark, state in run
        ]
        trials += [Trial(0, mark, worth.accuracy, worth.radius * frame.size) for mark, worth in worths]
        baseline = max(worth.accuracy for _, worth in worths)
    return _best(trials, baseline, float(weights[judged].sum()))


def possible_counts(codes: Ints, weights: Array, low: int = 1, high: int = COUNTS[-1]) -> tuple[int, ...]:
    """The numbers of sub-classes a class that the smallest class has points for; at least `low`."""
    smallest = float(np.bincount(codes, weights).min()) * (1 - SHARE)
    wanted = sorted({low, high, *(count for count in COUNTS if low <= count <= high)})
    return tuple(count for count in wanted if count == low or count * POINTS_EACH <= smallest)


def _best(trials: list[Trial], baseline: float | None, held: float) -> Choice:
    refined = [trial for trial in trials if trial.count]
    top = max(trial.accuracy for trial in refined)
    wanted = top if baseline is None else min(top, baseline)
    slack = np.sqrt(max(wanted * (1 - wanted), 1 / held) / held)
    able = [trial for trial in refined if trial.accuracy >= wanted - slack]
    # Rounding must not decide between equal trials: the fewer labels and steps win.
    best = min(able, key=lambda trial: (-round(trial.radius, 9), trial.count, trial.steps))
    return Choice(best.count, best.steps, tuple(trials), baseline)


def _parts(codes: Ints, weights: Array, seed: int) -> tuple[Ints, Ints]:
    """Rows to train on and rows to judge by, a fifth of every class; all for both where a class is small."""
    everyone = np.arange(len(codes))
    if np.bincount(codes, weights).min() < LEAST or np.bincount(codes).min() < 2 / SHARE:
        return everyone, everyone
    rng = np.random.default_rng(seed)
    order = rng.permutation(everyone)
    place = np.empty(len(codes))
    for c in np.unique(codes):
        own = order[codes[order] == c]
        place[own] = (np.arange(len(own)) + 0.5) / len(own)
    judged, fitted = order[place[order] < SHARE], order[place[order] >= SHARE]
    return np.sort(fitted[:MOST_TRAINED]), judged
