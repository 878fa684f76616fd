"""Summed probabilities: the radius enclosed by branch and bound over polygons, in ball arithmetic.

On a cell every output is affine, so log Σ exp f is convex, for the own group as for the others. For any distribution p
and any weights q, own ≥ ⟨p, f⟩ + entropy(p), and others − ⟨q, f⟩ is greatest at a corner of a polygon. So all fooled
points of a polygon lie in the half-plane ⟨p, f⟩ + entropy(p) − ⟨q, f⟩ − (that greatest value) ≤ 0, which cuts it down.
Corners and half-planes are rational; only exp and log need enclosures.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count

from flint import arb, ctx, fmpq

from campaign.soundness.nearest import Constraint
from campaign.soundness.polygons import Polygon, halves, kept, nearest_corner_or_edge, rectangle
from campaign.soundness.problem import Problem
from campaign.soundness.rationals import (
    ZERO,
    ExactNetwork,
    Rationals,
    dot,
    exact_network,
    groups,
    length,
    rational,
    rationals,
    value,
)
from campaign.soundness.truth import Truth, rounded

DIGITS = 1e-4  # relative width at which an enclosure is narrow enough
POLYGONS = 150  # that one horizon may cost
HORIZONS = 12
WIDER = 16
OVERSHOOT = tuple(rational(more) for more in (1.00001, 1.01, 2.0))
TINY = fmpq(1) / fmpq(2) ** 1000
ctx.prec = 128


@dataclass(frozen=True)
class Piece:
    """The outputs on one cell: f_i(δ) = ⟨slope_i, δ⟩ + level_i."""

    slopes: tuple[Rationals, ...]
    levels: Rationals

    def outputs(self, delta: Rationals) -> list[fmpq]:
        """f(δ): (output,)."""
        return [dot(slope, delta) + level for slope, level in zip(self.slopes, self.levels, strict=True)]


def log_sum_exp(values: Sequence[fmpq]) -> tuple[fmpq, arb]:
    """log Σ exp v as max v + a ball."""
    top = max(values)
    return top, sum((arb(v - top).exp() for v in values), arb(0)).log()


def softmax(values: Sequence[fmpq]) -> Rationals:
    """A rational distribution near exp v / Σ exp v."""
    top = max(values)
    shares = [rational(math.exp(rounded(v - top))) for v in values]
    return tuple(share / sum(shares, ZERO) for share in shares)


def lowest(ball: arb) -> fmpq:
    """A rational below a ball, at most 2^-1000 below its lower end."""
    mantissa, exponent = ball.lower().man_exp()
    if exponent < -5000:  # what is left of exp(−1e100) has an exponent of a hundred digits
        return -TINY if mantissa < 0 else ZERO
    return fmpq(mantissa) * fmpq(2) ** int(exponent)


def pooled_margin(problem: Problem, point: Sequence[fmpq], network: ExactNetwork | None = None) -> arb:
    """The margin of summed probabilities at a rational point, enclosed."""
    network = network or exact_network(problem)
    active = [max(z, ZERO) for z in network.hidden(tuple(point))]
    outputs = [value(row, active) for row in network.outputs]
    own, others = groups(problem)
    (top, ball), (other_top, other_ball) = (log_sum_exp([outputs[i] for i in side]) for side in (own, others))
    return arb(top - other_top) + (ball - other_ball)


def pooled_fooled(problem: Problem, point: Sequence[float]) -> bool:
    """Whether a float64 point may be fooled: False only if its margin is certainly positive."""
    return not bool(pooled_margin(problem, rationals(point)) > 0)


def pooled_radius(problem: Problem) -> Truth:
    """Return an enclosure of the radius, at best 1e-4 wide; ∞ is shown only within a box.

    >>> problem = Problem("by hand", ((1.0,),), (0.0,), ((1.0,), (0.0,)), (0.0, 0.0), (3.0,), 1,
    ...                   "summed-probabilities", "l2", (1, -1))
    >>> round(pooled_radius(problem).radius, 3)
    3.0
    """
    x = rationals(problem.x)
    if bool(pooled_margin(problem, x) <= 0):
        return Truth(problem.norm, ZERO, ZERO)
    reach = rational((1.0 + max(map(abs, problem.x))) / WIDER)
    low = ZERO
    for _ in range(HORIZONS):
        domain, is_whole = _domain(problem, x, reach)
        search = _Search(problem, x, exact_network(problem), domain[0], domain[len(x)])
        inside = search.enclosed(domain)
        if is_whole:
            return Truth(problem.norm, inside, search.high)
        low = length((reach,), problem.norm)  # beyond the corners of a square there may be nearer points than in them
        if search.is_tired or (search.high is not None and search.high <= low):
            return Truth(problem.norm, low if inside is None else min(inside, low), search.high)
        reach *= WIDER
    return Truth(problem.norm, low, None)


def _domain(problem: Problem, x: Rationals, reach: fmpq) -> tuple[Polygon, bool]:
    """[−reach, reach] within the box, and whether that is the whole box."""
    low, high = problem.box or ((-math.inf,) * len(x), (math.inf,) * len(x))
    down = [rational(end) - centre if math.isfinite(end) else None for end, centre in zip(low, x, strict=True)]
    up = [rational(end) - centre if math.isfinite(end) else None for end, centre in zip(high, x, strict=True)]
    is_whole = all(end is not None and -reach <= end <= reach for end in (*down, *up))
    lows = [-reach if end is None else max(end, -reach) for end in down]
    highs = [reach if end is None else min(end, reach) for end in up]
    return rectangle(lows, highs), is_whole


@dataclass
class _Search:
    problem: Problem
    x: Rationals
    network: ExactNetwork
    low_end: Rationals  # corners of the domain
    high_end: Rationals
    high: fmpq | None = None  # the nearest fooled point known
    is_tired: bool = False
    ticket: count[int] = field(default_factory=count)

    def enclosed(self, domain: Polygon) -> fmpq | None:
        """Search the domain, set `high`, and return what lies below every fooled point in it (None: there is none)."""
        norm = self.problem.norm
        heap = [(ZERO, next(self.ticket), polygon, piece) for polygon, piece in self._cells(domain)]
        narrow = (1 - rational(DIGITS)) ** (2 if norm == "l2" else 1)
        for _ in range(POLYGONS):
            if not heap:
                return self.high
            size, _, polygon, piece = heapq.heappop(heap)
            if self.high is not None and size >= narrow * self.high:
                return min(size, self.high)
            for half in halves(polygon):
                left = self._cut_down(half, piece)
                if left is not None:
                    nearest = nearest_corner_or_edge(left, norm)
                    self._try((nearest, *self._beyond(nearest, piece), *left))
                    heapq.heappush(heap, (length(nearest, norm), next(self.ticket), left, piece))
        self.is_tired = True
        return min((size for size, *_ in heap), default=self.high)

    def _cells(self, domain: Polygon) -> list[tuple[Polygon, Piece]]:
        """The cells of the arrangement of kinks within the domain, with the outputs on each."""
        cells: list[tuple[Polygon, list[int]]] = [(domain, [])]
        hidden = self.network.hidden(self.x)
        for neuron, (weights, level) in enumerate(zip(self.network.weights, hidden, strict=True)):
            off, on = Constraint(weights, level), Constraint(tuple(-w for w in weights), -level)
            parted = []
            for polygon, active in cells:
                parted += [(part, active)] if (part := kept(polygon, off)) is not None else []
                parted += [(part, [*active, neuron])] if (part := kept(polygon, on)) is not None else []
            cells = parted
        return [(polygon, self._piece(active, hidden)) for polygon, active in cells]

    def _piece(self, active: Sequence[int], hidden: Sequence[fmpq]) -> Piece:
        weights, outputs = self.network.weights, self.network.outputs
        slopes = [
            tuple(sum((row.coefficients[j] * weights[j][k] for j in active), ZERO) for k in range(len(self.x)))
            for row in outputs
        ]
        levels = [sum((row.coefficients[j] * hidden[j] for j in active), row.constant) for row in outputs]
        return Piece(tuple(slopes), tuple(levels))

    def _cut_down(self, polygon: Polygon, piece: Piece) -> Polygon | None:
        """What a half-plane that holds all fooled points leaves of a polygon."""
        own, others = groups(self.problem)
        middle = tuple(sum(column, ZERO) / len(polygon) for column in zip(*polygon, strict=True))
        at_middle = piece.outputs(middle)
        p, q = softmax([at_middle[i] for i in own]), softmax([at_middle[r] for r in others])
        entropy = sum((-arb(share) * arb(share).log() for share in p if share > 0), arb(0))
        weights = [*zip(own, p, strict=True), *((r, -share) for r, share in zip(others, q, strict=True))]
        normal = tuple(sum((w * piece.slopes[i][k] for i, w in weights), ZERO) for k in range(len(self.x)))
        level = sum((w * piece.levels[i] for i, w in weights), ZERO) + lowest(entropy)
        surplus = []
        for corner in polygon:
            outputs = [piece.outputs(corner)[r] for r in others]
            top, ball = log_sum_exp(outputs)
            surplus.append(top - dot(q, outputs) - lowest(-ball))
        return _inside(polygon, Constraint(normal, level - max(surplus)))

    def _try(self, points: Sequence[Rationals]) -> None:
        """Take the nearest of the points that are certainly fooled, if nearer than any known."""
        for point in points:
            size = length(point, self.problem.norm)
            if self.high is None or size < self.high:
                moved = [a + b for a, b in zip(self.x, point, strict=True)]
                if bool(pooled_margin(self.problem, moved, self.network) <= 0):
                    self.high = size

    def _beyond(self, near: Rationals, piece: Piece) -> list[Rationals]:
        """Points a little farther than `near` down the slope of the margin, clipped to the domain."""
        own, others = groups(self.problem)
        outputs = piece.outputs(near)
        (top, ball), (other_top, other_ball) = (log_sum_exp([outputs[i] for i in side]) for side in (own, others))
        margin = (top - other_top) + lowest(ball - other_ball)
        signed = [(side, sign, softmax([outputs[i] for i in side])) for side, sign in ((own, 1), (others, -1))]
        slope = [
            sum(
                (s * w * piece.slopes[i][k] for side, s, share in signed for i, w in zip(side, share, strict=True)),
                ZERO,
            )
            for k in range(len(near))
        ]
        way = slope if self.problem.norm == "l2" else [fmpq((g > 0) - (g < 0)) for g in slope]
        speed = dot(slope, way)
        if speed == 0 or margin < 0:
            return []
        moved = [tuple(d - more * margin / speed * w for d, w in zip(near, way, strict=True)) for more in OVERSHOOT]
        return [tuple(map(_shortened, map(min, map(max, step, self.low_end), self.high_end))) for step in moved]


def _inside(polygon: Polygon, side: Constraint) -> Polygon | None:
    """Like `kept`, but a polygon that only touches the half-plane stays as it is: the rim may hold fooled points."""
    if all(dot(side.normal, corner) + side.offset > 0 for corner in polygon):
        return None
    return kept(polygon, side) or polygon


def _shortened(number: fmpq) -> fmpq:
    near = rounded(number)
    return rational(near) if math.isfinite(near) else number
