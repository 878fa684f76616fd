"""One problem of the campaign: drawn, answered, held against its truth, and told as a line of JSON."""

from __future__ import annotations

import math
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from flint import fmpq

from campaign.soundness.corruption import damaged, disturbed, outcome, standing
from campaign.soundness.crowded import crowded_problem, subset_radius
from campaign.soundness.hostile import hostile_problem
from campaign.soundness.judgement import judged
from campaign.soundness.larger import Undecided, larger_problem, solver_radius
from campaign.soundness.pooled import pooled_fooled, pooled_radius
from campaign.soundness.problem import Problem, written
from campaign.soundness.product import Answer, asked, interrupted_after, question
from campaign.soundness.rationals import fooled
from campaign.soundness.scip import scip_truth
from campaign.soundness.truth import Truth, exact_radius

# Of every hundred problems 90 are small, 2 crowded, 7 go to solvers, 1 to SCIP.
CROWDED_FROM, SOLVER_FROM, SCIP_FROM, ROUND = 90, 92, 99, 100
SETTLING = 120.0  # CPU seconds
AUDIT_EVERY, CORRUPT_EVERY, DAMAGES = 9, 9, 3  # 9 and a round have no common divisor: all kinds get their share


def tried(seed: int, number: int) -> tuple[dict[str, Any], Problem]:
    """Return what came of problem `number`, as JSON values, and the problem."""
    oracle, problem = posed(seed, number)
    answer = asked(problem, audit=number % AUDIT_EVERY == 0)
    began = time.process_time()
    truth = true_radius(oracle, problem, answer)
    verdict = judged(problem, answer, truth, pooled_fooled if oracle == "balls" else fooled)
    if oracle in ("solver", "SCIP") and {"lower above the truth", "upper below the truth"} & set(verdict.faults):
        oracle, truth = settled(oracle, problem, truth)
        verdict = judged(problem, answer, truth)
    truth_seconds = time.process_time() - began
    damages = corrupted(seed, number, oracle, problem, answer, truth) if number % CORRUPT_EVERY == 0 else []
    told = {
        "number": number,
        "oracle": oracle if truth.low is None or truth.low > 0 or truth.high is not None else f"{oracle}, undecided",
        "family": problem.family,
        "readout": problem.readout,
        "norm": problem.norm,
        "box": problem.box is not None,
        "lower": answer.lower.hex(),
        "upper": answer.upper.hex(),
        "truth": truth.radius.hex(),
        "status": answer.status,
        "faults": list(verdict.faults),
        "closed": verdict.is_closed,
        "closed_as_floats_go": verdict.is_closed_as_floats_go,
        "excess": verdict.excess.hex(),
        "message": answer.error or answer.refusal,
        "audited": answer.is_audited is not None,
        "damages": damages,
        "seconds": round(answer.seconds, 4),
        "truth_seconds": round(truth_seconds, 4),
    }
    return told, problem


def posed(seed: int, number: int) -> tuple[str, Problem]:
    """The problem of a number, and who knows the truth about it."""
    place = number % ROUND
    if CROWDED_FROM <= place < SOLVER_FROM:
        return "formula", crowded_problem(seed, number)
    if place >= SOLVER_FROM:
        return ("SCIP" if place >= SCIP_FROM else "solver"), larger_problem(seed, number)
    problem = hostile_problem(seed, number)
    return ("balls" if problem.readout == "summed-probabilities" else "rationals"), problem


def true_radius(oracle: str, problem: Problem, answer: Answer) -> Truth:
    """Ask the oracle; where it ends undecided, everything is allowed but what verification and witness refute."""
    try:
        if oracle == "rationals":
            return exact_radius(problem)
        if oracle == "balls":
            return pooled_radius(problem)
        if oracle == "formula":
            return subset_radius(problem)
        if oracle == "solver":
            return solver_radius(problem)
        return scip_truth(problem, answer.upper)
    except Undecided:
        return Truth(problem.norm, fmpq(0), None)


def settled(oracle: str, problem: Problem, truth: Truth) -> tuple[str, Truth]:
    """Where a solver and an answer contradict each other, rationals decide, if they can in time."""
    try:
        with interrupted_after(SETTLING):
            return f"{oracle}, then rationals", exact_radius(problem)
    except TimeoutError:
        return oracle, truth


def corrupted(seed: int, number: int, oracle: str, problem: Problem, answer: Answer, truth: Truth) -> list[str]:
    """Damage the saved proof several times, hold it against another network; say what came of each."""
    if answer.bracket is None:
        return []
    rng = np.random.default_rng([seed, number, 2])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bracket.npz"
        answer.bracket.save(path)
        content = path.read_bytes()
        found = [outcome(path, damaged(rng, content), truth) for _ in range(DAMAGES)]
    if oracle == "rationals":
        other = disturbed(rng, problem)
        found.append(standing(lambda: replace(answer.bracket, question=question(other)), exact_radius(other)))
    return found


def failure(told: dict[str, Any], problem: Problem) -> dict[str, Any]:
    """A fault with all that is needed to see it again."""
    readable = {name: float.fromhex(told[name]) for name in ("lower", "upper", "truth", "excess")}
    plain = {name: value if math.isfinite(value) else repr(value) for name, value in readable.items()}
    return {**told, **plain, "problem": written(problem)}
