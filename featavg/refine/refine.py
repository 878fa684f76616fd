"""Points in, a refined two-layer network out, with what it is worth against one trained on the coarse labels."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from featavg.arrays import Array, Ints, finite_matrix
from featavg.data import Labels
from featavg.data.splits import split
from featavg.errors import InputError
from featavg.model import Network
from featavg.progress import Progress, silent
from featavg.refine.classifier import SubclassClassifier
from featavg.refine.comparison import KEEP, Comparison, measure
from featavg.refine.decision import two_layer_decision
from featavg.refine.descent import Frame, at_random, descend, labelled
from featavg.refine.discover import Counts
from featavg.refine.discover.subclasses import two_classes
from featavg.refine.select import FIFTHS
from featavg.robustness import Budget
from featavg.threads import one_thread

SPLITS = 3  # fifths that are held out in turn, each with its own training
LEAST = 10  # points of each class
MEASURED = 150  # held-out points whose radii are searched
BUDGET = Budget(nodes=500, seconds=0.1)  # for each of them
MARKS = (100, 200, 400, 800, 1600, 3200)  # steps of the coarse network, at these multiples of the stable rate
RATES = (1.0, 3.0, 10.0)
UNEQUAL = 0.9  # share of the variance that one column has if scales are called unequal


@dataclass(frozen=True)
class Refined:
    """A classifier trained on finer labels, the coarse network it is compared with, and the comparison."""

    model: SubclassClassifier
    coarse: Network
    compared: Comparison


def refine_points(
    x: ArrayLike,
    y: ArrayLike,
    sublabels: ArrayLike | None = None,
    *,
    n_subclasses: Counts = "auto",
    keep_accuracy: float = KEEP,
    seed: int = 0,
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
        n_subclasses: how many sub-classes, as in `SubclassClassifier`.
        keep_accuracy: the largest loss of accuracy that the verdict allows.
        seed: of everything random here.
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
    models, networks, sides = [], [], []
    with one_thread():
        for turn, judge in enumerate(split(labels.codes, FIFTHS, seed)[:SPLITS]):
            tell(0.05 + 0.2 * turn, f"split {turn + 1} of {SPLITS}: finding sub-classes and training on them")
            learn = np.setdiff1d(np.arange(len(points)), judge)
            model = SubclassClassifier(n_subclasses, random_state=seed + turn)
            model.fit(points[learn], labels.values[learn], sublabels=None if given is None else given[learn])
            width = max(1, model.network_.neurons // len(labels.names))
            coarse = coarse_network(points[learn], labels.codes[learn], width, seed + turn)
            both = ((coarse, None), (model.network_, model.class_of_))
            sides.append([
                two_layer_decision(network, points[judge], labels.values[judge], labels.names, class_of)
                for network, class_of in both
            ])  # fmt: skip
            models.append(model)
            networks.append(coarse)
        tell(0.65, "measuring")
        before, after = (measure([pair[side] for pair in sides], MEASURED, BUDGET) for side in (0, 1))
        tell(1.0, "done")
    comparison = Comparison(
        (f"coarse labels, {networks[0].neurons} neurons", f"finer labels, {models[0].network_.neurons} neurons"),
        "a search for the decision that predict makes, in the units of the points",
        tuple(np.max([np.bincount(model.class_of_) for model in models], axis=0).tolist()),
        before, after, keep_accuracy, _notes(points), seed, time.perf_counter() - begun,
    )  # fmt: skip
    return Refined(models[0], networks[0], comparison)


def coarse_network(x: Array, codes: Ints, width: int, seed: int) -> Network:
    """`width` neurons per class on the coarse labels from a small random start, at the rate and step of best accuracy.

    Rate and step are chosen on a fifth of the points, held out.
    """
    learn, judge = split(codes, (0.8, 0.2), seed)
    weights = np.ones(len(learn))
    frame = Frame.of(x[learn], weights)
    inside, held = (frame.inside(x[rows], len(learn)) for rows in (learn, judge))
    start = at_random(int(codes.max()) + 1, width, x.shape[1], seed)
    runs = (descend(start, inside, labelled(codes[learn]), weights, rate * frame.rate, MARKS, seed) for rate in RATES)
    states = (state for run in runs for _, state in run)
    best = max(states, key=lambda state: float(np.mean(state.outputs(held).argmax(axis=1) == codes[judge])))
    return best.network(frame)


def _checked(points: Array, y: ArrayLike) -> Labels:
    labels = two_classes(y, len(points))
    sizes = np.bincount(labels.codes)
    if sizes.min() < LEAST:
        name = labels.names.tolist()[int(sizes.argmin())]
        raise InputError(f"refinement needs at least {LEAST} points of every class, got {sizes.min()} of {name!r}")
    return labels


def _notes(points: Array) -> tuple[str, ...]:
    """What the user should know of the columns."""
    shares = points.var(axis=0)
    shares /= max(float(shares.sum()), 1e-300)
    if len(shares) < 2 or shares.max() < UNEQUAL:
        return ()
    return (
        f"Column {int(shares.argmax())} alone has {100 * shares.max():.1f} % of the variance: standardise the columns, "
        "or sub-classes and radii are those of that column.",
    )
