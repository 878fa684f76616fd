"""The exact radius in rationals: a tree over the signs of the neurons, the nearest fooled point of every cell.

On a cell {s_j z_j ≥ 0} the network is linear, so the points of a cell at which a rival is reached are a polyhedron.
Nothing of the product is used: no relaxation, no tolerance, no float.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from flint import fmpq

from campaign.soundness.nearest import Constraint, Nearest, at_start
from campaign.soundness.problem import Problem
from campaign.soundness.rationals import (
    ZERO,
    ExactNetwork,
    Rival,
    Row,
    dot,
    exact_network,
    rational,
    rationals,
    reached,
    rivals,
)


@dataclass(frozen=True)
class Truth:
    """Enclosure of the radius: low ≤ radius ≤ high, squared for ℓ2; None is ∞, and both are equal where it is exact."""

    norm: str
    low: fmpq | None
    high: fmpq | None

    def refutes_lower(self, bound: float) -> bool:
        """Whether the radius is certainly below `bound`, or that is no number."""
        if self.high is None or bound <= 0:
            return False
        return not math.isfinite(bound) or self._size(bound) > self.high

    def refutes_upper(self, bound: float) -> bool:
        """Whether the radius is certainly above `bound`, or that is no number."""
        if bound == math.inf:
            return False
        return self.low is None or not bound >= 0 or self._size(bound) < self.low

    def _size(self, bound: float) -> fmpq:
        number = rational(bound)
        return number * number if self.norm == "l2" else number

    @property
    def radius(self) -> float:
        """The upper end as a float, for people to read."""
        if self.high is None:
            return math.inf
        return rounded_root(self.high) if self.norm == "l2" else rounded(self.high)


def rounded(number: fmpq) -> float:
    """The float nearest to a rational, 0 and ±∞ beyond the range of floats."""
    try:
        return int(number.p) / int(number.q)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def rounded_root(square: fmpq) -> float:
    """The root of a rational as a float, to about 1e-15, 0 and ∞ beyond the range of floats."""
    p, q = int(square.p), int(square.q)
    shift = 2 * ((128 - p.bit_length() + q.bit_length()) // 2)
    scaled = math.isqrt((p << shift) // q if shift >= 0 else p // (q << -shift))
    return rounded(fmpq(scaled) / fmpq(2) ** (shift // 2) if shift >= 0 else fmpq(scaled) * fmpq(2) ** (-shift // 2))


def exact_radius(problem: Problem) -> Truth:
    """Return the exact radius of a problem whose read-out is made of rows.

    >>> exact_radius(Problem("by hand", ((3.0, 4.0),), (0.0,), ((1.0,),), (-5.0,), (3.0, 4.0), 1)).low
    16
    """
    found = nearest_fooled(problem)
    size = None if found is None else found.size
    return Truth(problem.norm, size, size)


def nearest_fooled(problem: Problem) -> Nearest | None:
    """Return the nearest step δ from x to a fooled point in the box, None if there is none."""
    network = exact_network(problem)
    x = rationals(problem.x)
    hidden = network.hidden(x)
    ways = rivals(problem, network)
    start = at_start(len(x), problem.norm)
    if reached(ways, hidden):
        return start
    search = _Search(network, hidden, ways)
    search.descend(start, box_constraints(problem), [], _farthest_first(network, hidden))
    return search.best


def box_constraints(problem: Problem) -> list[Constraint]:
    """lo − x ≤ δ ≤ hi − x, the finite ones."""
    if problem.box is None:
        return []
    found = []
    for axis, (low, x, high) in enumerate(zip(problem.box[0], problem.x, problem.box[1], strict=True)):
        for sign, end in ((-1, low), (1, high)):
            if math.isfinite(end):
                normal = tuple(fmpq(sign * (axis == k)) for k in range(len(problem.x)))
                found.append(Constraint(normal, sign * (rational(x) - rational(end))))
    return found


def _farthest_first(network: ExactNetwork, hidden: Sequence[fmpq]) -> list[int]:
    """Neurons by the distance of their kink, so that the first patterns seen are those near x."""

    def kink(neuron: int) -> fmpq:
        squared = dot(network.weights[neuron], network.weights[neuron])
        return -(hidden[neuron] * hidden[neuron]) / squared if squared else fmpq(-1)

    return sorted(range(len(hidden)), key=kink)


@dataclass
class _Search:
    network: ExactNetwork
    hidden: Sequence[fmpq]  # pre-activations at x
    ways: Sequence[Rival]
    best: Nearest | None = None

    @property
    def limit(self) -> fmpq | None:
        return None if self.best is None else self.best.size

    def descend(self, at: Nearest, constraints: list[Constraint], on: list[int], left: list[int]) -> None:
        """Fix the signs of the neurons `left`, the side of the current point first; then ask every rival."""
        start = at.within(constraints, self.limit)
        if start is None:
            return
        if not left:
            for rival in self.ways:
                rows = [self._on_cell(row, on) for row in rival]
                self.best = start.within([*constraints, *rows], self.limit) or self.best
            return
        neuron, rest = left[0], left[1:]
        weights, hidden = self.network.weights[neuron], self.hidden[neuron]
        off_side = Constraint(weights, hidden)
        on_side = Constraint(tuple(-w for w in weights), -hidden)
        is_on = dot(weights, start.delta) + hidden > 0
        for side in (is_on, not is_on):
            sign = on_side if side else off_side
            self.descend(start, [*constraints, sign], [*on, neuron] if side else on, rest)

    def _on_cell(self, row: Row, on: Sequence[int]) -> Constraint:
        """Row ≤ 0 where exactly the neurons `on` are active."""
        weights = self.network.weights
        normal = tuple(
            sum((row.coefficients[j] * weights[j][axis] for j in on), ZERO) for axis in range(len(weights[0]))
        )
        return Constraint(normal, sum((row.coefficients[j] * self.hidden[j] for j in on), row.constant))
