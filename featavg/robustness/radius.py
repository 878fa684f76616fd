"""`robust_radius`: the true distance to the nearest fooled point, with a witness and a proof."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from featavg.errors import InputError
from featavg.robustness.bracket import RadiusBracket
from featavg.robustness.exact import Answer, Progress, answer
from featavg.robustness.first_search import GAP, Budget
from featavg.robustness.question import Norm, Question, Readout, ask, codes, part
from featavg.robustness.witness import confirmed
from featavg.threads import one_thread


def robust_radius(
    model: Any,
    x: ArrayLike,
    y: ArrayLike,
    norm: Norm = "l2",
    readout: Readout | None = None,
    box: tuple[float, float] | None = None,
    budget: Budget = Budget(),  # noqa: B008  (frozen)
    workers: int = 1,
    progress: Progress | None = None,
    proofs: bool = True,
) -> RadiusBracket:
    """Return the exact distance of every point to the nearest one that is not put in class y, or an honest bracket.

    Args:
        model: anything `as_network` reads: one hidden ReLU layer, any second layer and biases.
        x: points (sample, axis).
        y: their labels, -1 or +1 for a binary read-out, the class for argmax; a scikit-learn classifier's own.
        norm: of the perturbation, `l2` or `linf`.
        readout: `sign` for one output and `argmax` for several unless a binary read-out is named.
        box: lowest and highest allowed coordinate of a perturbed point.
        budget: nodes and CPU seconds that one point may cost.
        workers: processes that share the points.
        progress: called as progress(done, total).
        proofs: whether to keep the proofs, which `verify` needs.

    >>> bracket = robust_radius(([[1.0], [-1.0]], [0.0, 0.0], [[1.0, -1.0]], [0.0]), [[3.0], [-2.0]], [1, -1])
    >>> bracket.upper, bracket.status
    (array([3., 2.]), ('exact', 'exact'))
    """
    question = ask(model, x, y, norm=norm, readout=readout, box=box)
    return answered(question, budget, workers, progress, proofs)


def targeted_radius(
    model: Any,
    x: ArrayLike,
    y: ArrayLike,
    rival: ArrayLike,
    norm: Norm = "l2",
    box: tuple[float, float] | None = None,
    budget: Budget = Budget(),  # noqa: B008
    workers: int = 1,
    progress: Progress | None = None,
    proofs: bool = True,
) -> RadiusBracket:
    """Return the distance at which class `rival` (sample,) overtakes class y: f_y − f_rival <= 0.

    >>> network = ([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0], [[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0])
    >>> targeted_radius(network, [[2.0, 0.0]], [0], [1]).upper.round(6)
    array([1.414214])
    """
    question = ask(model, x, y, norm=norm, box=box)
    if question.readout != "argmax":
        raise InputError("a targeted radius needs a network with several outputs, got one")
    rivals = codes(model, rival, question.readout, len(question.x), "rival")
    if (rivals == question.y).any():
        raise InputError(f"a rival must differ from y, got y = rival = {int(rivals[rivals == question.y][0])}")
    return answered(replace(question, rival=rivals), budget, workers, progress, proofs)


@one_thread()
def answered(
    question: Question,
    budget: Budget = Budget(),  # noqa: B008
    workers: int = 1,
    progress: Progress | None = None,
    proofs: bool = True,
) -> RadiusBracket:
    """Return the bracket that answers a question (`ask`)."""
    if not len(question.x):
        raise InputError("x must hold at least one point, got an empty batch")
    if workers < 1:
        raise InputError(f"workers must be at least 1, got {workers}")
    report = progress or (lambda done, total: None)
    found = answer(question, budget, report) if workers == 1 else _shared(question, budget, workers, report)
    witness, upper = confirmed(question, found.delta, found.known)
    status = tuple(_status(*line) for line in zip(found.lower, upper, found.known, found.ended, strict=True))
    lower = np.minimum(found.lower, upper)
    return RadiusBracket(lower, upper, witness, status, question, proofs=found.proofs if proofs else None)


def _status(lower: float, upper: float, known: bool, ended: str) -> str:
    if np.isinf(upper) and known:
        return "failed: the network does not confirm the nearest point found"
    if lower == upper or (known and upper - lower <= 1.001 * GAP * upper):
        return "exact"
    if ended:
        return ended if ended.startswith("failed") else f"open: {ended}"
    if not known:
        return "open: no fooled point found, none excluded beyond lower"
    return "open: bracketed to 1 %" if upper - lower > 10 * GAP * upper else "open: the witness has too few digits"


def _shared(question: Question, budget: Budget, workers: int, progress: Progress) -> Answer:
    """The same answer from several processes, each with a share of the points."""
    count = len(question.x)
    shares = np.array_split(np.arange(count), min(count, 4 * workers))
    whole = Answer(np.zeros(count), np.empty(question.x.shape), np.zeros(count, dtype=bool), [""] * count)
    context = multiprocessing.get_context("spawn")
    done = 0
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        running = {pool.submit(_share, part(question, share), budget): share for share in shares}
        for future in as_completed(running):
            share, piece = running[future], future.result()
            whole.lower[share], whole.delta[share], whole.known[share] = piece.lower, piece.delta, piece.known
            for i, ended in zip(share, piece.ended, strict=True):
                whole.ended[i] = ended
            whole.proofs.extend(replace(proof, points=share[proof.points]) for proof in piece.proofs)
            progress(done := done + len(share), count)
    return whole


@one_thread()
def _share(question: Question, budget: Budget) -> Answer:
    return answer(question, budget, lambda done, total: None)
