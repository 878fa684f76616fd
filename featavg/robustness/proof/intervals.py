"""Rules about single neurons: how far a pre-activation can move within the reach, and what a linear bound costs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from featavg.arrays import Array, Ints
from featavg.robustness.proof.arithmetic import (
    SMALL,
    TINY,
    U,
    clear,
    difference_down,
    down,
    gamma,
    product_down,
    product_up,
    two_product,
    two_sum,
    up,
)
from featavg.robustness.proof.compiled import borrowing, summing
from featavg.robustness.proof.desk import Desk
from featavg.robustness.proof.exponentials import exponential_offset
from featavg.robustness.proof.format import Floats


@borrowing
def within_reach(low: Floats, high: Floats, center: Floats, slack: Floats, norm: Floats, reach: float) -> None:
    """z_j = z0_j + ⟨w_j,δ⟩ and |⟨w_j,δ⟩| <= ‖w_j‖_* R: intersect every interval with that."""
    for j in range(len(low)):
        most = product_up(norm[j], reach)
        tighten(low, high, j, center[j], slack[j], most, most)


@borrowing
def tighten(low: Floats, high: Floats, j: int, center: float, slack: float, rise: float, fall: float) -> None:
    """−fall <= ⟨w_j,δ⟩ <= rise, and z0_j is within `slack` of `center`; what is NaN tightens nothing."""
    most, least = up(up(center + rise) + slack), down(down(center - fall) - slack)
    if most < high[j]:
        high[j] = most
    if least > low[j]:
        low[j] = least


@borrowing
def on_side(low: Floats, high: Floats, neuron: int, threshold: float, side: int) -> None:
    """A branch: z_neuron <= threshold (side −1) or z_neuron >= threshold (side +1)."""
    if side < 0:
        high[neuron] = min(high[neuron], threshold)
    else:
        low[neuron] = max(low[neuron], threshold)


@borrowing
def nowhere(low: Floats, high: Floats) -> bool:
    """An empty interval: no point of the rival is here."""
    empty = False
    for j in range(len(low)):
        empty = empty or low[j] > high[j]
    return empty


@borrowing
def relaxation_offset(slope: float, theta: float, low: float, high: float) -> float:
    """κ <= a ReLU(z) − θz for all z in [low, high] and all a >= slope.

    The function is linear on both sides of 0, so its minimum is at low, at high, or at 0 if that lies between: it is
    (a − θ)z for z > 0 and −θz for z <= 0. θ = slope costs exactly 0 where z is positive.
    """
    steeper = difference_down(slope, theta)
    at_low = product_down(steeper if low > 0.0 else -theta, low)
    at_high = product_down(steeper if high > 0.0 else -theta, high)
    least = min(at_low, at_high)
    return min(least, 0.0) if low < 0.0 < high else least


@borrowing
def is_free(slope: float, theta: float, low: float, high: float) -> bool:
    """Whether κ = 0 for sure: a neuron that is off with θ = 0, or one that is on with θ = slope <= a."""
    return (theta == 0.0 and high <= 0.0) or (theta == slope and low >= 0.0)


@borrowing
def bent_offset(slope: float, theta: float, bend: float, middle: float, low: float, high: float) -> float:
    """κ <= a ReLU(z) − θz + q(z − m)² for all z in [low, high] and all a >= slope: a parabola on either side of 0."""
    if high <= 0.0:
        return parabola_down(-theta, bend, middle, low, high)
    steeper = difference_down(slope, theta)
    if low >= 0.0:
        return parabola_down(steeper, bend, middle, low, high)
    return min(parabola_down(-theta, bend, middle, low, 0.0), parabola_down(steeper, bend, middle, 0.0, high))


@borrowing
def parabola_down(slope: float, bend: float, middle: float, low: float, high: float) -> float:
    """At most the least of f(z) = slope·z + q(z − m)² over [low, high]: f is above its tangent at any z*.

    f(z) >= f(z*) + f'(z*)(z − z*); z* near the lowest point leaves almost nothing of the second term.
    """
    at = min(max(middle - 0.5 * slope / bend, low), high)
    away = at - middle
    least = max(0.0, down(abs(away)))
    value = down(product_down(slope, at) + product_down(bend, max(0.0, down(least * least))))
    turn = 2.0 * bend * away
    doubt = 8.0 * U * (abs(slope) + abs(turn)) + 8.0 * TINY
    tilt = 0.0
    if low < at:
        tilt = product_down(up(slope + turn + doubt), down(low - at))
    if at < high:
        tilt = min(tilt, product_down(down(slope + turn - doubt), up(high - at)))
    return down(value + min(tilt, 0.0))


@borrowing
def halfspace_offset(constant: float, low: Floats, high: Floats, middle: Array, desk: Desk) -> float:
    """β <= c + θ·z0 + Σ κ_j, where c >= constant: then 0 >= G >= ⟨Wᵀθ,δ⟩ + β.

    κ_j is that of the line, or of the curve around `middle` where it bends; c has paid for that. Exponentials are
    subtracted from G.

    Summed in double-double. With n terms of total size S the sum is within 2·gamma(n)²·S of the exact one, and z0 is
    known within `center_error`. An infinite or undefined sum proves nothing: −∞.
    """
    total, rest, size, unknown = constant, 0.0, abs(constant), 0.0
    for j in range(len(low)):
        theta = desk.theta[j]
        slope = desk.slope[j]
        if desk.spread[j] != 0.0:
            slope = down(slope - desk.spread[j])
        if theta != 0.0:
            p, e = two_product(theta, desk.center[j])
            total, f = two_sum(total, p)
            rest += e + f + theta * desk.center_low[j]
            size += abs(p)
            unknown += abs(theta) * desk.center_error[j]
        elif slope == 0.0 and desk.power[j] == 0.0:
            continue
        if desk.bend[j] == 0.0 and desk.power[j] == 0.0 and is_free(slope, theta, low[j], high[j]):
            continue
        if desk.power[j] > 0.0:
            offset = exponential_offset(
                slope, theta, desk.bend[j], middle[j], desk.power[j], desk.level[j], low[j], high[j]
            )
        elif desk.bend[j] > 0.0:
            offset = bent_offset(slope, theta, desk.bend[j], middle[j], low[j], high[j])
        else:
            offset = relaxation_offset(slope, theta, low[j], high[j])
        if offset != 0.0:
            total, f = two_sum(total, offset)
            rest += f
            size += abs(offset)
    terms = 4.0 * len(low) + 8.0
    doubt = up(up(2.0 * gamma(terms) ** 2 * size) + up(unknown * (1.0 + gamma(terms)))) + terms * SMALL
    offset = down(down(total + rest) - up(doubt))
    return offset if abs(offset) < np.inf else -np.inf


@borrowing
def load_theta(neurons: NDArray[np.int32], values: Floats, unit: Floats, theta: Floats) -> bool:
    """θ in the units of the scaled neurons; False if an entry is not finite or belongs to no neuron."""
    clear(theta)
    fine = True
    for entry in range(len(values)):
        neuron = neurons[entry]
        if 0 <= neuron < len(unit):
            theta[neuron] = values[entry] * unit[neuron]
            fine = fine and abs(theta[neuron]) < np.inf
        else:
            fine = False
    return fine


@borrowing
def support_of(theta: Floats, norm: Floats, support: Ints) -> int:
    """List the neurons for which θ_j w_j is not 0, and count them; none: Wᵀθ = 0."""
    count = 0
    for j in range(len(norm)):
        if theta[j] != 0.0 and norm[j] != 0.0:
            support[count] = j
            count += 1
    return count


@borrowing
def weighted(theta: Floats, sizes: Floats) -> float:
    """Σ |θ_j| size_j, rounded up."""
    total = added_weights(theta, sizes)
    return 0.0 if total == 0.0 else up(total * (1.0 + 2.0 * (len(theta) + 2) * U))


@summing
def added_weights(theta: Floats, sizes: Floats) -> float:
    """Σ |θ_j| size_j: within gamma(n + 1) of itself."""
    total = 0.0
    for j in range(len(theta)):
        total += abs(theta[j]) * sizes[j]
    return total
