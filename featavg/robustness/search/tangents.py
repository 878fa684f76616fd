"""Summed probabilities as rows: around every point one function that is linear in the outputs.

With shares p of the own outputs, H their entropy, and q of the rival's outputs, the rival is reached only where

    G = p·f + H − q·f − Ψ <= 0,

Ψ above log Σ_r exp(f_r − q·f) in a ball of radius τ (`proof/pools.py`, whose bound is used here too). Here p and q are
the probabilities at that point, where G is then the margin, but for Ψ. Without a box the ball is around that point.
"""

from __future__ import annotations

import numpy as np

from featavg.arrays import Array
from featavg.robustness.proof.apart import apart
from featavg.robustness.proof.arithmetic import clear, dot
from featavg.robustness.proof.compiled import borrowing, inner
from featavg.robustness.proof.pools import Average, Ball, Rows, Spreads, excess, spreads_of
from featavg.robustness.search.places import Place
from featavg.robustness.search.products import largest

# An interval narrower than this share of its ends is not split again.
NARROW = 1e-9


@apart(inner)
def linearise(place: Place, z: Array, middle: Array, radius: float, low: Array, high: Array) -> None:
    """Write the row, its constant and `mix` = (p, q) at z, which hold in the ball around `middle` and the intervals."""
    entropy, row = shares(place, z), place.rows[0]
    average = rival_average(place)
    rows, ball = rows_of(place), Ball(middle, place.nothing[0], radius)
    constant = entropy - average.constant - excess(rows, average, ball, place.products, low, high)
    for j in range(z.size):
        row[j] = -average.slope[j]
    for o in range(place.role.size):
        if place.role[o] > 0:
            constant += place.mix[o] * place.output_constants[o]
            for j in range(z.size):
                row[j] += place.mix[o] * place.outputs[o, j]
    # So large a bound leaves the whole ball.
    place.constants[0] = max(constant, -1e100)
    place.size[0], place.rate[0] = abs(place.constants[0]), 0.0
    for j in range(z.size):
        place.size[0] += abs(row[j] * place.start[j])
        place.rate[0] += abs(row[j]) * place.norms[j]


@inner
def rows_of(place: Place) -> Rows:
    """The outputs as the bound wants them, without doubts."""
    return Rows(place.outputs, place.nothing, place.output_constants, np.zeros(place.role.size), place.role)


@inner
def rival_average(place: Place) -> Average:
    """q·f."""
    slope, constant = place.average, 0.0
    clear(slope)
    for o in range(place.role.size):
        if place.role[o] < 0:
            constant += place.mix[o] * place.output_constants[o]
            for j in range(slope.size):
                slope[j] += place.mix[o] * place.outputs[o, j]
    return Average(slope, place.nothing[0], constant, 0.0)


@inner
def shares(place: Place, z: Array) -> float:
    """Write p and q, the softmax of the own and of the rival's outputs at z, to `mix`; return the entropy of p."""
    highest, whole, entropy = np.array([-np.inf, -np.inf]), np.zeros(2), 0.0
    for o in range(place.role.size):
        place.mix[o] = output(place, o, z)
        side = 0 if place.role[o] > 0 else 1
        if place.role[o] != 0:
            highest[side] = max(highest[side], place.mix[o])
    for o in range(place.role.size):
        side = 0 if place.role[o] > 0 else 1
        # Shares that underflow would be refused as zeros that are none.
        place.mix[o] = np.exp(max(place.mix[o] - highest[side], -200.0)) if place.role[o] != 0 else 0.0
        whole[side] += place.mix[o]
    for o in range(place.role.size):
        place.mix[o] /= whole[0] if place.role[o] > 0 else whole[1]
        entropy -= place.mix[o] * np.log(place.mix[o]) if place.role[o] > 0 else 0.0
    return entropy


@borrowing
def output(place: Place, o: int, z: Array) -> float:
    """f_o."""
    value = place.output_constants[o]
    for j in range(z.size):
        value += place.outputs[o, j] * max(z[j], 0.0)
    return value


@apart(inner)
def margin(place: Place, z: Array) -> float:
    """logsumexp_own f − logsumexp_rival f at z; the derivative by the outputs goes to `mix`."""
    highest = np.array([-np.inf, -np.inf])
    total = np.zeros(2)
    for o in range(place.role.size):
        place.mix[o] = output(place, o, z)
        if place.role[o] != 0:
            side = 0 if place.role[o] > 0 else 1
            highest[side] = max(highest[side], place.mix[o])
    for o in range(place.role.size):
        if place.role[o] == 0:
            place.mix[o] = 0.0
            continue
        side = 0 if place.role[o] > 0 else 1
        place.mix[o] = np.exp(place.mix[o] - highest[side])
        total[side] += place.mix[o]
    for o in range(place.role.size):
        if place.role[o] != 0:
            place.mix[o] /= total[0] if place.role[o] > 0 else -total[1]
    return highest[0] + np.log(total[0]) - highest[1] - np.log(total[1])


@apart(inner)
def loosest_neuron(place: Place, z: Array, middle: Array, radius: float, low: Array, high: Array) -> tuple[int, float]:
    """The neuron that most of the relaxation's slack is due to, and the threshold to branch at; −1 for none.

    Slack is that of the chords of ReLU, whose neurons are branched at 0, and by how much each of the rival's
    exponentials can grow in the ball, shared out by the widths of the neurons that it depends on.
    """
    shares(place, z)
    average, rows = rival_average(place), rows_of(place)
    spreads = spreads_of(rows, average, Ball(middle, place.nothing[0], radius), place.products.size, low, high)
    growth = growths(place, spreads, radius)
    chosen, most, threshold, r = -1, 0.0, 0.0, -1
    slack = place.slack
    clear(slack)
    for o in range(place.role.size):
        if place.role[o] < 0:
            r += 1
            whole = 1e-300
            for j in range(z.size):
                whole += abs(place.outputs[o, j] - average.slope[j]) * width(place, j, middle, radius, low, high)
            for j in range(z.size):
                step = abs(place.outputs[o, j] - average.slope[j]) * width(place, j, middle, radius, low, high)
                slack[j] += growth[r] * step / whole
    for j in range(z.size):
        bent = 0.0
        if low[j] < 0.0 < high[j]:
            bent = max(-place.rows[0, j], 0.0) * high[j] * -low[j] / (high[j] - low[j])
        if slack[j] + bent > most:
            chosen, most, threshold = j, slack[j] + bent, 0.0
            if bent <= slack[j] or not low[j] < 0.0 < high[j]:
                bottom, top = ends(place, j, middle, radius, low, high)
                threshold = 0.5 * (bottom + top)
    return chosen, threshold


@inner
def growths(place: Place, spreads: Spreads, radius: float) -> Array:
    """By how much each of the rival's exponentials can grow in the ball, as shares of their sum at the center."""
    inner = np.dot(spreads.tilt, place.products.gram)
    growth, top, whole = np.zeros(spreads.level.size), largest(spreads.level), 0.0
    for r in range(growth.size):
        length = np.sqrt(max(dot(inner[r], spreads.tilt[r]), 0.0))
        farthest = min(length * radius, spreads.ceiling[r] - spreads.level[r], 100.0)
        mass = np.exp(spreads.level[r] - top)
        growth[r] = mass * (np.exp(farthest) - 1.0)
        whole += mass
    for r in range(growth.size):
        growth[r] /= whole
    return growth


@borrowing
def ends(place: Place, j: int, z: Array, radius: float, low: Array, high: Array) -> tuple[float, float]:
    """What is left of the interval of neuron j in the ball, where it is on."""
    reach = place.norms[j] * radius
    bottom, top = max(low[j], z[j] - reach, 0.0), min(high[j], z[j] + reach)
    if top - bottom <= NARROW * abs(top):
        return max(low[j], 0.0), high[j]
    return bottom, top


@borrowing
def width(place: Place, j: int, z: Array, radius: float, low: Array, high: Array) -> float:
    """By how much ReLU(z_j) can vary there; 0 where that is too little to branch on."""
    bottom, top = ends(place, j, z, radius, low, high)
    return top - bottom if top - bottom > NARROW * abs(top) else 0.0
