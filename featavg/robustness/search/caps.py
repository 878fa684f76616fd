"""What is left of the intervals of z within a ball, and within the cap that a half-space cuts off it."""

from __future__ import annotations

import numpy as np

from featavg.arrays import Array
from featavg.robustness.proof.apart import apart
from featavg.robustness.proof.compiled import borrowing
from featavg.robustness.search.places import DISTANCE, LENGTH, Place, Solution, Space

# By this share of the ball half-spaces are moved closer and intervals widened. Many caps in a row multiply what
# rounding makes of them, by millions where they hardly gain; so the checker finds tighter intervals, never wider ones.
ROUNDING = 1e-11


@borrowing
def within_ball(space: Space, place: Place, reach: float, low: Array, high: Array) -> None:
    """Intersect with z0 ± ‖w‖·reach."""
    norms, start = space.norms, place.start
    for j in range(low.size):
        width = norms[j] * reach
        low[j] = max(low[j], start[j] - width)
        high[j] = min(high[j], start[j] + width)


@apart(borrowing)
def within_cap(space: Space, place: Place, solution: Solution, reach: float, low: Array, high: Array) -> bool:
    """Intersect with the range of z over ‖δ‖ <= reach, ⟨h,δ⟩ + β <= 0; tell whether nothing is left.

    Neurons whose sign is decided are left alone, as the checker leaves them.
    With e = −h/‖h‖ and d = β/‖h‖ the largest ⟨w,δ⟩ is ‖w‖·reach if the cap holds that point, that is
    ⟨w,e⟩·reach >= ‖w‖·d, else ⟨w,e⟩·d + ‖w − ⟨w,e⟩e‖·√(reach² − d²).
    """
    near, length = solution.numbers[DISTANCE] - ROUNDING * reach, solution.numbers[LENGTH]
    if length == 0.0 or abs(near) >= reach:
        return solution.numbers[DISTANCE] >= reach
    rim = np.sqrt((reach - near) * (reach + near))
    empty = False
    norms, starts, ends = space.norms, place.start, solution.z
    for j in range(low.size):
        if not high[j] > 0.0 or (low[j] >= 0.0 and place.role.size == 0):
            continue
        norm, start = norms[j], starts[j]
        along = (ends[j] - start) / length
        edge = np.sqrt(max(norm * norm - along * along, 0.0)) * rim
        most = norm * reach if along * reach >= norm * near else along * near + edge
        least = -norm * reach if -along * reach >= norm * near else along * near - edge
        low[j] = max(low[j], start + least - ROUNDING * norm * reach)
        high[j] = min(high[j], start + most + ROUNDING * norm * reach)
        empty = empty or low[j] > high[j]
    return empty
