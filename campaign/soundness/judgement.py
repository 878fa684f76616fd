"""An answer held against the truth: everything that is wrong with it, by name."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from campaign.soundness.problem import Problem
from campaign.soundness.product import Answer
from campaign.soundness.rationals import distance, fooled, in_box
from campaign.soundness.truth import Truth

GAP = 1.001e-6  # relative; "exact" means that upper and lower agree to 1e-6
STEPS = 8.0  # of the float64 lattice: no witness can be placed more finely
FAULTS = (
    "lower above the truth",
    "upper below the truth",
    "lower above upper",
    "not verified",
    "not verified by the audit",
    "witness not fooled",
    "witness outside the box",
    "witness farther than upper",
    "traceback",
    "refused",
)


@dataclass(frozen=True)
class Verdict:
    """What is wrong with an answer, and how tight it is."""

    faults: tuple[str, ...]
    is_closed: bool  # upper and lower agree to 1e-6
    is_closed_as_floats_go: bool  # or to a few steps of the float64 lattice at the witness
    excess: float  # by how much, relatively, a bound is on the wrong side of the truth


def judged(problem: Problem, answer: Answer, truth: Truth, is_fooled: Callable[..., bool] = fooled) -> Verdict:
    """Return everything that is wrong with an answer; `is_fooled(problem, point)` decides about the witness."""
    if answer.error or answer.refusal:
        return Verdict(("traceback" if answer.error else "refused",), False, False, 0.0)
    lower, upper = answer.lower, answer.upper
    wrong = {
        "lower above the truth": math.isnan(lower) or truth.refutes_lower(lower),
        "upper below the truth": truth.refutes_upper(upper),
        "lower above upper": lower > upper,
        "not verified": not answer.is_verified,
        "not verified by the audit": answer.is_audited is False,
        **witness_faults(problem, answer.witness, upper, is_fooled),
    }
    step = STEPS * math.ulp(max(map(abs, problem.x)) + (upper if math.isfinite(upper) else 0.0))
    gap = 0.0 if lower == upper else upper - lower
    return Verdict(
        faults=tuple(fault for fault in FAULTS if wrong.get(fault, False)),
        is_closed=gap <= GAP * upper and (gap < math.inf),
        is_closed_as_floats_go=gap <= GAP * upper + step and (gap < math.inf),
        excess=_excess(lower, upper, truth),
    )


def witness_faults(
    problem: Problem, witness: Sequence[float], upper: float, is_fooled: Callable[..., bool]
) -> dict[str, bool]:
    """A finite upper bound is the distance of a fooled point in the box; all of it decided exactly."""
    if not math.isfinite(upper):
        return {}
    if not all(map(math.isfinite, witness)):
        return {"witness not fooled": True}
    size = distance(problem, witness)
    return {
        "witness not fooled": not is_fooled(problem, witness),
        "witness outside the box": not in_box(problem, witness),
        "witness farther than upper": Truth(problem.norm, size, size).refutes_upper(upper),
    }


def _excess(lower: float, upper: float, truth: Truth) -> float:
    """The larger of lower / truth − 1 and truth / upper − 1, as far as floats show it; ∞ where one side is 0 or ∞."""
    worst = 0.0
    radius = truth.radius
    for small, large, is_wrong in (
        (radius, lower, truth.refutes_lower(lower)),
        (upper, radius, truth.refutes_upper(upper)),
    ):
        if is_wrong:
            is_ratio = small > 0 and math.isfinite(large)
            worst = max(worst, large / small - 1 if is_ratio else math.inf)
    return worst
