"""From the nearest fooled point in rationals to float64 coordinates that are fooled as well.

Rounding moves coordinate i by at most its spacing e_i, so z_j by at most Σ_i |w_ji| e_i, and a row that is linear
around the point, with gradient h, by at most Σ_i |h_i| e_i: where signs and rows hold with so much to spare, what it is
rounded to is fooled. Where there is no such point, neighbours on the lattice of floats are tried.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np

from featavg.arrays import Array
from featavg.robustness.proof import Problem, witness_distance
from featavg.robustness.proof.format import part
from featavg.robustness.search.exactly import Cell
from featavg.robustness.search.rational_nearest import ZERO, Piece, Stuck, Vector, nearest, start
from featavg.robustness.search.rational_program import nearest_float

# How many spacings are spared, one after the other, until a point is fooled.
SPARED = (1, 2**4, 2**12, 2**24)
# How much farther than the nearest fooled point one on the lattice is sought, how many places are looked at, and how
# many of those are tried.
NEAR, SAMPLES, MOST_TRIED = 9e-7, 2**17, 64
# Signs at kinks that are tried, and axes whose neighbours are.
MOST_SIGNS, MOST_AXES = 16, 4


def on_lattice(alone: Problem, cell: Cell, delta: Vector) -> tuple[float, Array]:
    """The nearest fooled point of float64 found around x + δ: its distance, ∞ if there is none, and coordinates."""
    exact = [x + d for x, d in zip(cell.x, delta, strict=True)]
    if not all(math.isfinite(nearest_float(u)) for u in exact):
        return _nearest_of(alone, [])
    best = _nearest_of(alone, list(_neighbours(exact)))
    for spared in SPARED:
        spacing = [Fraction(spared * math.ulp(nearest_float(u))) for u in exact]
        found = [candidate for signs in _signs(cell, delta) for candidate in _inside(cell, signs, spacing)]
        best = min(best, _nearest_of(alone, found), key=lambda each: each[0])
        if math.isfinite(best[0]):
            return min(best, _nearest_of(alone, _between(cell, delta, exact, best)), key=lambda each: each[0])
    return best


def _between(cell: Cell, delta: Vector, exact: Sequence[Fraction], found: tuple[float, Array]) -> Array:
    """Lattice points on the way from the nearest fooled point to one that is known, as far as they are as good as it.

    A wedge between two kinks may be thinner than the spacing: then few points on the way are rounded to one inside it.
    Which ones is seen in floats, because what matters is the way from the corner of the wedge.
    """
    distance, witness = found
    least = _length(delta, cell.norm)
    share = NEAR * least / (distance - least) if distance > least else 1.0
    near = np.array([nearest_float(u) for u in exact])
    if not share < 1.0:
        return np.zeros((0, len(near)))
    rest = np.array([nearest_float(u - Fraction(n)) for u, n in zip(exact, near.tolist(), strict=True)])
    points = near + share * np.arange(1, SAMPLES + 1)[:, None] / SAMPLES * (witness - near)
    moved, inside = (points - near) - rest, np.zeros(SAMPLES, dtype=np.bool_)
    for signs in _signs(cell, delta):
        pieces = [_in_floats(piece, delta) for piece in _pieces(cell, signs, [ZERO] * len(near))]
        normals, values = np.array([normal for normal, _ in pieces]), np.array([value for _, value in pieces])
        inside |= (moved @ normals.T + values <= 0).all(axis=1)
    return points[inside][:MOST_TRIED]


def _in_floats(piece: Piece, delta: Vector) -> tuple[list[float], float]:
    """Normal and value at δ, divided by the largest of both."""
    value = piece.at(delta)
    size = max(abs(value), *(abs(n) for n in piece.normal)) or Fraction(1)
    return [nearest_float(n / size) for n in piece.normal], nearest_float(value / size)


def _length(delta: Sequence[Fraction], norm: str) -> float:
    sizes = [abs(nearest_float(d)) for d in delta]
    return math.hypot(*sizes) if norm == "l2" else max(sizes)


def _inside(cell: Cell, signs: Sequence[int], spacing: Sequence[Fraction]) -> Iterator[list[float]]:
    """The nearest point with these signs that is fooled wherever within the spacing it is rounded to."""
    together = [*cell.box, *_pieces(cell, signs, spacing)]

    def violated(point: Vector) -> Piece | None:
        return next((piece for piece in together if piece.at(point) > 0), None)

    try:
        corner = nearest(start(cell.exact.axes, cell.norm), cell.norm, None, violated)
    except Stuck:
        return
    if not corner.empty:
        yield [nearest_float(x + d) for x, d in zip(cell.x, corner.point, strict=False)]


def _pieces(cell: Cell, signs: Sequence[int], spacing: Sequence[Fraction]) -> list[Piece]:
    """Signs and rows, with what the spacing needs to spare."""
    on = [j for j, sign in enumerate(signs) if sign > 0]
    sides = [cell.side(j, sign, _moved(cell.weights[j], spacing)) for j, sign in enumerate(signs)]
    rows = [cell.row(i, on) for i in range(len(cell.exact.rows))]
    return [*sides, *(row._replace(offset=row.offset + _moved(row.normal, spacing)) for row in rows)]


def _moved(normal: Vector, spacing: Sequence[Fraction]) -> Fraction:
    return sum((abs(n) * e for n, e in zip(normal, spacing, strict=True)), ZERO)


def _signs(cell: Cell, delta: Vector) -> Iterator[tuple[int, ...]]:
    """The signs of all neurons around a point, both where one is 0 there."""
    choices = [(1, -1) if z == 0 else ((1,) if z > 0 else (-1,)) for z in cell.hidden(delta)]
    return itertools.islice(itertools.product(*choices), MOST_SIGNS)


def _neighbours(point: Sequence[Fraction]) -> Iterator[tuple[float, ...]]:
    """The float nearest to a point and those around it."""
    near = [nearest_float(value) for value in point]
    ways = [[u, math.nextafter(u, math.inf), math.nextafter(u, -math.inf)] for u in near[:MOST_AXES]]
    ways += [[u] for u in near[MOST_AXES:]]
    return itertools.product(*ways)


def _nearest_of(alone: Problem, candidates: Array | Sequence[Sequence[float]]) -> tuple[float, Array]:
    """The nearest of several that is certainly fooled; one point is asked about."""
    axes = alone.x.shape[1]
    points = np.array(candidates, dtype=np.float64).reshape(-1, axes)
    if not len(points):
        return math.inf, np.full(axes, np.nan)
    if alone.low is not None and alone.high is not None:
        points = np.clip(points, alone.low, alone.high)
    many = part(alone, np.zeros(len(points), dtype=np.int64))
    found = witness_distance(many, points)
    nearest_one = int(np.argmin(found))
    return float(found[nearest_one]), points[nearest_one]
