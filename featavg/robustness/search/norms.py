"""Where norm and box enter the search: free ℓ2 lives in the space of the neurons, the rest in that of the axes."""

from __future__ import annotations

from featavg.arrays import Array
from featavg.robustness.proof.compiled import by_mark
from featavg.robustness.search.caps import within_cap
from featavg.robustness.search.cubes import best_in_cube, within_box, within_cube
from featavg.robustness.search.in_box import nearest_in_box
from featavg.robustness.search.least_distance import least_distance
from featavg.robustness.search.lowest import lowest_piece
from featavg.robustness.search.lowest_in_box import lowest_in_box
from featavg.robustness.search.places import Axes, Bench, Node, Place, Relaxed, Solution, Space
from featavg.robustness.search.scores import best_branch


def _nearest(
    space: Space,
    place: Place,
    relaxed: Relaxed,
    guess: Array,
    reach: float,
    share: float,
    bench: Bench,
    solution: Solution,
) -> None:
    least_distance(space, place, relaxed, guess, reach, share, bench.pieces, solution)


def _nearest_in_box(
    space: Space,
    place: Place,
    relaxed: Relaxed,
    guess: Array,
    reach: float,
    share: float,
    bench: Bench,
    solution: Solution,
) -> None:
    nearest_in_box(space, place, relaxed, guess, reach, share, bench.pieces, bench.axes, solution)


def _lowest(space: Space, place: Place, relaxed: Relaxed, reach: float, bench: Bench, solution: Solution) -> None:
    lowest_piece(space, place, relaxed, reach, bench.pieces, solution)


def _lowest_in_box(
    space: Space, place: Place, relaxed: Relaxed, reach: float, bench: Bench, solution: Solution
) -> None:
    lowest_in_box(space, place, relaxed, reach, bench.pieces, bench.axes, solution)


def _not_enclosed(space: Space, place: Place, reach: float, axes: Axes, low: Array, high: Array) -> None:
    return None


def _enclosed(space: Space, place: Place, reach: float, axes: Axes, low: Array, high: Array) -> None:
    within_box(space, place, reach, axes, low, high)


def _capped(space: Space, place: Place, solution: Solution, reach: float, axes: Axes, low: Array, high: Array) -> bool:
    return within_cap(space, place, solution, reach, low, high)


def _capped_in_box(
    space: Space, place: Place, solution: Solution, reach: float, axes: Axes, low: Array, high: Array
) -> bool:
    if place.euclidean:
        return within_cap(space, place, solution, reach, low, high)
    return within_cube(space, place, solution, reach, axes, low, high)


def _most_promising(
    space: Space, place: Place, node: Node, relaxed: Relaxed, solution: Solution, reach: float, axes: Axes
) -> int:
    return best_branch(space, place, node, relaxed, solution, reach)


def _most_promising_in_box(
    space: Space, place: Place, node: Node, relaxed: Relaxed, solution: Solution, reach: float, axes: Axes
) -> int:
    if place.euclidean:
        return best_branch(space, place, node, relaxed, solution, reach)
    return best_in_cube(space, place, node, relaxed, solution, reach, axes)


# The nearest point of a relaxation, as far as `reach`; in ℓ∞ and of curves up to a share of what is missing to it.
nearest = by_mark(0, "box", _nearest, _nearest_in_box)
# Where the relaxation holds the point itself: the piece with the largest minimum within reach.
lowest = by_mark(0, "box", _lowest, _lowest_in_box)
# Intersect with what the box leaves within reach.
enclosed = by_mark(0, "box", _not_enclosed, _enclosed)
# Intersect with what the half-space of a solution leaves within reach; tell whether nothing is left.
capped = by_mark(0, "box", _capped, _capped_in_box)
# The neuron whose two signs promise most, −1 if there is none.
most_promising = by_mark(0, "box", _most_promising, _most_promising_in_box)
