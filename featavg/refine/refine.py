"""Points in, a refined two-layer network out, with what it is worth against one trained on the coarse labels."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from featavg.arrays import Array, Ints, finite_matrix
from featavg.data import Dataset, Labels, encode, split
from featavg.errors import InputError
from featavg.model import Network, names_of
from featavg.progress import Progress, part, silent
from featavg.record import number as word
from featavg.refine.baselines import baselines as find_baselines
from featavg.refine.baselines import coarse_network
from featavg.refine.classifier import SubclassClassifier
from featavg.refine.comparison import KEEP, Compared, Comparison, write_page
from featavg.refine.decision import BUDGET, INPUTS, Decision, measure, read_decision, two_layer_decision
from featavg.refine.frame import Scale
from featavg.refine.results import front_evidence, front_table, plotted, with_front, with_subclass_images
from featavg.refine.select import FIFTHS
from featavg.refine.sublabels import Counts, two_classes
from featavg.shown import text_table
from featavg.threads import one_thread

SPLITS = 3  # fifths that are held out in turn, each with its own training
LEAST = 10  # points of each class
MEASURED = 150  # held-out points whose radii are searched
UNITS = "the units of the points"
Turn = tuple[Ints, tuple[Array, Labels]]  # rows to learn from, points to judge by
UNEQUAL = 0.9  # share of the variance that one column has if scales are called unequal


@dataclass(frozen=True, repr=False)
class Refined(Compared):
    """A classifier trained on finer labels, the coarse network it is compared with, and the comparison."""

    model: SubclassClassifier
    coarse: Network
    compared: Comparison

    def __repr__(self) -> str:
        return f"Refined({self.compared!r})"

    def __str__(self) -> str:
        return "\n\n".join([str(self.compared), *([text_table(rows)] if (rows := self.front_table()) else [])])

    def front_table(self) -> list[tuple[str, str, str]]:
        """The trials that no other one beats in both accuracy and radius, as text; see `SubclassClassifier.choice_`."""
        return front_table(self.model.choice_)

    def plot_front(self, path: str | os.PathLike[str] | None = None) -> Any:
        """Draw accuracy against radius of the trials that no other one beats in both, to choose from; see `plotted`."""
        return plotted(front_evidence(self.model.choice_), path)

    def report(self, path: str | os.PathLike[str], points: Dataset | None = None) -> Path:
        """Write one self-contained HTML page and return its path.

        If `points`, the data that was refined, are images, the mean of every sub-class is shown.
        """
        result = with_front(self.compared.to_result(), self.model.choice_)
        if points is not None and points.shape is not None:
            result = with_subclass_images(result, points, self.model.predict_subclass(points.x))
        return write_page(result, path)


def refine_points(
    x: ArrayLike,
    y: ArrayLike,
    sublabels: ArrayLike | None = None,
    *,
    model: Any = None,
    test: Sequence[ArrayLike] | None = None,
    n_subclasses: Counts = "auto",
    keep_accuracy: float = KEEP,
    scale: bool = False,
    baselines: bool = False,
    seed: int = 0,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Refined:
    """Train a `SubclassClassifier` on four fifths of the points and compare it on the others with a coarse network.

    The coarse network has as many neurons, starts small and random, and has the learning rate and stopping time of
    best accuracy on points held out from its training; neither sees the last fifth. Three fifths are held out in turn,
    so that the comparison covers splits and trainings; the model that is returned is the first.

    Args:
        x: points (sample, axis).
        y: their labels (sample,), two or more classes.
        sublabels: a finer label for all or some points (None, −1 or empty: unknown); found by default.
        model: your own classifier, as for `diagnose`, to compare with instead of a coarse network; needs `test`.
        test: (X, y) to compare at, which nobody was trained on: then all of x is trained on, three times, and each
            training is judged at a third of these points.
        n_subclasses: how many sub-classes, as in `SubclassClassifier`.
        keep_accuracy: the largest loss of accuracy that the verdict allows.
        scale: standardise the columns first. The step is part of the model that is returned, which takes points as
            they are; radii are then in deviations of the columns, and told in raw units beside.
        baselines: measure scikit-learn's MLP with and without decay, logistic regression and adversarial training, too.
        seed: of everything random here.
        executor: whoever trains on the splits and searches for radii, in place of this process.
        progress: called as progress(share done, what comes next).

    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(300, 2)) + 10 * rng.integers(2, size=(300, 2))
    >>> found = refine_points(x, (x[:, 0] > 5) ^ (x[:, 1] > 5), n_subclasses=2)
    >>> found.compared.accuracy[1], found.model.subclass_names_.tolist()
    (1.0, ['False.1', 'False.2', 'True.1', 'True.2'])
    """
    begun, tell = time.perf_counter(), progress or silent
    points = finite_matrix(x, "x")
    labels = _checked(points, y)
    given = None if sublabels is None else np.asarray(sublabels, dtype=object)
    if given is not None and given.shape != (len(points),):
        raise InputError(f"sublabels must be one for each of {len(points)} points, got shape {given.shape}")
    if model is not None and test is None:
        raise InputError("model= needs test=(X, y) that it was not trained on; pass them, or leave the model out")
    turns = _turns(points, labels, test, seed)
    with one_thread():
        train = partial(_run, points, labels, model, given, n_subclasses, scale, baselines)
        runs = _each(train, turns, seed, executor, tell)
        tell(0.65, "measuring")
        sides = ([run.sides[side] for run in runs] for side in (0, 1))
        before, after = (measure(side, MEASURED, BUDGET, executor) for side in sides)
        others = zip(*(run.others for run in runs), strict=True)
        beside = tuple((same[0].kind, measure(same, MEASURED)) for same in others)
        notes = _notes(points, scale, [run.raw for run in runs if run.raw])
        tell(1.0, "done")
    first = runs[0]
    first.model.columns_ = names_of(x)
    comparison = Comparison(
        (first.sides[0].kind, f"finer labels, {first.model.network_.neurons} neurons"),
        f"a search for the decision that predict makes, in {'deviations of the columns' if scale else UNITS}",
        tuple(np.max([np.bincount(run.model.class_of_) for run in runs], axis=0).tolist()),
        before, after, keep_accuracy, notes, seed, time.perf_counter() - begun, beside,
    )  # fmt: skip
    return Refined(first.model, first.coarse, comparison)


class Run(NamedTuple):
    """One training of everything, and decisions at the points that it is judged by."""

    model: SubclassClassifier  # on points as they came
    coarse: Network  # so too
    sides: tuple[Decision, Decision]  # before and after, in the units that are measured
    others: list[Decision]
    raw: tuple[Decision, Decision] | None  # before and after in the units of the points, where these are others


def _each(
    train: Callable[[Turn, int, Progress], Run], turns: list[Turn], seed: int, executor: Executor | None, tell: Progress
) -> list[Run]:
    """Train for every turn, one after the other or by the executor, and say which one is waited for."""
    starts = [0.05 + 0.2 * number for number in range(SPLITS)]
    names = [f"split {number + 1} of {SPLITS}" for number in range(SPLITS)]
    # A function that tells cannot go to another process.
    tellers = [
        part(tell, start, start + 0.2, name) if executor is None else silent
        for start, name in zip(starts, names, strict=True)
    ]
    running = iter((map if executor is None else executor.map)(train, turns, range(seed, seed + SPLITS), tellers))
    runs = []
    for start, name in zip(starts, names, strict=True):
        tell(start, f"{name}: finding sub-classes and training on them")
        runs.append(next(running))
    return runs


@one_thread()
def _run(
    points: Array, labels: Labels, own: Any, given: Any, counts: Counts, scale: bool, baselines: bool, turn: Turn,
    seed: int, tell: Progress,
) -> Run:  # fmt: skip
    learn, at = turn
    fine = None if given is None else given[learn]
    scaling = Scale.of(points[learn]) if scale else None
    x, test = (points, at[0]) if scaling is None else (scaling.inside(points), scaling.inside(at[0]))
    model = SubclassClassifier(counts, random_state=seed)
    model.fit(x[learn], labels.values[learn], sublabels=fine, verbose=part(tell, 0.0, 0.5))
    tell(0.5, "training on the labels as they are")
    coarse = coarse_network(x[learn], labels.codes[learn], max(1, model.network_.neurons // len(labels.names)), seed)
    names, values = labels.names, at[1].values
    after = two_layer_decision(model.network_, test, values, names, model.class_of_)
    plain = replace(two_layer_decision(coarse, test, values, names), kind=f"coarse labels, {coarse.neurons} neurons")
    before = plain if own is None else read_decision(own, at[0], values)
    if before.space != INPUTS:
        raise InputError(f"model must decide on the points themselves, got one that decides on {before.space}")
    tell(0.7, "training baselines" if baselines else "deciding")
    others = find_baselines(x, labels, learn, (test, at[1]), model.network_.neurons, seed) if baselines else []
    if own is not None and baselines:
        others.append(plain)
    if scaling is None:
        return Run(model, coarse, (before, after), others, None)
    raw_after = two_layer_decision(scaling.raw(model.network_), at[0], values, names, model.class_of_)
    raw_before = two_layer_decision(scaling.raw(coarse), at[0], values, names) if own is None else before
    if own is not None:
        inside = replace(before.network, layers=scaling.scaled(before.network).layers)
        before = replace(before, network=inside, data=replace(before.data, x=test))
    model.network_ = scaling.raw(model.network_)
    model.subclass_centers_ = model.subclass_centers_ * scaling.deviation + scaling.mean
    return Run(model, scaling.raw(coarse), (before, after), others, (raw_before, raw_after))


def _turns(points: Array, labels: Labels, test: Sequence[ArrayLike] | None, seed: int) -> list[Turn]:
    """Rows to learn from, and points with labels to judge by, for each training."""
    everyone = np.arange(len(points))
    if test is None:
        fifths = split(labels.codes, FIFTHS, seed)[:SPLITS]
        return [(np.setdiff1d(everyone, rows), (points[rows], labels.take(rows))) for rows in fifths]
    if len(test) != 2:
        raise InputError(f"test must be (X, y), got {len(test)} parts")
    x = finite_matrix(test[0], "test points", columns=points.shape[1])
    known = Labels(encode(test[1], labels.names, "labels of the test points", len(x)), labels.names)
    if len(x) < LEAST:
        raise InputError(f"test must hold at least {LEAST} points, got {len(x)}")
    return [(everyone, (x[rows], known.take(rows))) for rows in split(known.codes, (1,) * SPLITS, seed)]


def _checked(points: Array, y: ArrayLike) -> Labels:
    labels = two_classes(y, len(points))
    sizes = np.bincount(labels.codes)
    if sizes.min() < LEAST:
        name = labels.names.tolist()[int(sizes.argmin())]
        raise InputError(f"refinement needs at least {LEAST} points of every class, got {sizes.min()} of {name!r}")
    return labels


def _notes(points: Array, scale: bool, raw: list[tuple[Decision, Decision]]) -> tuple[str, ...]:
    """What the user should know of the columns, and what the radii are in raw units where these are others."""
    if scale:
        sides = (measure([pair[side] for pair in raw], MEASURED).upper for side in (0, 1))
        low, high = (word(float(np.median(upper))) for upper in sides)
        return (f"In {UNITS} the median radii are {low} and {high}, upper bounds by an attack.",)
    shares = points.var(axis=0)
    shares /= max(float(shares.sum()), 1e-300)
    if len(shares) < 2 or shares.max() < UNEQUAL:
        return ()
    return (
        f"Column {int(shares.argmax())} alone has {100 * shares.max():.1f} % of the variance: standardise the columns "
        "with scale=True (--scale), or sub-classes and radii are those of that column.",
    )
