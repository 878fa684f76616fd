"""Points in, a refined two-layer network out, with what it is worth against one trained on the coarse labels."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from featavg.arrays import Array, Ints, finite_matrix
from featavg.data import Names
from featavg.errors import InputError
from featavg.model import Network
from featavg.record.words import number
from featavg.refine.classifier import SubclassClassifier
from featavg.refine.compared import Compared
from featavg.refine.descent import Frame, at_random, descend, labelled
from featavg.refine.subject import Subject, read_subject
from featavg.refine.sublabels import Counts, class_codes, known_classes
from featavg.robustness import Budget
from featavg.threads import one_thread

Progress = Callable[[float, str], None]  # the share that is done, and what comes next
HELD_OUT = 0.2
LEAST = 10  # points of each class
MEASURED = 150  # held-out points whose radii are searched
BUDGET = Budget(nodes=500, seconds=0.25)  # for each of them
MARKS = (100, 200, 400, 800, 1600, 3200)  # steps of the coarse network, at these multiples of the stable rate
RATES = (1.0, 3.0, 10.0)


@dataclass(frozen=True)
class Refined:
    """A classifier trained on finer labels, the coarse network it is compared with, and the comparison."""

    model: SubclassClassifier
    coarse: Network
    compared: Compared


def refine_points(
    x: ArrayLike,
    y: ArrayLike,
    sublabels: ArrayLike | None = None,
    *,
    n_subclasses: Counts = "auto",
    seed: int = 0,
    progress: Progress | None = None,
) -> Refined:
    """Train a `SubclassClassifier` on four fifths of the points and compare it on the others with a coarse network.

    The coarse network has as many neurons, starts small and random, and has the learning rate and stopping time of
    best accuracy on points held out from its training; neither sees the last fifth.

    Args:
        x: points (sample, axis).
        y: their labels (sample,), two or more classes.
        sublabels: a finer label for all or some points (None, −1 or empty: unknown); found unless given.
        n_subclasses: how many sub-classes, as in `SubclassClassifier`.
        seed: of everything random here.
        progress: called as progress(share done, what comes next).

    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(300, 2)) + 10 * rng.integers(2, size=(300, 2))
    >>> found = refine_points(x, (x[:, 0] > 5) ^ (x[:, 1] > 5), n_subclasses=2)
    >>> found.compared.accuracy[1], found.model.subclass_names_.tolist()
    (1.0, ['0.0', '0.1', '1.0', '1.1'])
    """
    begun, tell = time.perf_counter(), progress or (lambda share, what: None)
    points, labels = finite_matrix(x, "x"), np.asarray(y)
    known = None if sublabels is None else np.asarray(sublabels, dtype=object)
    if known is not None and known.shape != (len(points),):
        raise InputError(f"sublabels must be one for each of {len(points)} points, got shape {known.shape}")
    _check_sizes(labels, len(points))
    learn, judge = held_out_split(labels, seed)
    with one_thread():
        tell(0.05, "finding sub-classes and training on them")
        model = SubclassClassifier(n_subclasses, random_state=seed)
        model.fit(points[learn], labels[learn], sublabels=None if known is None else known[learn])
        tell(0.5, "training on the coarse labels")
        codes = class_codes(labels, len(points), model.classes_)
        coarse = coarse_network(
            points[learn], codes[learn], max(1, model.network_.neurons // len(model.classes_)), seed
        )
        tell(0.6, "measuring")
        sides = [read_subject(one, points[judge], labels[judge]) for one in (coarse, model)]
        compared = _compare(sides[0], sides[1], model, seed, begun)
        tell(1.0, "done")
        return Refined(model, coarse, compared)


def held_out_split(y: Names, seed: int) -> tuple[Ints, Ints]:
    """Rows to learn from, and a fifth of every class to judge by: two arrays (row,)."""
    from sklearn.model_selection import train_test_split  # late: it brings half of scikit-learn

    learn, judge = train_test_split(np.arange(len(y)), test_size=HELD_OUT, stratify=y, random_state=seed)
    return learn, judge


def coarse_network(x: Array, codes: Ints, width: int, seed: int) -> Network:
    """`width` neurons a class on the coarse labels from a small random start, at the rate and moment of best accuracy.

    Rate and moment are chosen on a fifth of the points, held out.
    """
    learn, judge = held_out_split(codes, seed)
    weights = np.ones(len(learn))
    frame = Frame.of(x[learn], weights)
    inside, held = frame.inside(x[learn]), frame.inside(x[judge])
    start = at_random(int(codes.max()) + 1, width, x.shape[1], seed)
    runs = (descend(start, inside, labelled(codes[learn]), weights, rate * frame.rate, MARKS, seed) for rate in RATES)
    states = (state for run in runs for _, state in run)
    best = max(states, key=lambda state: float(np.mean(state.outputs(held).argmax(axis=1) == codes[judge])))
    return best.network(frame)


def _compare(before: Subject, after: Subject, model: SubclassClassifier, seed: int, begun: float) -> Compared:
    rows = np.random.default_rng(seed).permutation(len(before.codes))[:MEASURED]
    sides = (before, after)
    accuracy = [float(np.mean(side.predict(side.features) == side.codes)) for side in sides]
    # Exact in a blink, where summed probabilities are bracketed at length; with one output a class the two agree.
    found = [replace(side, readout="maximum").exact(rows, BUDGET) for side in sides]
    attack = [number(float(np.median(side.attack(rows)))) for side in sides]
    return Compared(
        (f"coarse labels, {before.network.neurons} neurons", f"finer labels, {after.network.neurons} neurons"),
        "exact search for the class of the largest output",
        tuple(np.bincount(model.class_of_).tolist()),
        len(before.codes),
        (accuracy[0], accuracy[1]),
        np.stack([lower for lower, _ in found]),
        np.stack([upper for _, upper in found]),
        (("the same for summed probabilities, by an attack (upper bound)", attack[0], attack[1]),),
        seed,
        time.perf_counter() - begun,
    )


def _check_sizes(y: Names, count: int) -> None:
    classes = known_classes(y, count)
    sizes = np.bincount(class_codes(y, count, classes))
    if sizes.min() < LEAST:
        name = classes.tolist()[int(sizes.argmin())]
        raise InputError(f"refinement needs at least {LEAST} points of every class, got {sizes.min()} of {name!r}")
