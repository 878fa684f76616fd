"""Summed probabilities: by how much log Σ_r exp f_r of the rival's outputs can exceed their average q·f.

For any numbers q, log Σ_r exp f_r = q·f + log Σ_r exp E_r with E_r = f_r − q·f. So a bound Ψ of the last term over the
node makes the rival's side linear in the outputs (`regions.py`). All points of the node within the reach lie in a ball
of ℓ2 (`Ball`), δ = center + ω with ‖ω‖ <= τ. There, and with a line above every a ReLU(z) over its interval,

    E_r <= min(e_r + ⟨v_r,ω⟩, ceiling_r),    v_r = Wᵀ tilt_r.

One bound is Σ_r exp E_r <= Σ_r exp min(e_r + ‖v_r‖τ, ceiling_r). The other adds up only what can grow together: with
U_r = max(0, min(‖v_r‖τ, ceiling_r − e_r)) and C(U) = (exp U − 1 − U)/U², which grows with U,

    exp E_r <= m_r (1 + x + C(U_r) x²),    m_r = exp e_r,  x = ⟨v_r,ω⟩

(for x <= U_r since C grows; beyond, E_r <= e_r + U_r, and the right side grows from U_r >= 0 on), hence

    Σ_r exp E_r <= Σ m_r + ‖Σ m_r v_r‖τ + λτ²,   λ >= the largest eigenvalue of the matrix √(m_r C_r m_s C_s)⟨v_r,v_s⟩,

and λ = max_r (Mx)_r/x_r serves, for any x > 0 and M the absolute values of that matrix (Collatz, Wielandt).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from featavg.arrays import Array, Ints
from featavg.robustness.proof.apart import apart
from featavg.robustness.proof.arithmetic import TINY, U, down, gamma, product_up, up
from featavg.robustness.proof.compiled import borrowing, inner, kernel
from featavg.robustness.proof.exponentials import ELEMENTARY, exponential
from featavg.robustness.proof.format import Floats
from featavg.robustness.proof.intervals import relaxation_offset
from featavg.robustness.proof.references import by_reference

# Nearest points lie at kinks, where rounding would decide which line is taken: so one is, up to this share below 0.
KINK = 2.0**-30
# Steps towards the eigenvector that belongs to λ; any number of them is valid.
STEPS = 6


class Rows(NamedTuple):
    """The rows of one rival, or all outputs with their roles: 1 for own ones, −1 for the rival's, 0 for the rest."""

    slope: Array  # (row, neuron)
    slope_spread: Array  # (row, neuron)
    constant: Array  # (row,)
    constant_spread: Array  # (row,)
    role: Ints  # (row,)


class Ball(NamedTuple):
    """In ℓ2 all points of a node within reach are at most `radius` from a center with these pre-activations."""

    z: Array  # (neuron,)
    doubt: Array  # (neuron,)  at least how far z is from the exact pre-activations of the center
    radius: float


@by_reference
class Products(NamedTuple):
    """⟨w_i,w_j⟩ within share·size_i·size_j, and size_j >= ‖w_j‖."""

    gram: Floats  # (neuron, neuron)
    size: Floats  # (neuron,)
    share: float


class Average(NamedTuple):
    """Σ_o q_o f_o: slopes and constant, and at least how far they are from the exact ones."""

    slope: Array  # (neuron,)
    doubt: Array  # (neuron,)
    constant: float
    constant_doubt: float


class Spreads(NamedTuple):
    """What bounds E_r: e, ceiling and tilt, and T_r = Σ_j |tilt_rj|‖w_j‖."""

    level: Array  # (rival,)  e
    ceiling: Array  # (rival,)
    tilt: Array  # (rival, neuron)
    size: Array  # (rival,)  T


@apart(kernel)
def excess(rows: Rows, average: Average, ball: Ball, products: Products, low: Array, high: Array) -> float:
    """Ψ >= log Σ_r exp(f_r − q·f) over the node; ∞ where nothing can be said."""
    spreads = spreads_of(rows, average, ball, products.size, low, high)
    count, (level, ceiling, tilt, size) = len(spreads.level), spreads
    inner = np.dot(np.dot(tilt, products.gram), tilt.T)
    share = 1.01 * (products.share + gamma(2.0 * len(low) + 8.0))
    farthest, top = np.zeros(count), -np.inf
    for r in range(count):
        length = up(math.sqrt(max(inner[r, r], 0.0) + up(share * up(size[r] * size[r])) + TINY))
        farthest[r] = max(0.0, min(product_up(up(length), ball.radius), up(ceiling[r] - level[r])))
        top = max(top, up(level[r] + farthest[r]))
        if not abs(top) + abs(level[r]) + size[r] + abs(inner[r, r]) < np.inf:
            return np.inf
    whole, mass, bend = 0.0, np.zeros(count), np.zeros(count)
    for r in range(count):
        whole += exponential(up(up(level[r] + farthest[r]) - top))
        mass[r] = exponential(up(level[r] - top))
        bend[r] = up(math.sqrt(up(mass[r] * curvature(farthest[r]))))
    whole *= 1.0 + gamma(count + 2.0)
    total = added_up(mass, spreads, bend, inner, share, ball.radius, products)
    least = min(whole, total) if total < np.inf else whole
    return up(top + up(math.log(least) + ELEMENTARY * (1.0 + abs(math.log(least)))))


@inner
def spreads_of(rows: Rows, average: Average, ball: Ball, sizes: Array, low: Array, high: Array) -> Spreads:
    """e_r, ceiling_r and tilt_r of the rival's outputs, one after the other."""
    count, at = 0, 0
    for role in rows.role:
        count += 1 if role < 0 else 0
    spreads = Spreads(np.zeros(count), np.zeros(count), np.zeros((count, len(low))), np.zeros(count))
    for o in range(len(rows.role)):
        if rows.role[o] < 0:
            level, ceiling = tilted(rows, o, average, ball, low, high, spreads.tilt[at])
            size = 0.0
            for j in range(len(low)):
                # A ceiling below e needs no slope, and no ball.
                spreads.tilt[at, j] = spreads.tilt[at, j] if level < ceiling else 0.0
                size += abs(spreads.tilt[at, j]) * sizes[j]
            spreads.level[at], spreads.ceiling[at] = min(level, ceiling), ceiling
            spreads.size[at] = up(size * (1.0 + gamma(len(low) + 2.0)))
            at += 1
    return spreads


@inner
def tilted(
    rows: Rows, o: int, average: Average, ball: Ball, low: Array, high: Array, tilt: Array
) -> tuple[float, float]:
    """e and the ceiling of E = Σ_j a_j ReLU(z_j) + c, a_j = slope_j − average_j; writes the slopes of lines above it.

    Undecided neurons take the chord if a > 0, else a or 0, as about the center; decided ones cost nothing. For any line
    of slope t, a ReLU(z) <= t z + κ with −κ <= −a ReLU(z) + t z over the interval.
    """
    constant = rows.constant[o] - average.constant
    unsure = up(average.constant_doubt + 2.0 * U * abs(constant) + rows.constant_spread[o])
    level, size, ceiling = constant, abs(constant), up(constant + unsure)
    for j in range(len(low)):
        tilt[j] = 0.0
        slope = rows.slope[o, j] - average.slope[j]
        if high[j] <= 0.0:
            continue
        most = up(slope + up(average.doubt[j] + 2.0 * U * abs(slope) + rows.slope_spread[o, j]))
        ceiling = up(ceiling + product_up(most, high[j] if most > 0.0 else max(low[j], 0.0)))
        tilt[j] = slope
        if low[j] < 0.0:
            tilt[j] = (
                slope * (high[j] / (high[j] - low[j]))
                if slope > 0.0
                else (slope if ball.z[j] > KINK * (low[j] - high[j]) else 0.0)
            )
        lift, moved = -relaxation_offset(-most, -tilt[j], low[j], high[j]), tilt[j] * ball.z[j]
        level += lift + moved
        size += abs(lift) + abs(moved)
        unsure += abs(tilt[j]) * ball.doubt[j]
    doubt = up(gamma(2.0 * len(low) + 8.0) * size) + up(unsure * (1.0 + gamma(len(low) + 4.0)))
    return up(level + up(doubt + len(low) * 4.0 * TINY)), ceiling


@inner
def added_up(
    mass: Array, spreads: Spreads, bend: Array, inner: Array, share: float, radius: float, products: Products
) -> float:
    """Σ m_r + ‖Σ m_r v_r‖τ + λτ²; `bend` is √(m C)."""
    count, neurons = spreads.tilt.shape
    pull, lost, whole = np.zeros(neurons), 0.0, 0.0
    for r in range(count):
        whole += mass[r]
        lost += mass[r] * spreads.size[r]
        for j in range(neurons):
            pull[j] += mass[r] * spreads.tilt[r, j]
    square, size = 0.0, 0.0
    for i in range(neurons):
        along = 0.0
        for j in range(neurons):
            along += products.gram[i, j] * pull[j]
        square += pull[i] * along
        size += abs(pull[i]) * products.size[i]
    if not abs(square) + size < np.inf:
        return np.inf
    grown = 1.0 + gamma(count + neurons + 8.0)
    square = max(square, 0.0) + up(up(size * size) * (products.share + gamma(2.0 * neurons + 8.0)) * 1.02) + TINY
    # Every entry of the pull is a sum that was rounded.
    drift = up(math.sqrt(up(square))) + up(lost * gamma(count + 2.0) * grown) + neurons * count * TINY
    eigenvalue = perron(bend, inner, spreads.size, share)
    return up(whole * grown + up(up(drift * radius) + up(eigenvalue * up(radius * radius))) * (1.0 + 8.0 * U))


@inner
def perron(bend: Array, inner: Array, size: Array, share: float) -> float:
    """max_r (Mx)_r/x_r for M_rs = bend_r bend_s(|⟨v_r,v_s⟩| + share·T_r T_s); x > 0 is found by the power method."""
    count = len(bend)
    x, image, most = np.ones(count), np.zeros(count), 0.0
    for _ in range(STEPS):
        most, largest = 0.0, 0.0
        for r in range(count):
            image[r] = 0.0
            for s in range(count):
                image[r] += bend[s] * (abs(inner[r, s]) + share * size[r] * size[s]) * x[s]
            image[r] *= bend[r]
            if not image[r] < np.inf:
                return np.inf
            most = max(most, image[r] / x[r])
            largest = max(largest, image[r])
        for r in range(count):
            x[r] = image[r] / largest + 1e-6 if largest > 0.0 else 1.0
    return up(most * (1.0 + gamma(count + 16.0)) + count * TINY)


@borrowing
def curvature(most: float) -> float:
    """C(U) = ½ + U/6 + U²/24 + ... rounded up; the terms from U²/24 on shrink at least by U/5 each."""
    if most <= 1.0:
        return up(0.5 + most / 6.0 + most * most / (24.0 - 4.8 * most)) * (1.0 + 8.0 * U)
    return up(up(exponential(most) - 1.0 - most) / (most * most)) * (1.0 + 8.0 * U)


@borrowing
def lifted(offset: float, length: float) -> tuple[float, float]:
    """s and a number below 2sβ − s²‖h‖²: of points with ⟨h,δ⟩ + β <= 0, ‖δ + s h‖² <= ‖δ‖² − 2sβ + s²‖h‖², any s >= 0.

    Best is s = β/‖h‖², which makes it the square of the distance of the half-space.
    """
    step = offset / length / length
    lift = down(down(2.0 * step * offset) - up(up(step * length) * up(step * length)))
    return (step, lift) if 0.0 < step < np.inf and 0.0 < lift < np.inf else (0.0, 0.0)
