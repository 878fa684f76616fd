"""Summed probabilities as rows: at every pre-activation z one function that is linear in the outputs.

With a distribution p over the own outputs, its entropy H and D_r = f_r − p·f, the rival is reached only where
Σ_r min(1, exp(D_r − H)) >= 1. On D⁻ <= D_r <= D⁺ the summand lies below α_r D_r + γ_r, hence

    G = 1 − Σ_r (α_r D_r + γ_r) <= 0

for every p and α (`proof/regions.py`). Here p and α are those that are tight at z.
"""

from __future__ import annotations

import numpy as np

from featavg.arrays import Array
from featavg.robustness.search.compiled import kernel
from featavg.robustness.search.places import Place


@kernel
def linearise(place: Place, z: Array, low: Array, high: Array) -> None:
    """Write the row, its constant and `mix` = (p, α) that belong to z and to the intervals."""
    outputs, role, mix, row = place.outputs, place.role, place.mix, place.rows[0]
    entropy = own_shares(place, z)
    average = place.average
    average[:] = 0.0
    level = 0.0
    for o in range(role.size):
        if role[o] > 0:
            level += mix[o] * place.output_constants[o]
            for j in range(z.size):
                average[j] += mix[o] * outputs[o, j]
    row[:] = 0.0
    constant = 1.0
    for o in range(role.size):
        if role[o] < 0:
            offset = place.output_constants[o] - level
            here, least, most = differences(outputs[o], average, offset, z, low, high)
            mix[o], gamma = chord(here, least, most, entropy)
            constant -= gamma + mix[o] * offset
            for j in range(z.size):
                row[j] -= mix[o] * (outputs[o, j] - average[j])
    place.constants[0] = constant
    place.size[0], place.rate[0] = abs(constant), 0.0
    for j in range(z.size):
        place.size[0] += abs(row[j] * place.start[j])
        place.rate[0] += abs(row[j]) * place.norms[j]


@kernel
def own_shares(place: Place, z: Array) -> float:
    """Write p = softmax of the own outputs at z to `mix`; return its entropy."""
    largest = -np.inf
    for o in range(place.role.size):
        place.mix[o] = output(place, o, z)
        if place.role[o] > 0:
            largest = max(largest, place.mix[o])
    whole = entropy = 0.0
    for o in range(place.role.size):
        # Shares that underflow would be refused as zeros that are none.
        place.mix[o] = np.exp(max(place.mix[o] - largest, -200.0)) if place.role[o] > 0 else 0.0
        whole += place.mix[o]
    for o in range(place.role.size):
        place.mix[o] /= whole
        entropy -= place.mix[o] * np.log(place.mix[o]) if place.mix[o] > 0.0 else 0.0
    return entropy


@kernel
def output(place: Place, o: int, z: Array) -> float:
    """f_o."""
    value = place.output_constants[o]
    for j in range(z.size):
        value += place.outputs[o, j] * max(z[j], 0.0)
    return value


@kernel
def differences(
    slopes: Array, average: Array, offset: float, z: Array, low: Array, high: Array
) -> tuple[float, float, float]:
    """D_r at z, and its range over the intervals."""
    here = least = most = offset
    for j in range(z.size):
        slope = slopes[j] - average[j]
        below, above = slope * max(low[j], 0.0), slope * max(high[j], 0.0)
        here += slope * max(z[j], 0.0)
        least += min(below, above)
        most += max(below, above)
    return min(max(here, least), most), least, most


@kernel
def chord(here: float, least: float, most: float, entropy: float) -> tuple[float, float]:
    """Slope and constant of the concave envelope of min(1, exp(D − H)) over [least, most], at D = here."""
    top = min(most, entropy)
    if here >= entropy or least >= entropy:
        return 0.0, 1.0
    bottom = np.exp(least - entropy)
    width = top - least
    slope = np.exp(here - entropy) if width < 1e-9 else (np.exp(top - entropy) - bottom) / width
    return slope, max(bottom - slope * least, np.exp(top - entropy) - slope * top)


@kernel
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


@kernel
def loosest_neuron(place: Place, z: Array, low: Array, high: Array) -> tuple[int, float]:
    """The neuron that most of the relaxation's slack at z is due to, and the threshold to branch at; −1 for none.

    Slack is that of the chords of ReLU, and that of the chords of exp, shared out by the widths that make them long.
    """
    entropy = own_shares(place, z)
    average, slack = place.average, place.slack
    average[:] = 0.0
    slack[:] = 0.0
    level = 0.0
    for o in range(place.role.size):
        if place.role[o] > 0:
            level += place.mix[o] * place.output_constants[o]
            for j in range(z.size):
                average[j] += place.mix[o] * place.outputs[o, j]
    for o in range(place.role.size):
        if place.role[o] < 0:
            offset = place.output_constants[o] - level
            here, least, most = differences(place.outputs[o], average, offset, z, low, high)
            slope, gamma = chord(here, least, most, entropy)
            excess = slope * here + gamma - min(1.0, np.exp(here - entropy))
            for j in range(z.size):
                width = abs(place.outputs[o, j] - average[j]) * (max(high[j], 0.0) - max(low[j], 0.0))
                slack[j] += excess * width / max(most - least, 1e-300)
                if low[j] < 0.0 < high[j]:
                    bend = slope * (place.outputs[o, j] - average[j])
                    slack[j] += max(bend, 0.0) * -low[j] * high[j] / (high[j] - low[j])
    chosen = int(np.argmax(slack))
    if not slack[chosen] > 0.0:
        return -1, 0.0
    return chosen, split_at(place, chosen, z, low, high, entropy, level)


@kernel
def split_at(place: Place, neuron: int, z: Array, low: Array, high: Array, entropy: float, level: float) -> float:
    """Where to branch: so that below, the rival's probability is at most its share, exp(D⁺ − H) = 1/rivals."""
    bottom = max(low[neuron], 0.0)
    middle = 0.5 * (bottom + high[neuron]) if high[neuron] > 0.0 else 0.5 * (low[neuron] + high[neuron])
    rivals, worst, threshold = 0, 0.0, middle
    for o in range(place.role.size):
        rivals += place.role[o] < 0
    for o in range(place.role.size):
        slope = place.outputs[o, neuron] - place.average[neuron]
        if place.role[o] < 0 and slope > 0.0 and high[neuron] > 0.0:
            offset = place.output_constants[o] - level
            _, _, most = differences(place.outputs[o], place.average, offset, z, low, high)
            wanted = high[neuron] - (most - entropy + np.log(rivals)) / slope
            room = 0.1 * (high[neuron] - bottom)
            if slope > worst and bottom + room < wanted < high[neuron] - room:
                worst, threshold = slope, wanted
    return threshold
