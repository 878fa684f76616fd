"""Where norm and box enter the search: free ℓ2 lives in the space of the neurons, the rest in that of the axes."""

from __future__ import annotations

from featavg.arrays import Array
from featavg.robustness.proof.compiled import inlined
from featavg.robustness.search.caps import within_cap
from featavg.robustness.search.cubes import best_in_cube, within_box, within_cube
from featavg.robustness.search.in_box import nearest_in_box
from featavg.robustness.search.least_distance import least_distance
from featavg.robustness.search.lowest import lowest_piece
from featavg.robustness.search.lowest_in_box import lowest_in_box
from featavg.robustness.search.places import Axes, Bench, Node, Place, Relaxed, Solution, Space
from featavg.robustness.search.scores import best_branch


@inlined
def nearest(
    space: Space,
    place: Place,
    relaxed: Relaxed,
    guess: Array,
    reach: float,
    share: float,
    bench: Bench,
    solution: Solution,
) -> None:
    """The nearest point of a relaxation, as far as `reach`; in ℓ∞ and of curves up to a share of what is missing."""
    if space.boxed:
        nearest_in_box(space, place, relaxed, guess, reach, share, bench.pieces, bench.axes, solution)
    else:
        least_distance(space, place, relaxed, guess, reach, share, bench.pieces, solution)


@inlined
def lowest(space: Space, place: Place, relaxed: Relaxed, reach: float, bench: Bench, solution: Solution) -> None:
    """Where the relaxation holds the point itself: the piece with the largest minimum within reach."""
    if space.boxed:
        lowest_in_box(space, place, relaxed, reach, bench.pieces, bench.axes, solution)
    else:
        lowest_piece(space, place, relaxed, reach, bench.pieces, solution)


@inlined
def enclosed(space: Space, place: Place, reach: float, axes: Axes, low: Array, high: Array) -> None:
    """Intersect with what the box leaves within reach."""
    if space.boxed:
        within_box(space, place, reach, axes, low, high)


@inlined
def capped(space: Space, place: Place, solution: Solution, reach: float, axes: Axes, low: Array, high: Array) -> bool:
    """Intersect with what the half-space of a solution leaves within reach; tell whether nothing is left."""
    if space.euclidean:
        return within_cap(space, place, solution, reach, low, high)
    return within_cube(space, place, solution, reach, axes, low, high)


@inlined
def most_promising(
    space: Space, place: Place, node: Node, relaxed: Relaxed, solution: Solution, reach: float, axes: Axes
) -> int:
    """The neuron whose two signs promise most, −1 if there is none."""
    if space.euclidean:
        return best_branch(space, place, node, relaxed, solution, reach)
    return best_in_cube(space, place, node, relaxed, solution, reach, axes)
