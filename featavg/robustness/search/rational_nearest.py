"""The point of a polyhedron that is nearest to 0, in rationals, with the multipliers that prove it.

Half-spaces enter one at a time, by a dual method for each norm: a corner is the nearest point under fewer of them, its
distance only grows, and its multipliers are a certificate of that distance at any time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import NamedTuple

from featavg.robustness.search.emptiness import solve_exactly

Vector = tuple[Fraction, ...]
ZERO, ONE = Fraction(0), Fraction(1)
MOST_STEPS = 200


class Piece(NamedTuple):
    """⟨normal,δ⟩ + offset <= 0, and the λ and θ that it stands for; a side of the box stands for none."""

    normal: Vector
    offset: Fraction
    mix: dict[int, Fraction]
    theta: dict[int, Fraction]

    def at(self, point: Sequence[Fraction]) -> Fraction:
        """⟨normal,δ⟩ + offset; what a point has beyond the axes of the normal does not count."""
        return dot(self.normal, point) + self.offset


class Corner(NamedTuple):
    """A nearest point and the half-spaces that hold it there; `empty` if they exclude each other."""

    point: Vector  # δ; for ℓ∞ ‖δ‖ comes after it
    held: tuple[Piece, ...] = ()
    weights: Vector = ()
    empty: bool = False


class Stuck(Exception):
    """Too many steps."""


def dot(u: Sequence[Fraction], v: Sequence[Fraction]) -> Fraction:
    """Σ u_i v_i over the shorter of both."""
    return sum((a * b for a, b in zip(u, v, strict=False) if a and b), start=ZERO)


def size_of(corner: Corner, norm: str) -> Fraction:
    """‖δ‖² in ℓ2, ‖δ‖ in ℓ∞."""
    return dot(corner.point, corner.point) if norm == "l2" else corner.point[-1]


def nearest(corner: Corner, norm: str, limit: Fraction | None, violated: Callable[[Vector], Piece | None]) -> Corner:
    """Take in what is violated until nothing is, or half-spaces exclude each other, or the size reaches the limit.

    >>> line = Piece((-ONE, -2 * ONE), Fraction(5), {}, {})
    >>> def below(point): return line if line.at(point) > 0 else None
    >>> for norm in ("l2", "linf"):
    ...     print(*nearest(start(2, norm), norm, None, below).point)
    1 2
    5/3 5/3 5/3
    """
    for _ in range(MOST_STEPS):
        if corner.empty or (limit is not None and size_of(corner, norm) >= limit):
            return corner
        piece = _violated_face(corner.point) if norm == "linf" else None
        piece = piece or violated(corner.point)
        if piece is None:
            return corner
        corner = (_raised if norm == "l2" else _pivoted)(corner, piece)
    raise Stuck


def start(axes: int, norm: str) -> Corner:
    """0, under no half-spaces."""
    if norm == "l2":
        return Corner((ZERO,) * axes)
    faces = [_face(axes, axis, sign) for axis, sign in ((0, 1), (0, -1), *((k, 1) for k in range(1, axes)))]
    return Corner((ZERO,) * (axes + 1), tuple(faces), (ONE / 2, ONE / 2, *(ZERO,) * (axes - 1)))


def _raised(corner: Corner, new: Piece) -> Corner:
    """Goldfarb and Idnani's step: raise the new multiplier until its half-space holds, dropping others on the way."""
    point, held, weights, raised = corner.point, list(corner.held), list(corner.weights), ZERO
    while True:
        shares = _shares(held, new.normal)
        free = new.normal
        for share, piece in zip(shares, held, strict=True):
            free = tuple(f - share * n for f, n in zip(free, piece.normal, strict=True))
        slope = dot(free, free)
        steps = [(w / s, k) for k, (w, s) in enumerate(zip(weights, shares, strict=True)) if s > 0]
        if slope:
            steps.append((new.at(point) / slope, -1))
        if not steps:
            return Corner(point, (*held, new), (*(-share for share in shares), ONE), True)
        step, dropped = min(steps)
        point = tuple(p - step * f for p, f in zip(point, free, strict=True))
        weights = [w - step * s for w, s in zip(weights, shares, strict=True)]
        raised += step
        if dropped < 0:
            return Corner(point, (*held, new), (*weights, raised))
        del held[dropped], weights[dropped]


def _shares(held: Sequence[Piece], normal: Vector) -> list[Fraction]:
    """Coefficients of the projection of a normal on those that are held, which are independent."""
    columns = [[dot(piece.normal, other.normal) for other in held] for piece in held]
    solved = solve_exactly(columns, [dot(piece.normal, normal) for piece in held], [ZERO] * len(held))
    if solved is None:
        raise Stuck
    return solved


def _pivoted(corner: Corner, new: Piece) -> Corner:
    """A step of the dual simplex method over (δ, ‖δ‖): the new half-space replaces the first whose multiplier ends."""
    width = len(corner.point)
    normals = [_lifted(piece, width) for piece in corner.held]
    shares = solve_exactly(normals, _lifted(new, width), [ZERO] * width)
    if shares is None:
        raise Stuck
    ratios = [(w / s, k) for k, (w, s) in enumerate(zip(corner.weights, shares, strict=True)) if s > 0]
    if not ratios:
        return Corner(corner.point, (*corner.held, new), (*(-share for share in shares), ONE), True)
    step, leaving = min(ratios)
    weights = [w - step * s for w, s in zip(corner.weights, shares, strict=True)]
    held = list(corner.held)
    held[leaving], weights[leaving] = new, step
    columns = list(zip(*(_lifted(piece, width) for piece in held), strict=True))
    point = solve_exactly(columns, [-piece.offset for piece in held], [ZERO] * width)
    if point is None:
        raise Stuck
    return Corner(tuple(point), tuple(held), tuple(weights))


def _lifted(piece: Piece, width: int) -> Vector:
    return (*piece.normal, ZERO)[:width]


def _violated_face(point: Vector) -> Piece | None:
    """|δ_i| <= ‖δ‖, if an axis violates it."""
    for axis, entry in enumerate(point[:-1]):
        if abs(entry) > point[-1]:
            return _face(len(point) - 1, axis, 1 if entry > 0 else -1)
    return None


def _face(axes: int, axis: int, sign: int) -> Piece:
    return Piece((*(Fraction(sign * (k == axis)) for k in range(axes)), -ONE), ZERO, {}, {})
