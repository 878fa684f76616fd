"""Which neuron to branch on: the one whose two signs promise most."""

from __future__ import annotations

import numpy as np

from featavg.robustness.proof.apart import apart
from featavg.robustness.proof.compiled import borrowing
from featavg.robustness.search.curves import least_value
from featavg.robustness.search.places import BETA, DISTANCE, LENGTH, Node, Place, Relaxed, Solution, Space


@apart(borrowing)
def best_branch(space: Space, place: Place, node: Node, relaxed: Relaxed, solution: Solution, reach: float) -> int:
    """The neuron with the largest product of the gains of both children, −1 if no chord is left.

    In a child the chord of neuron j is gone, and θ_j is free up to 0 (off) or down from a_j (on); all other
    multipliers stay as they are. Gains are those of the distance β/‖h‖, or of β − reach·‖h‖ where that is 0.
    With a curve κ = q m² at z = 0, from where on θ is free, or q(m² − z²) for the tangent at z.
    """
    chosen, most = -1, -1.0
    for j in range(place.start.size):
        if not node.low[j] < 0.0 < node.high[j]:
            continue
        below = above = 0.0
        for i in range(place.constants.size):
            below += solution.mix[i] * min(place.rows[i, j], 0.0)
            above += solution.mix[i] * max(place.rows[i, j], 0.0)
        if below == 0.0:
            continue
        q, middle, theta, slope = solution.mix[0] * relaxed.bend[j], relaxed.middle[j], solution.theta[j], below + above
        paid = below * relaxed.lift[j] if q == 0.0 else least_value(slope, theta, q, middle, node.low[j], node.high[j])
        free = solution.numbers[BETA] - paid
        base = free + q * middle * middle
        change = ideal_change(space, place, solution, reach, base, j)
        score, z = 1.0, min(max(solution.z[j], node.low[j]), node.high[j])
        for side in range(2):
            end = (0.0 if side == 0 else slope) - 2.0 * q * middle - theta
            allowed = max(change, end) if side == 0 else min(change, end)
            best = gain(space, place, solution, reach, base, j, allowed)
            if q > 0.0 and (z > 0.0) == (side == 1):
                inside = free + q * (middle - z) * (middle + z)
                best = max(best, gain(space, place, solution, reach, inside, j, end + 2.0 * q * z))
            score *= best
        if score > most:
            chosen, most = j, score
    return chosen


@borrowing
def ideal_change(space: Space, place: Place, solution: Solution, reach: float, base: float, j: int) -> float:
    """The change Δ of θ_j that suits best: with z = z0_j, V = ⟨w_j,h⟩, H = ‖h‖², n = ‖w_j‖

    (base + Δz)/√(H + 2ΔV + Δ²n²) is largest at Δ = (zH − base·V)/(base·n² − zV), and
    base + Δz − R√(H + 2ΔV + Δ²n²) at Δ = (z√((n²H − V²)/(R²n² − z²)) − V)/n².
    """
    start, norm, square = place.start[j], space.norms[j], solution.numbers[LENGTH] ** 2
    seen = start - solution.z[j]
    if solution.numbers[DISTANCE] > 0.0:
        slack = base * norm * norm - start * seen
        return (start * square - base * seen) / slack if slack > 0.0 else -solution.theta[j]
    across = max(norm * norm * square - seen * seen, 0.0)
    room = max(reach * reach * norm * norm - start * start, 1e-300)
    return (start * np.sqrt(across / room) - seen) / (norm * norm)


@borrowing
def gain(space: Space, place: Place, solution: Solution, reach: float, base: float, j: int, change: float) -> float:
    """What is gained by a change of θ_j, at most what is missing and at least a millionth of it."""
    beta, length, bound = solution.numbers
    seen = place.start[j] - solution.z[j]
    square = length * length + change * (2.0 * seen + change * space.norms[j] ** 2)
    longer = np.sqrt(max(square, 1e-300))
    value, now, goal = base + change * place.start[j], beta - reach * length, 0.0
    if bound > 0.0:
        value, now, goal = value / longer, bound, reach
    else:
        value -= reach * longer
    missing = max(goal - now, 1e-12 * reach * length)
    return min(max(value - now, 1e-6 * missing), missing)


@borrowing
def widest_chord(place: Place, node: Node) -> int:
    """The neuron with the largest gap |a|·high·|low|/(high − low) between its chord and its ReLU, −1 without chords."""
    chosen, most = -1, 0.0
    for j in range(place.start.size):
        low, high = node.low[j], node.high[j]
        if not low < 0.0 < high:
            continue
        for i in range(place.constants.size):
            gap = place.rows[i, j] * high * low / (high - low)
            if gap > most:
                chosen, most = j, gap
    return chosen
