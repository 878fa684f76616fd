"""Small networks that floats leave open: the nearest fooled point in rationals, and the certificate that it is one.

A tree over the signs of the neurons that a row subtracts. Where they are fixed the fooled points are a convex set,
whose rows are written piece by piece; a node whose signs alone lead as far as the limit needs no more of them.
"""

from __future__ import annotations

import time
from fractions import Fraction
from typing import NamedTuple

from featavg.robustness.proof import Certificate, Problem
from featavg.robustness.proof.certificates import Branch, Leaf, exact_rows, needed
from featavg.robustness.search.rational_nearest import ONE, ZERO, Corner, Piece, Stuck, Vector, dot, nearest, size_of
from featavg.robustness.search.rational_nearest import start as origin

# Neurons, axes and rows of a network that is small.
SMALL = 24
Sides = dict[int, int]  # −1 off, +1 on, by neuron


class Found(NamedTuple):
    """The nearest fooled point, if one is nearer than the limit, and certificates that none is nearer."""

    delta: Vector | None  # (axis,)
    cell: Cell | None  # of the rival that it belongs to
    certificates: list[Certificate]


def exactly(problem: Problem, point: int, upper: float, deadline: float) -> Found | None:
    """The nearest fooled point of one point, if it is nearer than `upper`; None if that takes too long (CPU time)."""
    if sum(problem.neurons.weights.shape) >= SMALL:
        return None
    label, norm = int(problem.labels[point]), problem.norm
    limit = None if upper == float("inf") else Fraction(upper) ** (2 if norm == "l2" else 1)
    certificates, best, cell = [], None, None
    for rival in needed(problem, point):
        here = Cell(problem, point, label, rival)
        if len(here.exact.rows) + here.exact.neurons + here.exact.axes > SMALL:
            return None
        search = _Search(here, limit, deadline)
        try:
            tree = search.tree({}, origin(here.exact.axes, norm))
        except Stuck:
            return None
        certificates.append(Certificate(label, rival, tree))
        if search.best is not None:
            best, cell, limit = search.best, here, search.limit
    return Found(best, cell, certificates)


class Cell:
    """One rival's set seen from one point, in rationals."""

    def __init__(self, problem: Problem, point: int, label: int, rival: int) -> None:
        self.norm = problem.norm
        self.exact = exact_rows(problem, label, rival)
        self.x = tuple(Fraction(value) for value in problem.x[point].tolist())
        self.weights = [tuple(Fraction(w) for w in row) for row in self.exact.weights.tolist()]
        self.start = [dot(w, self.x) + b for w, b in zip(self.weights, self.exact.biases, strict=True)]
        self.box = [
            Piece(tuple(Fraction(sign * (axis == k)) for k in range(self.exact.axes)), sign * (x - end), {}, {})
            for axis, x in enumerate(self.x)
            for sign, end in ((-1, self.exact.low[axis]), (1, self.exact.high[axis]))
            if end is not None
        ]

    def hidden(self, delta: Vector) -> list[Fraction]:
        """Pre-activations at x + δ: (neuron,)."""
        return [dot(w, delta) + z for w, z in zip(self.weights, self.start, strict=True)]

    def side(self, neuron: int, side: int, spare: Fraction = ZERO) -> Piece:
        """side·z >= spare."""
        weights, factor = self.weights[neuron], Fraction(-side)
        normal = tuple(factor * w for w in weights)
        return Piece(normal, factor * self.start[neuron] + spare, {}, {neuron: factor})

    def row(self, i: int, on: list[int]) -> Piece:
        """Row i with the neurons `on` alone."""
        row = self.exact.rows[i]
        theta = {j: row[j] for j in on if row[j]}
        normal = tuple(sum((a * self.weights[j][k] for j, a in theta.items()), ZERO) for k in range(self.exact.axes))
        offset = self.exact.constants[i] + sum((a * self.start[j] for j, a in theta.items()), ZERO)
        return Piece(normal, offset, {i: ONE}, theta)


class _Search:
    def __init__(self, cell: Cell, limit: Fraction | None, deadline: float) -> None:
        self.cell, self.limit, self.deadline = cell, limit, deadline
        self.best: Vector | None = None
        exact = cell.exact
        subtracted = [j for j in range(exact.neurons) if any(row[j] < 0 for row in exact.rows)]
        # Far kinks first: most of the space within the limit is on one side of them.
        self.order = sorted(subtracted, key=lambda j: -_far(cell.start[j], cell.weights[j]))

    def tree(self, sides: Sides, corner: Corner) -> Branch | Leaf:
        """Fix the signs of the subtracted neurons, the side of the nearest point first; then ask the rows."""
        if time.process_time() > self.deadline:
            raise Stuck
        cell = self.cell
        fixed = [*cell.box, *(cell.side(j, side) for j, side in sides.items())]
        corner = nearest(corner, cell.norm, self.limit, lambda point: _first(fixed, point))
        left = [j for j in self.order if j not in sides]
        if self._is_far(corner):
            return _leaf(corner)
        if left:
            neuron = left[0]
            first = 1 if dot(cell.weights[neuron], corner.point) + cell.start[neuron] > 0 else -1
            found = {side: self.tree({**sides, neuron: side}, corner) for side in (first, -first)}
            return Branch(neuron, found[-1], found[1])
        corner = nearest(corner, cell.norm, self.limit, lambda point: _first(fixed, point) or self._row(sides, point))
        if not self._is_far(corner):
            self.best, self.limit = corner.point[: cell.exact.axes], size_of(corner, cell.norm)
        return _leaf(corner)

    def _is_far(self, corner: Corner) -> bool:
        return corner.empty or (self.limit is not None and size_of(corner, self.cell.norm) >= self.limit)

    def _row(self, sides: Sides, point: Vector) -> Piece | None:
        """The piece of a row that is violated at a point."""
        hidden = self.cell.hidden(point)
        on = [j for j, z in enumerate(hidden) if (sides[j] > 0 if j in sides else z > 0)]
        return _first([self.cell.row(i, on) for i in range(len(self.cell.exact.rows))], point)


def _far(z: Fraction, weights: Vector) -> Fraction:
    """The squared distance of a kink, −1 if there is none."""
    square = dot(weights, weights)
    return z * z / square if square else Fraction(-1)


def _first(pieces: list[Piece], point: Vector) -> Piece | None:
    return next((piece for piece in pieces if piece.at(point) > 0), None)


def _leaf(corner: Corner) -> Leaf:
    """λ and θ of the multipliers."""
    mix: dict[int, Fraction] = {}
    theta: dict[int, Fraction] = {}
    for piece, weight in zip(corner.held, corner.weights, strict=True):
        for total, part in ((mix, piece.mix), (theta, piece.theta)):
            for k, value in part.items():
                total[k] = total.get(k, ZERO) + weight * value
    return Leaf({i: v for i, v in mix.items() if v}, {j: v for j, v in theta.items() if v})
