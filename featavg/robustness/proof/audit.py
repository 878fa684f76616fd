"""The same proofs decided in ball arithmetic of any precision: slow, plain, and no arithmetic shared with the checker.

Every number is an arb ball around the exact one (python-flint); a bound is the lower end of the ball that the rules end
with. Why a rule holds is written beside its twin in the checker: regions.py, intervals.py, halfspace.py, caps.py.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from featavg.arrays import Bools
from featavg.errors import InputError
from featavg.robustness.proof.audit_place import Place
from featavg.robustness.proof.audit_tree import AuditedTree, row_signs
from featavg.robustness.proof.format import Decision, Floats, Problem, Proofs, well_formed


def audit(problem: Problem, proofs: Proofs, precision: int = 128) -> Floats:
    """What the proofs prove, in balls of `precision` bits: (point,)."""
    flint = _flint()
    lower = np.zeros(len(problem.x))
    if well_formed(proofs):
        with _precision(flint, precision):
            for point in range(len(problem.x)):
                lower[point] = _audit_point(problem, proofs, point, flint)
    return lower


def _flint() -> Any:
    try:
        import flint
    except ImportError:
        raise InputError("the audit needs python-flint: pip install 'featavg[audit]'") from None
    return flint


@contextmanager
def _precision(flint: Any, bits: int) -> Iterator[None]:
    before, flint.ctx.prec = flint.ctx.prec, bits
    try:
        yield
    finally:
        flint.ctx.prec = before


def _audit_point(problem: Problem, proofs: Proofs, point: int, flint: Any) -> float:
    label, needed = int(problem.labels[point]), set[int]()
    for rival in _rivals(problem.decision, int(problem.labels[point]), len(problem.neurons.constants)):
        if problem.target is None or problem.target[point] == rival:
            needed.add(rival)
    if problem.target is not None and not needed:
        return 0.0
    desk = Place(problem, point, flint)
    best = dict.fromkeys(needed, 0.0)
    for tree in np.flatnonzero(proofs.point == point).tolist():
        rival = int(proofs.rival[tree])
        curved = int(proofs.curve_start[tree + 1] - proofs.curve_start[tree]) in (0, len(problem.neurons.biases))
        if rival in best and curved and _well_shaped(proofs, tree, len(problem.neurons.biases)):
            best[rival] = max(best[rival], AuditedTree(desk, proofs, label, rival).value(tree))
    least = min(best.values(), default=math.inf)
    return math.inf if least >= desk.farthest() else least


def audit_witness(problem: Problem, witness: Floats, upper: Floats, precision: int = 128) -> Bools:
    """Whether each witness is fooled, in the box and no farther than `upper`, where that is finite: (point,)."""
    flint = _flint()
    shown = upper == math.inf
    for i in np.flatnonzero(~shown).tolist():
        inside = bool(np.isfinite(witness[i]).all())
        if problem.low is not None and problem.high is not None:
            inside = inside and bool(((problem.low <= witness[i]) & (witness[i] <= problem.high)).all())
        # Ties are decided as soon as the precision makes every product exact.
        for bits in (precision, 8 * precision, 64 * precision):
            if inside and not shown[i]:
                with _precision(flint, bits):
                    place = Place(problem._replace(x=witness), i, flint)
                    near = _is_within(flint, problem, witness[i], i, float(upper[i]))
                    shown[i] = near and _is_fooled(problem, place, i)
    return shown


def _is_within(flint: Any, problem: Problem, witness: Floats, point: int, upper: float) -> bool:
    moved = [flint.arb(u) - flint.arb(x) for u, x in zip(witness.tolist(), problem.x[point].tolist(), strict=True)]
    if problem.norm == "linf":
        return all(abs(step) <= upper for step in moved)
    return bool(sum((step * step for step in moved), start=flint.arb(0)) <= flint.arb(upper) * flint.arb(upper))


def _is_dominated(own: list[Any], other: list[Any]) -> bool:
    """Whether each own output has one of the other's to itself that is certainly no smaller: for ties."""
    left = sorted(other, key=float)
    for f in sorted(own, key=float):
        k = next((k for k, g in enumerate(left) if f <= g), None)
        if k is None:
            return False
        del left[k]
    return True


def _is_fooled(problem: Problem, place: Place, point: int) -> bool:
    label, zero = int(problem.labels[point]), place.flint.arb(0)
    hidden = [z.max(zero) for z in place.z0]
    outputs = [
        c + sum((a * z for a, z in zip(row, hidden, strict=True)), start=zero)
        for row, c in zip(place.outputs, place.constants, strict=True)
    ]
    for rival in _rivals(problem.decision, label, len(outputs)):
        if problem.target is not None and problem.target[point] != rival:
            continue
        signs = row_signs(problem.decision, label, rival, len(outputs))
        if problem.decision.kind == "probabilities":
            own, other = ([f for f, s in zip(outputs, signs[0], strict=True) if s == side] for side in (1, -1))
            margins = [sum((f.exp() for f in own), start=zero) - sum((f.exp() for f in other), start=zero)]
            if _is_dominated(own, other):
                return True
        else:
            margins = [sum((s * f for s, f in zip(row, outputs, strict=True)), start=zero) for row in signs]
        if all(margin <= 0 for margin in margins):
            return True
    return False


def _rivals(decision: Decision, label: int, outputs: int) -> list[int]:
    if decision.kind == "sign":
        return [0]
    if decision.kind == "argmax":
        return [o for o in range(outputs) if o != label]
    if decision.kind == "maximum":
        return [o for o in range(outputs) if decision.class_of[o] != label]
    return sorted({int(group) for group in decision.class_of if group != label})


def _well_shaped(proofs: Proofs, tree: int, neurons: int) -> bool:
    """A tree in preorder whose branches have both sides: `open_sides` are the sides still to come, innermost last."""
    first, last = int(proofs.first_node[tree]), int(proofs.first_node[tree + 1])
    if first == last or (proofs.depth[first], proofs.neuron[first], proofs.side[first]) != (0, -1, 0):
        return False
    open_sides: list[tuple[int, int, float, int]] = []
    for node in range(first + 1, last):
        depth, neuron, side = int(proofs.depth[node]), int(proofs.neuron[node]), int(proofs.side[node])
        threshold = float(proofs.threshold[node])
        if not 0 <= neuron < neurons or side not in (-1, 1) or not math.isfinite(threshold):
            return False
        if depth == proofs.depth[node - 1] + 1:
            open_sides.append((depth, neuron, threshold, -side))
        elif not open_sides or open_sides.pop() != (depth, neuron, threshold, side):
            return False
    return not open_sides
