"""The convex relaxation of a rival's set over intervals low <= z <= high, and its linear pieces.

A neuron with low >= 0 is on (ReLU(z) = z), with high <= 0 off (0). Between, a positive coefficient keeps its ReLU,
which is convex, and a negative one takes the chord above it: ReLU(z) <= slope·z + lift on [low, high].
"""

from __future__ import annotations

from featavg.arrays import Array
from featavg.robustness.proof.compiled import borrowing
from featavg.robustness.search.places import Place, Relaxed

# A row counts as satisfied where it exceeds 0 by less than this share of the terms that it is made of.
SATISFIED = 1e-13


@borrowing
def chords(low: Array, high: Array, relaxed: Relaxed) -> None:
    """slope = high/(high − low), lift = −low·slope of the neurons between; 1, 0 of those on and 0, 0 of those off."""
    relaxed.cost[0] = relaxed.cost[1] = relaxed.cost[2] = 0.0
    slope, lift, convex, bend = relaxed.slope, relaxed.lift, relaxed.convex, relaxed.bend
    for j in range(low.size):
        least, most = low[j], high[j]
        between = least < 0.0 < most
        share = most / (most - least) if between else 1.0 if least >= 0.0 else 0.0
        convex[j], slope[j], bend[j] = between, share, 0.0
        lift[j] = -least * share if between else 0.0


@borrowing
def fixed_pattern(z: Array, low: Array, high: Array, relaxed: Relaxed) -> None:
    """The convex part of the set on which subtracted neurons are on or off as at z: a·z >= a·ReLU(z) for a < 0."""
    slope, lift, convex = relaxed.slope, relaxed.lift, relaxed.convex
    for j in range(z.size):
        on = low[j] >= 0.0 or (high[j] > 0.0 and z[j] > 0.0)
        convex[j] = True
        slope[j] = 1.0 if on else 0.0
        lift[j] = 0.0


@borrowing
def tangent(relaxed: Relaxed, j: int, a: float, at: float) -> tuple[float, float]:
    """Slope and constant of the envelope's tangent at a pre-activation, or at the end of the interval next to it."""
    at = min(max(at, relaxed.least[j]), relaxed.most[j])
    # A contact at the end of the interval may be none: there only the bridge is below the curve on the other side.
    if relaxed.left[j] <= at <= relaxed.right[j]:
        return a * relaxed.slope[j], a * relaxed.lift[j]
    q, middle = relaxed.bend[j], relaxed.middle[j]
    slope = 2.0 * q * (at - middle)
    return slope if at <= relaxed.left[j] else slope + a, q * (middle - at) * (middle + at)


@borrowing
def write_piece(
    row: Array, constant: float, relaxed: Relaxed, pattern: Array, z: Array, theta: Array
) -> tuple[float, float]:
    """θ of a row's linear piece where the convex neurons are on as in `pattern`; its constant, and its value at z."""
    value = 0.0
    constant -= relaxed.cost[0]
    slope, lift, convex, bend = relaxed.slope, relaxed.lift, relaxed.convex, relaxed.bend
    for j in range(row.size):
        a = row[j]
        if a > 0.0 and convex[j]:
            theta[j] = a if pattern[j] > 0.0 else 0.0
        elif bend[j] > 0.0:
            theta[j], extra = tangent(relaxed, j, a, pattern[j])
            constant += extra
        else:
            theta[j] = a * slope[j]
            if a < 0.0:
                constant += a * lift[j]
        value += theta[j] * z[j]
    return constant, value + constant


@borrowing
def violated_row(
    place: Place, relaxed: Relaxed, pattern: Array, z: Array, length: float, theta: Array
) -> tuple[int, float, float]:
    """The row whose piece is violated most at z, −1 if none is; θ is written, constant and excess are returned."""
    chosen, most, constant, value = -1, 0.0, 0.0, 0.0
    for i in range(place.constants.size):
        constant, value = write_piece(place.rows[i], place.constants[i], relaxed, pattern, z, theta)
        if value > SATISFIED * (place.size[i] + place.rate[i] * length) and value > most * place.rate[i]:
            chosen, most = i, value / place.rate[i]
    if chosen >= 0 and chosen < place.constants.size - 1:
        constant, value = write_piece(place.rows[chosen], place.constants[chosen], relaxed, pattern, z, theta)
    return chosen, constant, value


@borrowing
def violated_side(relaxed: Relaxed, z: Array, norms: Array, length: float) -> tuple[int, float]:
    """The neuron that violates floor (side −1) or ceiling (+1) most at z, −1 if none does."""
    chosen, side, most = -1, 0.0, SATISFIED * length
    floor, ceiling = relaxed.floor, relaxed.ceiling
    for j in range(z.size):
        excess = max(floor[j] - z[j], z[j] - ceiling[j])
        if excess > most * norms[j]:
            chosen, most = j, excess / norms[j]
            side = 1.0 if z[j] > ceiling[j] else -1.0
    return chosen, side
