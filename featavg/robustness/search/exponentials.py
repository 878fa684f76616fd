"""Summed probabilities where each of the rival's outputs has a neuron of its own (`proof/exponentials.py`).

With K = ρv of the curve, Σ_r exp f_r <= Σ_r [exp f_r − K(z − m)²] + ρτ² in a ball of radius τ around m. Each bracket is
a function of one z, and below the least concave one above it, its envelope: itself, or a line between two contacts.
The sum of envelopes is concave, as its logarithm is, whose tangent at a point is linear in z.
"""

from __future__ import annotations

import numpy as np

from featavg.arrays import Array
from featavg.robustness.proof.apart import apart
from featavg.robustness.proof.compiled import borrowing
from featavg.robustness.proof.exponentials import exponential_offset, lowest_point, turning_point
from featavg.robustness.search.places import RHO, Node, Place, Relaxed

# Larger exponents than this are left to the bound by averages.
LARGEST = 600.0
# How often a bridge is moved to better contacts, and ρ to a better value, by at most which factor.
MOVES, TRIALS, STEP = 6, 6, 3.0
# ρ is good if what moves in the ball is within this share of what is paid for; no contact is better than by this share.
GOOD, SAME = 0.2, 1e-10
LEAST_RHO, LEAST_SUM = 1e-9, 1e-2


@apart(borrowing)
def soften(place: Place, node: Node, entropy: float, radius: float, low: Array, high: Array, relaxed: Relaxed) -> bool:
    """Write row, constant and `mix` of a tangent at the node's guess, as the shares p are; False if too large."""
    top = -np.inf
    for o in range(place.role.size):
        j = place.neuron[o]
        if j >= 0:
            b, c = place.outputs[o, j], place.output_constants[o]
            top = max(top, b * max(min(max(node.guess[j], low[j]), high[j]), 0.0) + c)
            if not b * max(high[j], 0.0) + c - top < LARGEST or not abs(low[j]) < np.inf:
                return False
    whole = 0.0
    for o in range(place.role.size):
        j = place.neuron[o]
        if j >= 0:
            z = min(max(node.guess[j], low[j]), high[j])
            whole += np.exp(place.outputs[o, j] * max(z, 0.0) + place.output_constants[o] - top)
    square, rho, real = radius * radius, node.bound[RHO] * whole, whole
    least, most, spread = LEAST_RHO * whole / max(square, 1e-300), np.inf, 0.0
    for trial in range(TRIALS):
        rho = max(rho, least)
        whole, spread = envelopes(place, node, rho, top, low, high, relaxed)
        whole += rho * square
        if trial == TRIALS - 1 or abs(spread - square) <= GOOD * square or (rho == least and spread < square):
            break
        # Bridges are as wide as 1/√ρ to 1/ρ.
        if spread > square:
            least = rho
        else:
            most = rho
        rho *= min(max(np.sqrt(spread / square), 1.0 / STEP), STEP)
        if not least < rho < most:
            rho = np.sqrt(least * most)
    # Where box and ball do not meet ρ grows without end, and the sum falls below any that there is: the node is empty.
    whole = max(whole, LEAST_SUM * real)
    write_row(place, node, entropy, rho / whole, top + np.log(whole), whole, square, low, high, relaxed)
    return True


@borrowing
def envelopes(
    place: Place, node: Node, rho: float, top: float, low: Array, high: Array, relaxed: Relaxed
) -> tuple[float, float]:
    """Slopes and contacts of all envelopes at the guess; their sum, and Σ v E(z − m)², E over the contacts."""
    whole = spread = 0.0
    for o in range(place.role.size):
        j = place.neuron[o]
        if j < 0:
            continue
        bend, middle = rho * place.curve[j], node.middle[j]
        b, e, z = place.outputs[o, j], place.output_constants[o] - top, min(max(node.guess[j], low[j]), high[j])
        slope, left, right = bridge(z, bend, middle, b, e, low[j], high[j])
        relaxed.slope[j], relaxed.left[j], relaxed.right[j] = slope, left, right
        here = value_at(z, bend, middle, b, e)
        share = (z - left) / (right - left) if right > left else 0.0
        above = here
        if right > left:
            above = (1.0 - share) * value_at(left, bend, middle, b, e) + share * value_at(right, bend, middle, b, e)
        whole += above
        place.gap[j] = above - here
        spread += place.curve[j] * ((1.0 - share) * (left - middle) ** 2 + share * (right - middle) ** 2)
    return whole, spread


@borrowing
def value_at(z: float, bend: float, middle: float, b: float, e: float) -> float:
    """exp(b ReLU(z) + e) − K(z − m)²."""
    return np.exp(b * max(z, 0.0) + e) - bend * (z - middle) ** 2


@borrowing
def bridge(
    z: float, bend: float, middle: float, b: float, e: float, low: float, high: float
) -> tuple[float, float, float]:
    """Slope of the envelope at z and the contacts of its line, which are z itself where it is no line.

    A line between two points of the graph is above all of it if no point is above; else that point is a new end.
    """
    slope = -2.0 * bend * (z - middle)
    if z > 0.0:
        slope += b * np.exp(b * z + e)
    at, left, right = contact(slope, bend, middle, b, e, low, high), low, high
    most = value_at(at, bend, middle, b, e) - slope * at
    if most - (value_at(z, bend, middle, b, e) - slope * z) <= SAME * abs(most) or not low < high:
        return slope, z, z
    for _ in range(MOVES):
        if at > z:
            right = at
        else:
            left = at
        before = value_at(left, bend, middle, b, e)
        slope = (value_at(right, bend, middle, b, e) - before) / (right - left)
        at = contact(slope, bend, middle, b, e, low, high)
        if value_at(at, bend, middle, b, e) - slope * at - (before - slope * left) <= SAME * abs(before):
            break
    return slope, left, right


@borrowing
def contact(slope: float, bend: float, middle: float, b: float, e: float, low: float, high: float) -> float:
    """Where exp(b ReLU(z) + e) − K(z − m)² − slope·z is largest."""
    best, most = low, -np.inf
    if low <= 0.0:
        best = low if slope > 0.0 else min(high, 0.0)
        if bend > 0.0:
            best = min(max(middle - 0.5 * slope / bend, low), min(high, 0.0))
        most = value_at(best, bend, middle, b, e) - slope * best
    if high > 0.0:
        start = max(low, 0.0)
        at = lowest_point(slope, bend, middle, b, e, start, turning_point(bend, b, e, start, high))
        for z in (at, high):
            value = value_at(z, bend, middle, b, e) - slope * z
            if value > most:
                best, most = z, value
    return best


@borrowing
def write_row(
    place: Place,
    node: Node,
    entropy: float,
    rho: float,
    level: float,
    whole: float,
    square: float,
    low: Array,
    high: Array,
    relaxed: Relaxed,
) -> None:
    """Divide by the sum, add the own outputs; every neuron of the rival is a line now, whatever its sign."""
    count, row = place.role.size, place.rows[0]
    place.mix[count] = level
    constant = entropy + 1.0 - level - rho * square
    for j in range(row.size):
        row[j] = 0.0
    for o in range(count):
        j = place.neuron[o]
        if place.role[o] > 0:
            constant += place.mix[o] * place.output_constants[o]
            for i in range(row.size):
                row[i] += place.mix[o] * place.outputs[o, i]
        elif j >= 0:
            bend, theta = rho * place.curve[j], -relaxed.slope[j] / whole
            row[j], place.gap[j] = theta, place.gap[j] / whole
            b, e = place.outputs[o, j], place.output_constants[o] - level
            constant += exponential_offset(0.0, theta, bend, node.middle[j], b, e, low[j], high[j])
            place.contact[0, j], place.contact[1, j] = relaxed.left[j], relaxed.right[j]
            relaxed.convex[j], relaxed.slope[j], relaxed.lift[j] = False, 1.0, 0.0
            relaxed.left[j], relaxed.right[j], relaxed.least[j], relaxed.most[j] = -np.inf, np.inf, -np.inf, np.inf
            relaxed.bend[j], relaxed.middle[j] = bend, node.middle[j]
    relaxed.cost[2], node.bound[RHO] = rho, rho
    place.constants[0] = max(constant, -1e100)
    place.size[0], place.rate[0] = abs(place.constants[0]), 0.0
    for j in range(row.size):
        place.size[0] += abs(row[j] * place.start[j])
        place.rate[0] += abs(row[j]) * place.norms[j]


@borrowing
def value_at_guess(place: Place, z: Array, soft: bool) -> float:
    """The row at a point, its exponentials being lines: the higher, the nearer to the margin."""
    value = place.constants[0]
    for j in range(z.size):
        line = soft and place.curve[j] > 0.0
        value += place.rows[0, j] * (z[j] if line else max(z[j], 0.0))
    return value


@borrowing
def loosest(place: Place, low: Array, high: Array) -> tuple[int, float]:
    """The neuron with the widest gap below its envelope, and a threshold between the contacts; −1 for none.

    Without gaps what is missing is what the curve costs, which falls with the growth of an exponential.
    """
    chosen, most, threshold, growing, fastest = -1, 1e-13, 0.0, -1, 1e-9
    for o in range(place.role.size):
        j = place.neuron[o]
        if j < 0:
            continue
        if place.gap[j] > most:
            chosen, most, threshold = j, place.gap[j], 0.5 * (place.contact[0, j] + place.contact[1, j])
        b, level = place.outputs[o, j], place.output_constants[o] - place.mix[place.role.size]
        growth = np.exp(b * max(high[j], 0.0) + level) - np.exp(b * max(low[j], 0.0) + level)
        if growth > fastest:
            growing, fastest = j, growth
    if chosen < 0 and growing >= 0:
        chosen, threshold = growing, 0.5 * (max(low[growing], 0.0) + high[growing])
    return chosen, threshold
