"""What is on trial: the public verbs of featavg, asked one problem at a time, whatever comes of it."""

from __future__ import annotations

import math
import signal
import time
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

import featavg as fa
from campaign.soundness.problem import Problem
from featavg.robustness import ask

BUDGET = 2.0  # CPU seconds that the search may take; these problems are tiny
PATIENCE = 20.0  # CPU seconds after which a problem counts as one that never returned
AUDITED = 300  # cuts of the longest proof that is audited: each takes milliseconds


@dataclass(frozen=True)
class Answer:
    """What the verbs said about one problem; bounds are NaN where they said nothing."""

    lower: float = math.nan
    upper: float = math.nan
    witness: tuple[float, ...] = ()
    status: str = ""
    is_verified: bool = False
    is_audited: bool | None = None  # None if the audit was not asked for
    error: str = ""  # the last line of a traceback
    refusal: str = ""  # the sentence of an InputError
    seconds: float = 0.0
    bracket: Any = None


def asked(problem: Problem, audit: bool = False) -> Answer:
    """Ask for the radius of a problem and for the proof's verification, on request by the second checker as well."""
    began = time.process_time()
    try:
        with warnings.catch_warnings(), interrupted_after(PATIENCE):
            warnings.simplefilter("ignore")
            bracket = radius_bracket(problem)
            is_verified = bool(np.all(bracket.verify()))
            audit = audit and len(bracket.proofs.reach) <= AUDITED
            is_audited = bool(np.all(bracket.verify(audit=True))) if audit else None
    except fa.InputError as refusal:
        return Answer(refusal=str(refusal), seconds=time.process_time() - began)
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        return Answer(
            error=f"{type(error).__name__}: {error} ({where.name}, line {where.lineno})",
            seconds=time.process_time() - began,
        )
    return Answer(
        lower=float(bracket.lower[0]),
        upper=float(bracket.upper[0]),
        witness=tuple(float(entry) for entry in bracket.witness[0]),
        status=str(getattr(bracket.status[0], "value", bracket.status[0])),
        is_verified=is_verified,
        is_audited=is_audited,
        seconds=time.process_time() - began,
        bracket=bracket,
    )


@contextmanager
def interrupted_after(seconds: float) -> Iterator[None]:
    """Raise TimeoutError in the block if it uses more CPU seconds."""

    def stop(number: int, frame: object) -> None:
        raise TimeoutError(f"no answer in {seconds:g} CPU seconds")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)


def radius_bracket(problem: Problem) -> Any:
    """`fa.robust_radius` of a problem."""
    return fa.robust_radius(
        model(problem), [problem.x], [problem.y], **_asked(problem), budget=fa.Budget(seconds=BUDGET)
    )


def question(problem: Problem) -> Any:
    """The same as a question that nobody has answered."""
    return ask(model(problem), [problem.x], [problem.y], **_asked(problem))


def _asked(problem: Problem) -> dict[str, Any]:
    return {"norm": problem.norm, "readout": problem.readout, "box": _box(problem)}


def model(problem: Problem) -> Any:
    """The network as featavg reads it."""
    weights, biases = np.array(problem.weights), np.array(problem.biases)
    second, constants = np.array(problem.second), np.array(problem.constants)
    if problem.class_labels is None:
        return weights, biases, second, constants
    return fa.MulticlassNetwork(weights, biases, second, constants, class_labels=np.array(problem.class_labels))


def _box(problem: Problem) -> Any:
    """One pair of numbers if all axes share it, a pair of vectors otherwise."""
    if problem.box is None:
        return None
    low, high = problem.box
    return (low[0], high[0]) if len(set(low)) == len(set(high)) == 1 else (np.array(low), np.array(high))
