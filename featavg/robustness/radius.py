"""The verbs: the distance to the nearest fooled point, or whether it exceeds one radius, with witness and proof."""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from featavg.errors import InputError
from featavg.model import readouts
from featavg.robustness.accuracy import RobustAccuracy, robust_sizes, share_above
from featavg.robustness.answering import answered
from featavg.robustness.bracket import RadiusBracket
from featavg.robustness.question import Box, Norm, Readout, ask, encode
from featavg.robustness.search.budget import Budget
from featavg.robustness.search.propose import Progress


def robust_radius(
    model: Any,
    x: ArrayLike,
    y: ArrayLike,
    norm: Norm = "l2",
    readout: Readout | readouts.Readout | None = None,
    box: Box | None = None,
    budget: Budget = Budget(),  # noqa: B008  (frozen)
    workers: int = 1,
    progress: Progress | bool | None = None,
    proofs: bool = True,
    executor: Executor | None = None,
) -> RadiusBracket:
    """Return the exact distance of every point to the nearest one that is not put in class y, or an honest bracket.

    `lower` is proved and `upper` shown by a checker that knows nothing of the search; a tie counts as fooled.

    Args:
        model: anything `as_network` reads: one hidden ReLU layer, any second layer and biases.
        x: points (sample, axis).
        y: their labels, as the read-out calls them; -1 and +1 will do where two classes are told apart by a score.
        norm: of the perturbation, `l2` or `linf`.
        readout: the network's own (`sign` for one output, `argmax` for several) unless a binary one is named.
        box: lowest and highest allowed value of a perturbed point, or of each of its features; ±∞ where it is open.
        budget: nodes and CPU seconds that one point may cost, and wall seconds for all.
        workers: processes that share the points.
        progress: called as progress(done, total); True tells the terminal.
        proofs: whether to keep the proofs, which `verify` and `save` need.
        executor: whoever works on the shares, in place of processes of our own.

    >>> bracket = robust_radius(([[1.0], [-1.0]], [0.0, 0.0], [[1.0, -1.0]], [0.0]), [[3.0], [-2.0]], [1, -1])
    >>> bracket.upper.round(6), bracket.status[0] == "exact"
    (array([3., 2.]), True)
    """
    question = ask(model, x, y, norm=norm, readout=readout, box=box)
    return answered(question, budget, workers, progress, proofs, executor=executor)


def targeted_radius(
    model: Any,
    x: ArrayLike,
    y: ArrayLike,
    rival: ArrayLike,
    norm: Norm = "l2",
    box: Box | None = None,
    budget: Budget = Budget(),  # noqa: B008
    workers: int = 1,
    progress: Progress | bool | None = None,
    proofs: bool = True,
    executor: Executor | None = None,
) -> RadiusBracket:
    """Return the distance at which class `rival` (sample,) overtakes class y: f_y − f_rival <= 0.

    >>> network = ([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0], [[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0])
    >>> targeted_radius(network, [[2.0, 0.0]], [0], [1]).upper.round(6)
    array([1.414214])
    """
    question = ask(model, x, y, norm=norm, box=box)
    if question.readout.name != "argmax":
        raise InputError("a targeted radius needs several outputs that decide by argmax, got another read-out")
    rivals = encode(question.readout, rival, len(question.x), "rival")
    same = rivals == question.codes
    if same.any():
        raise InputError(f"a rival must differ from y, got y = rival = {question.labels[same][0]}")
    return answered(replace(question, rival=rivals), budget, workers, progress, proofs, executor=executor)


def robust_at(
    model: Any,
    x: ArrayLike,
    y: ArrayLike,
    radius: float,
    norm: Norm = "l2",
    readout: Readout | readouts.Readout | None = None,
    box: Box | None = None,
    budget: Budget = Budget(),  # noqa: B008
    workers: int = 1,
    progress: Progress | bool | None = None,
    proofs: bool = True,
    executor: Executor | None = None,
) -> RadiusBracket:
    """Decide one radius: at each point lower > radius is proved, or upper <= radius is shown, or it stays open.

    Both sides end as soon as this is known, so that one radius is cheaper than the whole distance. Arguments are those
    of `robust_radius`; the shares of points are `robust_accuracy(robust_at(...), radius)`.

    >>> decided = robust_at(([[1.0], [-1.0]], [0.0, 0.0], [[1.0, -1.0]], [0.0]), [[3.0], [1.0]], [1, 1], radius=2.0)
    >>> decided.lower > 2.0, decided.upper <= 2.0
    (array([ True, False]), array([False,  True]))
    """
    sizes = robust_sizes(radius, "radius")
    if len(sizes) != 1:
        raise InputError(f"radius must be one number, got {len(sizes)}; robust_accuracy_at takes several")
    question = ask(model, x, y, norm=norm, readout=readout, box=box)
    return answered(question, budget, workers, progress, proofs, float(sizes[0]), executor)


def robust_accuracy_at(
    model: Any,
    x: ArrayLike,
    y: ArrayLike,
    radii: ArrayLike,
    norm: Norm = "l2",
    readout: Readout | readouts.Readout | None = None,
    box: Box | None = None,
    budget: Budget = Budget(),  # noqa: B008
    workers: int = 1,
    progress: Progress | bool | None = None,
    executor: Executor | None = None,
) -> RobustAccuracy:
    """Return the robust accuracy at a few radii, each decided by itself: proved `lower`, not refuted `upper`.

    Radii are decided from the smallest on, and a point that is fooled within one is not asked about larger ones.
    `budget` is for one point at one radius.

    >>> found = robust_accuracy_at(([[1.0], [-1.0]], [0.0, 0.0], [[1.0, -1.0]], [0.0]), [[3.0], [1.0]], [1, 1], [2, 4])
    >>> found.lower, found.upper
    (array([0.5, 0. ]), array([0.5, 0. ]))
    """
    sizes = robust_sizes(radii, "radii")
    question = ask(model, x, y, norm=norm, readout=readout, box=box)
    lower, upper = np.zeros(len(question.x)), np.full(len(question.x), np.inf)
    for size in np.sort(sizes).tolist():
        left = np.flatnonzero((lower <= size) & (upper > size))
        if len(left) or not len(lower):
            decided = answered(question.part(left), budget, workers, progress, False, size, executor)
            lower[left], upper[left] = np.maximum(lower[left], decided.lower), np.minimum(upper[left], decided.upper)
    return RobustAccuracy(sizes, share_above(lower, sizes), share_above(upper, sizes), len(lower))
