"""Certificates in rationals, for radii that are infinite and for networks whose digits cancel in floats.

A tree of branches z_j <= 0 and z_j >= 0; every leaf has λ >= 0 and θ. With a = λᵀA and c = λᵀc of the rival's rows

    a_j ReLU(z_j) >= θ_j z_j    where z_j >= 0 if θ_j <= a_j,  where z_j <= 0 if θ_j >= 0,  anywhere if 0 <= θ_j <= a_j,

so that G >= ⟨h,u⟩ + θ·b + c at every point u, with h = Wᵀθ: the fooled points of a leaf lie in a half-space, and none
is closer to x than the nearest point that half-space and box have in common (`distance`), ∞ if they have none. Without
a box that means h = 0. Multipliers do not depend on x, so a certificate speaks of all points with its label. Nothing
here is rounded. Probabilities have no rows, but these hold wherever they are fooled (`exact_rows`): with r the largest
of the rival's n outputs, logsumexp <= f_r + log n there, and over any s of the own outputs logsumexp >= their mean
+ log s.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations, zip_longest
from typing import Any, NamedTuple

import numpy as np

from featavg.arrays import Bools
from featavg.robustness.proof.arithmetic import LARGEST
from featavg.robustness.proof.format import Decision, Floats, Problem
from featavg.robustness.proof.regions import rivals, rows

Rationals = Mapping[int, Fraction]
ZERO = Fraction(0)
MOST_LEAVES, MOST_PAIRED = 2**14, 4


class Leaf(NamedTuple):
    """λ by row and θ by neuron; entries that are not there are 0."""

    mix: Rationals
    theta: Rationals


class Branch(NamedTuple):
    """Both sides of one neuron: z <= 0, then z >= 0."""

    neuron: int
    off: Branch | Leaf
    on: Branch | Leaf


class Certificate(NamedTuple):
    """How near, if at all, points with this label are fooled by this rival."""

    label: int
    rival: int
    tree: Branch | Leaf


class Side(NamedTuple):
    """The half-space ⟨normal,u⟩ + offset <= 0."""

    normal: list[Fraction]  # (axis,)
    offset: Fraction


def certified(problem: Problem, certificates: Sequence[Certificate]) -> Floats:
    """How near the nearest fooled point is at least, rounded down: (point,); 0 where a rival has no certificate.

    >>> from featavg.robustness.proof.format import Decision, Neurons
    >>> neurons = Neurons(np.eye(1), np.zeros(1), np.eye(1), -np.ones(1))
    >>> problem = Problem(neurons, np.array([[3.0]]), np.array([1]), Decision("sign", np.zeros(1, dtype=np.int64)))
    >>> certified(problem, [Certificate(1, 0, Leaf({0: Fraction(1)}, {0: Fraction(1)}))])
    array([2.])
    """
    known: dict[tuple[int, int], list[list[Side]]] = {}
    for each in certificates:
        if (sides := half_spaces(problem, each)) is not None:
            known.setdefault((each.label, each.rival), []).append(sides)
    low, high = _ends(problem)
    result = np.zeros(len(problem.x))
    for i, label in enumerate(problem.labels.tolist()):
        these = needed(problem, i)
        if any((label, rival) not in known for rival in these) or not (these or problem.target is None):
            continue
        x = [Fraction(value) for value in problem.x[i].tolist()]
        room = [(_less(a, b), _less(b, c)) for a, b, c in zip(low, x, high, strict=True)]
        nearest = [
            max(min((distance(side, x, room, problem.norm) for side in sides), default=math.inf) for sides in choice)
            for choice in (known[label, rival] for rival in these)
        ]
        result[i] = min(nearest, default=math.inf)
    return result


def infinite(problem: Problem, certificates: Sequence[Certificate]) -> Bools:
    """Whether every rival of a point's label is proved to be reached nowhere: (point,)."""
    return certified(problem, certificates) == np.inf


def distance(side: Side, x: Sequence[Fraction], room: Sequence[tuple[Any, Any]], norm: str) -> float:
    """The distance of x from half-space ∩ box, rounded down; `room` is x − low and high − x on every axis, or None.

    The nearest δ moves every axis against its h_i, by min(t|h_i|, room) in ℓ2 and min(t, room) in ℓ∞, for the least t
    with β = Σ_i |h_i| |δ_i|; ∞ if all the room is not enough.
    """
    missing = side.offset + _sum(h * u for h, u in zip(side.normal, x, strict=True) if h)
    if missing <= 0:
        return 0.0
    # Axes by the t at which their room ends.
    pulled = [(abs(h), r[0] if h > 0 else r[1]) for h, r in zip(side.normal, room, strict=True) if h]
    speeds = [size if norm == "l2" else Fraction(1) for size, _ in pulled]
    stops = [None if end is None else end / speed for (_, end), speed in zip(pulled, speeds, strict=True)]
    order = sorted(range(len(pulled)), key=lambda k: (stops[k] is None, stops[k] or ZERO))
    gain = _sum(pulled[k][0] * speeds[k] for k in order)
    square = ZERO
    for k in order:
        stop = stops[k]
        if stop is None or missing <= gain * stop:
            break
        missing -= pulled[k][0] * pulled[k][1]
        gain -= pulled[k][0] * speeds[k]
        square += pulled[k][1] ** 2
    if gain == 0:
        return math.inf
    t = missing / gain
    return floor_of(t) if norm == "linf" else root_floor(square + t * t * gain)


def floor_of(number: Fraction) -> float:
    """The largest float that is not above a number >= 0.

    >>> floor_of(Fraction(1, 3)) <= Fraction(1, 3) < floor_of(Fraction(1, 3)) + 2.0**-54
    True
    """
    try:
        near = float(number)
    except OverflowError:
        return LARGEST
    return near if near <= number else math.nextafter(near, 0.0)


def root_floor(square: Fraction) -> float:
    """A float not above √square, by less than one part in 2⁵²: the integer root of 2^2k·square, 2^-k of it.

    >>> root_floor(Fraction(2)) ** 2 < 2 < math.nextafter(root_floor(Fraction(2)), 2.0) ** 2
    True
    """
    k = 64 - (square.numerator.bit_length() - square.denominator.bit_length()) // 2
    scaled = square * Fraction(4) ** k
    return floor_of(math.isqrt(scaled.numerator // scaled.denominator) / Fraction(2) ** k)


def needed(problem: Problem, point: int) -> list[int]:
    """The rivals that must be excluded at a point."""
    label = int(problem.labels[point])
    these = rivals_in_rows(problem, label)
    if problem.target is None:
        return these
    group = problem.decision.class_of if problem.decision.kind == "probabilities" else range(max(these, default=0) + 1)
    return [rival for rival in these if group[rival] == problem.target[point]]


def exact_rows(problem: Problem, label: int, rival: int) -> ExactRows:
    """The rows of a rival; for probabilities those of `maximum`, and means over pairs and over all of the own outputs.

    Means over pairs are there for up to four outputs. Logarithms are rounded by two floats so that rows still hold.
    """
    outputs = len(problem.neurons.constants)
    if problem.decision.kind != "probabilities":
        return ExactRows(problem, rows(problem.decision, label, rival, outputs).tolist())
    class_of = problem.decision.class_of
    members = np.flatnonzero(class_of == class_of[rival])
    lost = math.log(len(members))
    lost = math.nextafter(math.nextafter(lost, math.inf), math.inf) if lost else 0.0
    own = np.flatnonzero(class_of == label).tolist()
    chosen = [(o,) for o in own] + [tuple(own)][: len(own) > 1]
    chosen += list(combinations(own, 2)) if 2 < len(own) <= MOST_PAIRED else []
    signs, levels = [], []
    for each in chosen:
        won = math.log(len(each))
        won = math.nextafter(math.nextafter(won, 0.0), 0.0) if won else 0.0
        signs.append([Fraction(o in each, len(each)) - (o == rival) for o in range(outputs)])
        levels.append(Fraction(won) - Fraction(lost))
    return ExactRows(problem, signs, levels)


def rivals_in_rows(problem: Problem, label: int) -> list[int]:
    """The rivals that certificates speak of: for probabilities the outputs of other groups."""
    kind, class_of = problem.decision
    decision = Decision("maximum" if kind == "probabilities" else kind, class_of)
    these: list[int] = rivals(decision, label, len(problem.neurons.constants)).tolist()
    return these


def half_spaces(problem: Problem, certificate: Certificate) -> list[Side] | None:
    """The half-spaces of all leaves, without those that the box misses; None if a leaf does not hold.

    Every branch has both its sides by construction.
    """
    label, rival, tree = certificate
    if rival not in rivals_in_rows(problem, label):
        return None
    exact = exact_rows(problem, label, rival)
    found: list[Side] = []
    waiting: list[tuple[Branch | Leaf, dict[int, int]]] = [(tree, {})]
    while waiting:
        node, sides = waiting.pop()
        if isinstance(node, Leaf):
            if not exact.allows(node, sides):
                return None
            side = exact.side(node)
            found += [] if exact.misses(side) else [side]
        elif not 0 <= node.neuron < exact.neurons or len(waiting) + len(found) > MOST_LEAVES:
            return None
        else:
            waiting += [(node.off, {**sides, node.neuron: -1}), (node.on, {**sides, node.neuron: 1})]
    return found


class ExactRows:
    """The network in rationals, its last layer as the rows of one rival: Σ_o signs_io f_o + levels_i."""

    def __init__(self, problem: Problem, signs: Sequence[Sequence[Any]], levels: Sequence[Fraction] = ()) -> None:
        self.neurons, self.axes = problem.neurons.weights.shape
        self.weights = problem.neurons.weights
        self.biases = [Fraction(b) for b in problem.neurons.biases.tolist()]
        outputs = problem.neurons.outputs.tolist()
        self.rows = [
            [_sum(s * Fraction(f[j]) for s, f in zip(row, outputs, strict=True) if s) for j in range(self.neurons)]
            for row in signs
        ]
        constants = problem.neurons.constants.tolist()
        self.constants = [_sum(s * Fraction(c) for s, c in zip(row, constants, strict=True) if s) for row in signs]
        self.constants = [c + level for c, level in zip_longest(self.constants, levels, fillvalue=ZERO)]
        self.low, self.high = _ends(problem)

    def holds(self, leaf: Leaf, sides: Mapping[int, int]) -> bool:
        """Whether nothing is fooled on these sides of the branches."""
        return self.allows(leaf, sides) and self.misses(self.side(leaf))

    def allows(self, leaf: Leaf, sides: Mapping[int, int]) -> bool:
        """The inequalities of the module's first lines: a_j ReLU(z_j) >= θ_j z_j on these sides, and λ >= 0."""
        if any(not 0 <= i < len(self.rows) or value < 0 for i, value in leaf.mix.items()):
            return False
        if any(not 0 <= j < self.neurons for j in leaf.theta):
            return False
        for j in range(self.neurons):
            a = _sum(value * self.rows[i][j] for i, value in leaf.mix.items())
            theta, side = leaf.theta.get(j, ZERO), sides.get(j, 0)
            if (side >= 0 and theta > a) or (side <= 0 and theta < 0):
                return False
        return True

    def side(self, leaf: Leaf) -> Side:
        """⟨h,u⟩ + θ·b + c <= 0."""
        offset = _sum(value * self.constants[i] for i, value in leaf.mix.items())
        offset += _sum(value * self.biases[j] for j, value in leaf.theta.items())
        return Side(self.normal(leaf.theta), offset)

    def misses(self, side: Side) -> bool:
        """Whether half-space and box have no point in common: Σ_i min(h_i low_i, h_i high_i) + offset > 0."""
        total = side.offset
        for h, low, high in zip(side.normal, self.low, self.high, strict=True):
            end = low if h > 0 else high
            if h != 0 and end is None:
                return False
            total += h * end if h != 0 else 0
        return total > 0

    def normal(self, theta: Rationals) -> list[Fraction]:
        """h = Wᵀθ."""
        used = [(value, self.weights[j].tolist()) for j, value in theta.items() if value]
        return [_sum(value * Fraction(w[i]) for value, w in used if w[i]) for i in range(self.axes)]


def _sum(terms: Any) -> Fraction:
    return sum(terms, start=ZERO)


def _ends(problem: Problem) -> tuple[list[Any], list[Any]]:
    """Both sides of the box, None where it is open."""
    free = [None] * problem.x.shape[1]
    low, high = (free if end is None else [_end(v) for v in end.tolist()] for end in (problem.low, problem.high))
    return low, high


def _end(value: float) -> Fraction | None:
    return Fraction(value) if np.isfinite(value) else None


def _less(low: Any, high: Any) -> Any:
    """high − low, None where one of them is."""
    return None if low is None or high is None else high - low
