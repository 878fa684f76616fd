"""From a question to a bracket, alone or shared among processes."""

from __future__ import annotations

import multiprocessing
import signal
import time
from collections.abc import Callable, Iterable
from concurrent.futures import BrokenExecutor, Executor, Future, as_completed
from dataclasses import replace
from typing import Any

import numpy as np

from featavg.arrays import Array, Ints
from featavg.errors import InputError
from featavg.processes import GUARD, processes
from featavg.progress import on_screen
from featavg.robustness.attacks import GradientWalk, NewtonWalk, best_of
from featavg.robustness.bracket import RadiusBracket, joined
from featavg.robustness.proof.format import Problem, no_proofs, part
from featavg.robustness.proof.witness import witness_distance
from featavg.robustness.question import Question
from featavg.robustness.search.answer import RATIONAL_SHARE, Answer, answer, is_exact
from featavg.robustness.search.budget import Budget
from featavg.robustness.search.propose import INTERRUPTED, Progress
from featavg.robustness.search.seeds import inner_start
from featavg.robustness.status import status_of
from featavg.threads import one_thread

# By how much a witness is moved farther, as a share of its distance, where floats call it a tie.
PUSHES = (1e-12, 1e-10, 1e-8, 1e-7)
# Points are dealt out in so many shares a worker, so that hard ones do not all wait for one.
SHARES = 4
# Points of a share at most where an executor's workers are not known: a share that a dead worker takes along is made
# again, and its answer must fit into a message.
MOST = 1000


@one_thread()
def answered(
    question: Question,
    budget: Budget = Budget(),  # noqa: B008  (frozen)
    workers: int = 1,
    progress: Progress | bool | None = None,
    proofs: bool = True,
    within: float | None = None,
    executor: Executor | None = None,
) -> RadiusBracket:
    """Return the bracket that answers a question (`ask`); with `within` it decides that one radius only."""
    if not isinstance(budget, Budget):
        raise InputError(f"budget must be featavg.Budget(nodes=, seconds=, wall=), got {budget!r}")
    if isinstance(workers, bool) or not isinstance(workers, int | np.integer) or workers < 1:
        raise InputError(f"workers must be a whole number of processes, at least 1, got {workers!r}")
    if not len(question.x):
        raise InputError("x must hold at least one point, got an empty batch")
    report = _on_screen() if progress is True else progress or _silent
    if executor is not None:
        shares = max(SHARES * int(workers), -(-len(question.x) // MOST))
        whole = shared(executor, _cancel, question, budget, shares, report, within)
    elif workers > 1:
        whole = in_processes(int(workers), question, budget, SHARES * int(workers), report, within)
    else:
        try:
            whole = found(question, budget, report, within)
        except KeyboardInterrupt:  # outside of the search, which ends by itself: nothing is checked yet
            whole = _nothing(question, INTERRUPTED)
    return RadiusBracket(
        whole.lower,
        whole.upper,
        whole.witness,
        status_of(whole.lower, whole.upper),
        question,
        proofs=whole.proofs if proofs else None,
        certificates=tuple(whole.certificates) if proofs else (),
        reasons=tuple(whole.ended),
    )


def found(question: Question, budget: Budget, progress: Progress, within: float | None) -> Answer:
    """The answer of one process."""
    problem, reach = question.checkable(), None if within is None else reaches(question.x, within)
    if problem.decision.kind == "probabilities":
        whole = _from_attacks(question, problem, budget, progress, reach)
    else:
        whole = answer(problem, budget, progress, None, reach)
    _leave_ties(question, problem, whole)
    return whole


def _leave_ties(question: Question, problem: Problem, whole: Answer) -> None:
    """Move witnesses that the model's own floats call a tie a hair farther, where they then misclassify them."""
    for share in PUSHES:
        tied = np.flatnonzero(np.isfinite(whole.upper))
        if len(tied) == len(whole.upper):
            tied = np.flatnonzero(~question.misclassified(whole.witness))
        elif len(tied):
            tied = tied[~question.part(tied).misclassified(whole.witness[tied])]
        if not len(tied):
            return
        few = part(problem, tied)
        points = few.x + (whole.witness[tied] - few.x) * (1.0 + share)
        if problem.low is not None and problem.high is not None:
            points = np.clip(points, problem.low, problem.high)
        shown = witness_distance(few, points)
        won = np.isfinite(shown) & question.part(tied).misclassified(points)
        whole.witness[tied[won]], whole.upper[tied[won]] = points[won], shown[won]


def _from_attacks(
    question: Question, problem: Problem, budget: Budget, progress: Progress, reach: Array | None
) -> Answer:
    """The same for summed probabilities, whose search is poor at finding fooled points: attacks go ahead of it."""
    attacked = best_of(GradientWalk(restarts=1).on(question), NewtonWalk().on(question))
    start = np.where(np.isfinite(attacked.upper)[:, None], attacked.witness, question.x)
    ends = time.monotonic() + RATIONAL_SHARE * budget.wall
    for i in np.flatnonzero(np.isinf(attacked.upper)).tolist():
        inside = inner_start(problem, i, RATIONAL_SHARE * budget.seconds) if time.monotonic() < ends else None
        start[i] = start[i] if inside is None else inside
    whole = answer(problem, budget, progress, start, reach)
    shown = witness_distance(problem, start)
    nearer = shown < whole.upper
    whole.upper[nearer], whole.witness[nearer] = shown[nearer], start[nearer]
    whole.lower = np.minimum(whole.lower, whole.upper)
    for i in np.flatnonzero(is_exact(whole.lower, whole.upper)).tolist():
        whole.ended[i] = ""
    return whole


def reaches(x: Array, within: float) -> Array:
    """A hair more than asked (point,), so that rounding cannot leave a proof short of the radius, be it 0."""
    return np.maximum(within * (1.0 + 1e-9), 1e-12 * np.abs(x).max(axis=1, initial=1e-290))


def shared(
    executor: Executor,
    stop: Callable[[Iterable[Future[Answer]]], None],
    question: Question,
    budget: Budget,
    shares: int,
    progress: Progress,
    within: float | None,
) -> Answer:
    """The same answer from an executor; an interruption by the keyboard stops it with what is finished so far."""
    count, pieces, done = len(question.x), [], 0
    deadline = time.time() + budget.wall
    running: dict[Future[Answer], Ints] = {}
    try:
        for part in np.array_split(np.arange(count), min(count, shares)):
            running[executor.submit(_share, question.part(part), budget, deadline, within)] = part
        for future in as_completed(running):
            pieces.append((running[future], future.result()))
            progress(done := done + len(running[future]), count)
    except KeyboardInterrupt:
        stop(running)
    return _gathered(question, pieces)


def in_processes(workers: int, *asked: Any) -> Answer:
    """`shared` by processes of our own, which do not outlive an interruption."""
    before = set(multiprocessing.active_children())

    def stop(running: Iterable[Future[Answer]]) -> None:
        for child in set(multiprocessing.active_children()) - before:
            child.terminate()

    try:
        with processes(workers, _deaf) as pool:
            return shared(pool, stop, *asked)
    except BrokenExecutor:
        raise InputError(f"a worker process died; {GUARD}, else memory may be short: pass fewer workers") from None


def _cancel(running: Iterable[Future[Answer]]) -> None:
    for future in running:
        future.cancel()


def _deaf() -> None:
    """Leave interruptions by the keyboard to the process that started this one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@one_thread()
def _share(question: Question, budget: Budget, deadline: float, within: float | None) -> Answer:
    left = deadline - time.time()
    if left <= 0:
        return _nothing(question, f"budget of {budget.wall:g} wall seconds")
    return found(question, replace(budget, wall=left), _silent, within)


def _nothing(question: Question, why: str) -> Answer:
    count = len(question.x)
    unknown = np.full(question.x.shape, np.nan)
    return Answer(np.zeros(count), np.full(count, np.inf), unknown, [why] * count, no_proofs(), [])


def _gathered(question: Question, pieces: list[tuple[Ints, Answer]]) -> Answer:
    """One answer of many; what is missing was interrupted."""
    whole = _nothing(question, INTERRUPTED)
    for share, piece in pieces:
        whole.lower[share], whole.upper[share], whole.witness[share] = piece.lower, piece.upper, piece.witness
        for i, why in zip(share.tolist(), piece.ended, strict=True):
            whole.ended[i] = why
        whole.certificates.extend(each for each in piece.certificates if each not in whole.certificates)
    whole.proofs = joined([(share, piece.proofs) for share, piece in pieces])
    return whole


def _on_screen() -> Progress:
    """Progress for people: how many points have their answer."""
    tell = on_screen()
    return lambda done, total: tell(done / total, f"{done} of {total} points")


def _silent(done: int, total: int) -> None:
    """No progress is shown."""
