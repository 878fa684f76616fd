"""Search proposes, the checker disposes: brackets in which both ends are proved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from featavg.arrays import Array, Bools, Ints
from featavg.robustness.proof import Emptiness, Problem, Proofs, check, infinite
from featavg.robustness.proof.format import join, take
from featavg.robustness.search.budget import Budget
from featavg.robustness.search.emptiness import find_emptiness
from featavg.robustness.search.plateau import find_inside
from featavg.robustness.search.propose import INTERRUPTED, Progress, Proposal, propose
from featavg.robustness.search.push import push

# A bracket is exact when upper − lower <= EXACT · upper.
EXACT = 1e-6


@dataclass
class Answer:
    """What is proved and shown of every point."""

    lower: Array  # (point,)
    upper: Array  # (point,)
    witness: Array  # (point, axis)
    ended: list[str]  # (point,)  why a bracket is wider than it could be, empty if it is exact
    proofs: Proofs
    certificates: list[Emptiness]


def answer(
    problem: Problem,
    budget: Budget,
    progress: Progress,
    agrees: Callable[[Array], Bools] | None = None,
    start: Array | None = None,
    within: Array | None = None,
) -> Answer:
    """Search, check, and search once more, in finer arithmetic, what is left open for lack of digits.

    With `within` (point,) only whether a point that near is fooled: lower >= within, or upper <= within.
    """
    found = confirm(problem, propose(problem, budget, progress, start, within=within), agrees, within)
    again = np.flatnonzero([bool(why) and why != INTERRUPTED and not why.startswith("budget") for why in found.ended])
    if len(again) and problem.decision.kind != "probabilities":
        few, near = part(problem, again), None if within is None else within[again]
        guess = np.where(np.isfinite(found.witness[again]), found.witness[again], few.x)
        finer = propose(few, budget, lambda done, total: None, guess, True, near)
        improve(found, confirm(few, finer, agrees and _agrees_at(agrees, problem.x, again), near), again, near)
    return found


def _agrees_at(agrees: Callable[[Array], Bools], x: Array, points: Ints) -> Callable[[Array], Bools]:
    """The same test for some of the points."""

    def test(moved: Array) -> Bools:
        whole = x.copy()
        whole[points] = moved
        return agrees(whole)[points]

    return test


def is_exact(lower: Array, upper: Array) -> Bools:
    """Both ends finite and within 1e-6 of each other, or both 0, or both ∞."""
    finite = np.isfinite(upper)
    width = np.where(finite, upper, 0.0) - np.where(finite, lower, 0.0)
    return np.where(finite, width <= EXACT * np.where(finite, upper, 0.0), lower == upper)


def part(problem: Problem, points: Ints) -> Problem:
    """The same problem at some points."""
    target = None if problem.target is None else problem.target[points]
    return problem._replace(x=problem.x[points], labels=problem.labels[points], target=target)


def is_settled(lower: Array, upper: Array, within: Array | None) -> Bools:
    """Whether the brackets say what was asked."""
    if within is None:
        return is_exact(lower, upper)
    return (lower >= within) | (upper <= within)


def confirm(
    problem: Problem, proposal: Proposal, agrees: Callable[[Array], Bools] | None, within: Array | None
) -> Answer:
    """Turn claims into facts."""
    witness, upper = push(problem, proposal.delta, proposal.known, agrees)
    lower = check(problem, proposal.proofs, proposal.lower)
    if problem.decision.kind != "probabilities":
        weak = proposal.known & ~is_exact(lower, upper) & (upper > (1.0 + EXACT) * proposal.radius)
        find_inside(proposal.task, problem, np.flatnonzero(weak), upper, witness)
    certificates = find_emptiness(problem, np.isinf(upper) & ~is_settled(lower, upper, within))
    lower = np.where(infinite(problem, certificates), np.inf, lower) if certificates else lower
    settled = is_settled(lower, upper, within)
    ended = [_why(*line) for line in zip(settled, upper, proposal.known, proposal.ended, strict=True)]
    return Answer(np.minimum(lower, upper), upper, witness, ended, proposal.proofs, certificates)


def _why(settled: bool, upper: float, known: bool, ended: str) -> str:
    if settled:
        return ""
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
    nearer = other.upper < found.upper[points]
    found.upper[points[nearer]], found.witness[points[nearer]] = other.upper[nearer], other.witness[nearer]
    for i in points[is_settled(found.lower[points], found.upper[points], within)]:
        found.ended[i] = ""
