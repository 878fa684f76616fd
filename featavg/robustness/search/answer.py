"""Search proposes, the checker disposes: brackets in which both ends are proved."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass, replace

import numpy as np

from featavg.arrays import Array, Bools, Ints
from featavg.robustness.proof import Certificate, Problem, Proofs, certified, checked, infinite
from featavg.robustness.proof.format import join, part, take
from featavg.robustness.proof.prepared import Prepared, prepared
from featavg.robustness.search.budget import Budget
from featavg.robustness.search.emptiness import find_emptiness
from featavg.robustness.search.exactly import Found, exactly
from featavg.robustness.search.lattice import on_lattice
from featavg.robustness.search.plateau import find_inside
from featavg.robustness.search.propose import INTERRUPTED, Progress, Proposal, propose
from featavg.robustness.search.push import push

# A bracket is exact when upper − lower <= EXACT · upper.
EXACT = 1e-6
# The share of a budget that rationals may take, and the most CPU seconds per point.
RATIONAL_SHARE, MOST_SECONDS = 0.1, 1.0


@dataclass
class Answer:
    """What is proved and shown of every point."""

    lower: Array  # (point,)
    upper: Array  # (point,)
    witness: Array  # (point, axis)
    ended: list[str]  # (point,)  why a bracket is wider than it could be, empty if it is exact
    proofs: Proofs
    certificates: list[Certificate]


def answer(
    problem: Problem,
    budget: Budget,
    progress: Progress,
    start: Array | None = None,
    within: Array | None = None,
) -> Answer:
    """Search, check, and search once more, in finer arithmetic, what is open for lack of digits, while time is left.

    With `within` (point,) only whether a point that near is fooled: lower >= within, or upper <= within.
    """
    ends, asked = time.monotonic() + budget.wall, prepared(problem)
    proposal = propose(asked, budget, progress, start, within=within)
    began = time.process_time()
    found = confirm(asked, proposal, within)
    if INTERRUPTED in found.ended:
        return found
    # What search and check of a point took is gone.
    spent = proposal.seconds + (time.process_time() - began) / len(problem.x)
    again = np.flatnonzero([bool(why) and not why.startswith("budget") for why in found.ended])
    again, wall = again[spent[again] < budget.seconds], ends - time.monotonic()
    if len(again) and wall > 0.0 and problem.decision.kind != "probabilities":
        few, near = prepared(part(problem, again)), None if within is None else within[again]
        guess = np.where(np.isfinite(found.witness[again]), found.witness[again], problem.x[again])
        left = replace(budget, wall=wall)
        proposed = propose(few, left, lambda done, total: None, guess, True, near, spent[again])
        finer = confirm(few, proposed, near)
        improve(found, finer, again, near)
        if INTERRUPTED in finer.ended:
            return found
    if problem.decision.kind != "probabilities":
        _finish(problem, found, min(MOST_SECONDS, RATIONAL_SHARE * budget.seconds), within)
    return found


def _finish(problem: Problem, found: Answer, seconds: float, within: Array | None) -> None:
    """Decide what is left open in rationals, if the network is small and there is time."""
    left = [i for i, why in enumerate(found.ended) if why and not why.endswith("wall seconds")]
    with contextlib.suppress(KeyboardInterrupt):
        for point in left:
            exact = exactly(problem, point, found.upper[point], time.process_time() + seconds)
            if exact is not None:
                _take(part(problem, np.array([point])), point, exact, found, within)


def _take(alone: Problem, point: int, exact: Found, found: Answer, within: Array | None) -> None:
    """What is exact about one point, where it is better than what is known."""
    here = np.array([point])
    if exact.cell is not None and exact.delta is not None:
        distance, witness = on_lattice(alone, exact.cell, exact.delta)
        if distance < found.upper[point]:
            found.upper[point], found.witness[point] = distance, witness
    lower = min(float(certified(alone, exact.certificates)[0]), found.upper[point])
    if lower > found.lower[point]:
        found.lower[point] = lower
        found.certificates += exact.certificates
    if is_settled(found.lower[here], found.upper[here], None if within is None else within[here])[0]:
        found.ended[point] = ""


def is_exact(lower: Array, upper: Array) -> Bools:
    """Both ends finite and within 1e-6 of each other, or both 0, or both ∞."""
    finite = np.isfinite(upper)
    width = np.where(finite, upper, 0.0) - np.where(finite, lower, 0.0)
    return np.where(finite, width <= EXACT * np.where(finite, upper, 0.0), lower == upper)


def is_settled(lower: Array, upper: Array, within: Array | None) -> Bools:
    """Whether the brackets say what was asked."""
    if within is None:
        return is_exact(lower, upper)
    return (lower >= within) | (upper <= within)


def confirm(asked: Prepared, proposal: Proposal, within: Array | None) -> Answer:
    """Turn claims into facts."""
    problem = asked.problem
    witness, upper = push(asked, proposal.shifts, proposal.known)
    lower, proofs = checked(asked, proposal.proofs, proposal.lower)
    if problem.decision.kind != "probabilities":
        weak = proposal.known & ~is_exact(lower, upper) & (upper > (1.0 + EXACT) * proposal.radius)
        find_inside(proposal.task, problem, np.flatnonzero(weak), upper, witness)
    certificates = find_emptiness(problem, np.isinf(upper) & ~is_settled(lower, upper, within))
    lower = np.where(infinite(problem, certificates), np.inf, lower) if certificates else lower
    settled = is_settled(lower, upper, within)
    ended = [""] * len(upper)
    for i in np.flatnonzero(~settled).tolist():
        ended[i] = _why(upper[i], proposal.known[i], proposal.ended[i])
    return Answer(np.minimum(lower, upper), upper, witness, ended, proofs, certificates)


def _why(upper: float, known: bool, ended: str) -> str:
    if known and np.isinf(upper):
        return "the nearest point found could not be confirmed"
    return ended or "rounding weakens proof or witness"


def improve(found: Answer, other: Answer, points: Ints, within: Array | None) -> None:
    """Take the better end of either from a second answer about some of the points."""
    better = other.lower > found.lower[points]
    trees = np.isin(other.proofs.point, np.flatnonzero(better))
    chosen = take(other.proofs, np.flatnonzero(trees))
    kept = take(found.proofs, np.flatnonzero(~np.isin(found.proofs.point, points[better])))
    found.proofs = join([kept, chosen._replace(point=points[chosen.point])])
    found.lower[points[better]] = other.lower[better]
    found.certificates += [each for each in other.certificates if each not in found.certificates]
    nearer = other.upper < found.upper[points]
    found.upper[points[nearer]], found.witness[points[nearer]] = other.upper[nearer], other.witness[nearer]
    for i in points[is_settled(found.lower[points], found.upper[points], within)]:
        found.ended[i] = ""
