"""The piece with the largest minimum over ball and box, where the relaxation holds the point itself (`lowest`)."""

from __future__ import annotations

import numpy as np

from featavg.robustness.proof.apart import apart
from featavg.robustness.proof.arithmetic import clear, copy, dot
from featavg.robustness.proof.compiled import borrowing
from featavg.robustness.proof.support import clipping
from featavg.robustness.search.halfspaces import least_radius
from featavg.robustness.search.in_box import combined, see
from featavg.robustness.search.lowest import TRIES
from featavg.robustness.search.places import BETA, DISTANCE, LENGTH, Axes, Pieces, Place, Relaxed, Solution, Space
from featavg.robustness.search.relaxation import write_piece


@apart(borrowing)
def lowest_in_box(
    space: Space, place: Place, relaxed: Relaxed, reach: float, pieces: Pieces, axes: Axes, solution: Solution
) -> None:
    """Take the piece at the point, step to its lowest point in ball and box, take the piece there; keep the best."""
    slot, z, most = pieces.order[0], pieces.image[pieces.order[1]], -np.inf
    theta = pieces.theta[slot]
    copy(place.start, z)
    for _ in range(TRIES):
        row, largest = 0, -np.inf
        for i in range(place.constants.size):
            _, value = write_piece(place.rows[i], place.constants[i], relaxed, z, z, theta)
            if value > largest * place.rate[i]:
                row, largest = i, value / place.rate[i]
        constant, _ = write_piece(place.rows[row], place.constants[row], relaxed, z, z, theta)
        combined(space, theta, axes)
        beta = dot(theta, place.start) + constant
        step = descend(place, reach, axes)
        if step == 0.0:
            break
        least = beta + dot(axes.normal, axes.delta)
        if least > most:
            most = least
            copy(theta, solution.theta)
            clear(solution.mix)
            solution.mix[row] = 1.0
            keep(space, place, beta, step, axes, solution)
        see(space, place, axes.delta, z)
    combined(space, solution.theta, axes)


@borrowing
def descend(place: Place, reach: float, axes: Axes) -> float:
    """Write the δ of ball and box with the least ⟨h,δ⟩; the step with δ = clip(−step·h), 0 if h is 0."""
    normal, step = axes.normal, reach
    size = np.sqrt(dot(normal, normal))
    if not size > 0.0:
        return 0.0
    if place.euclidean:
        step = min(clipping(normal, -1.0, reach, place.low, place.high), 1e6 * reach / size)
    for i in range(normal.size):
        room = -place.low[i] if normal[i] > 0.0 else place.high[i]
        axes.delta[i] = np.copysign(min(room, step * abs(normal[i]) if place.euclidean else reach), -normal[i])
    return step


@borrowing
def keep(space: Space, place: Place, beta: float, step: float, axes: Axes, solution: Solution) -> None:
    """The numbers of the cut; in ℓ2 what the box leaves of h is −δ/step."""
    numbers, square = solution.numbers, dot(axes.delta, axes.delta)
    solution.step[0] = step
    scale = 1.0
    if place.euclidean:
        scale = 1.0 / step
        numbers[BETA] = beta + dot(axes.normal, axes.delta) + square * scale
        numbers[LENGTH] = np.sqrt(square) * scale
        numbers[DISTANCE] = numbers[BETA] / max(numbers[LENGTH], 1e-300)
    else:
        numbers[BETA] = beta
        numbers[LENGTH] = 0.0
        for i in range(axes.delta.size):
            numbers[LENGTH] = max(numbers[LENGTH], abs(axes.delta[i]))
        numbers[DISTANCE] = least_radius(axes.normal, beta, place.low, place.high) if beta > 0.0 else 0.0
    for j in range(solution.z.size):
        solution.z[j] = place.start[j] + scale * dot(space.weights[j], axes.delta)
