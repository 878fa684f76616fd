"""Convex polygons and segments around 0 with rational corners: cut by a line, nearest point, halves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flint import fmpq

from campaign.soundness.nearest import Constraint
from campaign.soundness.rationals import ZERO, Rationals, dot, length, rational

Polygon = tuple[Rationals, ...]  # corners in order; a segment has two


def rectangle(low: Sequence[fmpq], high: Sequence[fmpq]) -> Polygon:
    """[low, high] in one or two axes."""
    if len(low) == 1:
        return ((low[0],), (high[0],))
    return ((low[0], low[1]), (high[0], low[1]), (high[0], high[1]), (low[0], high[1]))


def kept(polygon: Polygon, side: Constraint) -> Polygon | None:
    """The part with ⟨normal, δ⟩ + offset ≤ 0; None if that is at most the rim of a polygon that lies beyond.

    >>> square = rectangle((fmpq(0), fmpq(0)), (fmpq(2), fmpq(2)))
    >>> kept(square, Constraint((fmpq(1), fmpq(0)), fmpq(-1)))
    ((0, 0), (1, 0), (1, 2), (0, 2))
    """
    values = [dot(side.normal, corner) + side.offset for corner in polygon]
    if all(value >= 0 for value in values) and any(value > 0 for value in values):
        return None
    corners: list[Rationals] = []
    for k, (corner, value) in enumerate(zip(polygon, values, strict=True)):
        before, value_before = polygon[k - 1], values[k - 1]
        if (value > 0) != (value_before > 0) and value != 0 and value_before != 0:
            share = value_before / (value_before - value)
            corners.append(tuple(a + share * (b - a) for a, b in zip(before, corner, strict=True)))
        if value <= 0:
            corners.append(corner)
    return tuple(dict.fromkeys(corners))


def nearest_corner_or_edge(polygon: Polygon, norm: str) -> Rationals:
    """The point of a polygon that is nearest to 0."""
    if len(polygon[0]) == 2 and _holds_origin(polygon):
        return (ZERO, ZERO)
    return min((point for edge in _edges(polygon) for point in _stops(*edge, norm)), key=lambda p: length(p, norm))


def halves(polygon: Polygon) -> list[Polygon]:
    """Cut in two across the longer side of its bounding box, at a float so that corners stay short."""
    axes = range(len(polygon[0]))
    ends = [(min(corner[k] for corner in polygon), max(corner[k] for corner in polygon)) for k in axes]
    axis = max(axes, key=lambda k: ends[k][1] - ends[k][0])
    low, high = ends[axis]
    middle = (low + high) / 2
    near = rational(int(middle.p) / int(middle.q))
    cut = near if low < near < high else middle
    normal = tuple(fmpq(k == axis) for k in axes)
    sides = (Constraint(normal, -cut), Constraint(tuple(-n for n in normal), cut))
    return [half for side in sides if (half := kept(polygon, side)) is not None]


def _edges(polygon: Polygon) -> Iterator[tuple[Rationals, Rationals]]:
    return ((polygon[k - 1], corner) for k, corner in enumerate(polygon))


def _holds_origin(polygon: Polygon) -> bool:
    turns = [a[0] * b[1] - a[1] * b[0] for a, b in _edges(polygon)]
    return len(polygon) > 2 and (all(turn >= 0 for turn in turns) or all(turn <= 0 for turn in turns))


def _stops(a: Rationals, b: Rationals, norm: str) -> Iterator[Rationals]:
    """The points of an edge at which the distance from 0 can be least."""
    yield a
    yield b
    way = tuple(v - u for u, v in zip(a, b, strict=True))
    if norm == "l2" or len(a) == 1:
        shares = [(-dot(a, way), dot(way, way))]
    else:  # max(|p|, |q|) has its kinks where p = ±q, and is least at one of them or at an end
        shares = [(-(a[0] + sign * a[1]), way[0] + sign * way[1]) for sign in (1, -1)]
    for top, bottom in shares:
        if bottom != 0 and 0 < top / bottom < 1:
            yield tuple(u + top / bottom * w for u, w in zip(a, way, strict=True))
