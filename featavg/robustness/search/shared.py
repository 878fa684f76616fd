"""The same answer from several processes, each with shares of the points."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor, as_completed

import numpy as np

from featavg.arrays import Array
from featavg.robustness.proof import Problem
from featavg.robustness.proof.format import join
from featavg.robustness.search.answer import Answer, part
from featavg.robustness.search.answer import answer as answer_alone
from featavg.robustness.search.budget import Budget
from featavg.robustness.search.propose import INTERRUPTED, Progress

SHARES_PER_WORKER = 4


def answer_shared(
    problem: Problem,
    budget: Budget,
    workers: int,
    progress: Progress,
    start: Array | None = None,
    within: Array | None = None,
) -> Answer:
    """Answer shares of the points in processes of their own; an interruption keeps the shares that are finished."""
    count = len(problem.x)
    shares = np.array_split(np.arange(count), min(count, SHARES_PER_WORKER * workers))
    whole = Answer(
        np.zeros(count), np.full(count, np.inf), np.full(problem.x.shape, np.nan), [INTERRUPTED] * count, join([]), []
    )
    done = 0
    pool = ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn"))
    try:
        running = {}
        for share in shares:
            near = None if within is None else within[share]
            guess = None if start is None else start[share]
            running[pool.submit(_share, part(problem, share), budget, guess, near)] = share
        for future in as_completed(running):
            share, piece = running[future], future.result()
            whole.lower[share], whole.upper[share], whole.witness[share] = piece.lower, piece.upper, piece.witness
            for i, why in zip(share, piece.ended, strict=True):
                whole.ended[i] = why
            whole.proofs = join([whole.proofs, piece.proofs._replace(point=share[piece.proofs.point])])
            whole.certificates += [each for each in piece.certificates if each not in whole.certificates]
            progress(done := done + len(share), count)
    except KeyboardInterrupt:
        for process in list(getattr(pool, "_processes", {}).values()):
            process.terminate()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
    return whole


def _share(problem: Problem, budget: Budget, start: Array | None, within: Array | None) -> Answer:
    return answer_alone(problem, budget, lambda done, total: None, None, start, within)
