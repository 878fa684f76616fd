"""Where the relaxation holds the point itself its least distance is 0, and another half-space must do.

The one taken is the piece with the largest minimum over the ball, β − R‖h‖: where that is positive nothing is left.
"""

from __future__ import annotations

import numpy as np

from featavg.robustness.proof.apart import apart
from featavg.robustness.proof.arithmetic import clear, copy, dot
from featavg.robustness.proof.compiled import borrowing
from featavg.robustness.search.places import BETA, DISTANCE, LENGTH, Pieces, Place, Relaxed, Solution, Space
from featavg.robustness.search.products import inner_product, look
from featavg.robustness.search.relaxation import write_piece

TRIES = 4


@apart(borrowing)
def lowest_piece(
    space: Space, place: Place, relaxed: Relaxed, reach: float, pieces: Pieces, solution: Solution
) -> None:
    """Take the piece at the point, step to its lowest point in the ball, take the piece there; keep the best."""
    slot, z, most = pieces.order[0], pieces.image[pieces.order[1]], -np.inf
    theta, image = pieces.theta[slot], pieces.image[slot]
    copy(place.start, z)
    for _ in range(TRIES):
        row, largest, constant = 0, -np.inf, 0.0
        for i in range(place.constants.size):
            _, value = write_piece(place.rows[i], place.constants[i], relaxed, z, z, theta)
            if value > largest * place.rate[i]:
                row, largest = i, value / place.rate[i]
        constant, _ = write_piece(place.rows[row], place.constants[row], relaxed, z, z, theta)
        look(space, pieces, slot)
        beta, length = dot(theta, place.start) + constant, np.sqrt(max(inner_product(space, pieces, slot, slot), 0.0))
        if length == 0.0:
            return
        if beta - reach * length > most:
            most = beta - reach * length
            copy(theta, solution.theta)
            clear(solution.mix)
            solution.mix[row] = 1.0
            solution.numbers[BETA], solution.numbers[LENGTH], solution.numbers[DISTANCE] = beta, length, beta / length
            for j in range(z.size):
                solution.z[j] = place.start[j] - image[j]
        for j in range(z.size):
            z[j] = place.start[j] - reach / length * image[j]
