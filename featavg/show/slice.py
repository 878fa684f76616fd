"""A plane through a point: the margin on it, the boundary, and where the nearest adversarial point lies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from featavg.arrays import Array
from featavg.robustness import Attackable

PLACES = 41  # a side
ROOM = 1.6  # of the picture, in radii


@dataclass(frozen=True)
class Slice:
    """Margins on the plane x + a·u + b·v, with u the universal direction and the witness in the plane."""

    places: Array  # (place,)  a and b alike
    margins: Array  # (b, a)  positive where the decision is right
    boundary: tuple[Array, ...]  # polylines (point, 2) of margin 0
    witness: Array | None  # (2,)  the nearest fooled point, none where no one is known
    universal: float | None  # the smallest a > 0 on the universal direction that is fooled, if it is in the picture


def slice_through(question: Attackable, point: int, witness: Array, direction: Array, towards: Array) -> Slice:
    """Cut the decision at point number `point` by the plane of `direction` and `witness` − x.

    Where the witness lies in the direction itself, as it does under averaging, the plane is that of `direction` and
    `towards` (axis,). All three are in the coordinates of the points; a NaN witness is none.
    """
    x = question.x[point]
    u = direction / np.linalg.norm(direction)
    known = bool(np.isfinite(witness).all())
    step = witness - x if known else towards - x
    v = _beside(step, u, 1e-3)
    if v is None:
        v = _beside(towards - x, u, 1e-12)
    if v is None:
        v = _beside(np.eye(len(x))[np.argmin(np.abs(u))], u, 0.0)
    assert v is not None, "some axis is no multiple of a direction"
    reach = ROOM * float(np.linalg.norm(step)) or 1.0
    places = np.linspace(-reach, reach, PLACES)
    a, b = (each.ravel() for each in np.meshgrid(places, places))
    cut = question.part(np.full(len(a), point))
    margins = cut.margins(x + a[:, None] * u + b[:, None] * v).reshape(PLACES, PLACES)
    ray = np.linspace(0.0, reach, 400)
    fooled = question.part(np.full(len(ray), point)).margins(x + ray[:, None] * u) <= 0
    return Slice(
        places,
        margins,
        _zero_lines(places, margins),
        np.array([step @ u, step @ v]) if known else None,
        float(ray[fooled.argmax()]) if fooled.any() else None,
    )


def _beside(step: Array, u: Array, least: float) -> Array | None:
    """The unit vector of what `step` has orthogonal to u, or none if that is too small a share of it."""
    rest = step - (step @ u) * u
    length = np.linalg.norm(rest)
    return rest / length if length > least * max(float(np.linalg.norm(step)), 1e-300) else None


def _zero_lines(places: Array, margins: Array) -> tuple[Array, ...]:
    """Where the margin is 0, as lines of the plane."""
    from contourpy import contour_generator

    found: Any = contour_generator(x=places, y=places, z=margins).lines(0.0)
    return tuple(np.asarray(line) for line in found)
