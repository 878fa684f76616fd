"""The compiled parts of a step: a team of neurons, at the points where it is followed."""

from __future__ import annotations

import numpy as np

from featavg.arrays import Array, Ints
from featavg.training.engines.compiled import kernel

# How many multiplications of a dense product take as long as one of rows of K that are skipped where a factor is zero:
# 2 in cache, 2.6 beyond it (AMD EPYC, OpenBLAS).
SKIPPING = 2.5


@kernel
def add_rows(matrix: Array, factors: Array, total: Array) -> None:
    """total += factors K over the factors that are not zero, eight rows of K at a time."""
    samples = len(factors)
    at = np.empty(samples, dtype=np.int64)
    found = 0
    for i in range(samples):  # without a branch, which would be guessed wrongly at every other point
        at[found] = i
        found += factors[i] != 0
    eights = found - found % 8
    for s in range(0, eights, 8):
        a, b, c, d = factors[at[s]], factors[at[s + 1]], factors[at[s + 2]], factors[at[s + 3]]
        e, f, g, h = factors[at[s + 4]], factors[at[s + 5]], factors[at[s + 6]], factors[at[s + 7]]
        k1, k2, k3, k4 = matrix[at[s]], matrix[at[s + 1]], matrix[at[s + 2]], matrix[at[s + 3]]
        k5, k6, k7, k8 = matrix[at[s + 4]], matrix[at[s + 5]], matrix[at[s + 6]], matrix[at[s + 7]]
        for j in range(samples):
            total[j] += (a * k1[j] + b * k2[j] + c * k3[j] + d * k4[j]) + (
                e * k5[j] + f * k6[j] + g * k7[j] + h * k8[j]
            )
    for s in range(eights, found):
        a, k1 = factors[at[s]], matrix[at[s]]
        for j in range(samples):
            total[j] += a * k1[j]


@kernel
def skipping_product(gradient: Array, matrix: Array) -> Array:
    """G K (neuron, sample), without the rows of K at which G is zero."""
    product = np.zeros_like(gradient)
    for r in range(len(gradient)):
        add_rows(matrix, gradient[r], product[r])
    return product


@kernel
def pull_at(pulls: Array, driven: Ints, direction: Array, point: int) -> float:
    """η∂L/∂F along a direction of outputs, at a point."""
    total = direction[0] * pulls[driven[0], point]
    for d in range(1, len(driven)):
        total += direction[d] * pulls[driven[d], point]
    return total


@kernel
def add_heights(outputs: Array, points: Ints, driven: Ints, direction: Array, z: Array, scale: Array) -> None:
    """F += direction · Σ_r scale_r ReLU(z_r) at the points followed; elsewhere every neuron of the team is off."""
    for i in range(len(points)):
        height = z.dtype.type(0)
        for r in range(len(scale)):
            if z[r, i] > 0:
                height += scale[r] * z[r, i]
        for d in range(len(driven)):
            outputs[driven[d], points[i]] += direction[d] * height


@kernel
def team_step(
    block: Array,
    z: Array,
    moved: Array,
    biases: Array,
    scale: Array,
    pulls: Array,
    outputs: Array,
    points: Ints,
    driven: Ints,
    direction: Array,
    shift: bool,
) -> tuple[float, int]:
    """Z ← Z − G K, C ← C − G at the points followed, G_r = scale_r · pull · 1[z_r >= 0].

    Where most of the team is on, G is taken as shared by all, and the others differ from it; one product is made for
    what is shared, and one for each neuron's difference. What the team then contributes is added to the outputs.
    Returns max_r |G_r|, and how many rows of K were read.
    """
    members, count = z.shape
    shared = np.zeros(count, dtype=z.dtype)
    own = np.zeros((members, count), dtype=z.dtype)
    work = 0
    for i in range(count):
        on = 0
        for r in range(members):
            on += z[r, i] >= 0
        if on == 0:
            continue
        pull = pull_at(pulls, driven, direction, points[i])
        most = 2 * on > members
        if most:
            shared[i] = pull
            work += 1
        for r in range(members):
            active = z[r, i] >= 0
            if active != most:
                own[r, i] = scale[r] * pull if active else -scale[r] * pull
                work += 1
            if active:
                moved[r, i] -= scale[r] * pull
    together = np.zeros(count, dtype=z.dtype)
    add_rows(block, shared, together)
    longest = 0.0
    step = np.empty(count, dtype=z.dtype)
    for r in range(members):
        square, total = 0.0, 0.0
        for i in range(count):
            pull = scale[r] * shared[i] + own[r, i]
            square += pull * pull
            total += pull
        longest = max(longest, square)
        step[:] = 0
        if members > 1:
            add_rows(block, own[r], step)
        sink = z.dtype.type(total) if shift else z.dtype.type(0)
        biases[r] -= sink
        for i in range(count):
            z[r, i] -= scale[r] * together[i] + step[i] + sink
    add_heights(outputs, points, driven, direction, z, scale)
    return np.sqrt(longest), work


@kernel
def rows_to_read(z: Array, ends: Ints) -> int:
    """How many rows of K the next `team_step` of all teams would read; team t ends before row ends[t]."""
    work, first = 0, 0
    for end in ends:
        members = end - first
        for i in range(z.shape[1]):
            on = 0
            for r in range(first, end):
                on += z[r, i] >= 0
            work += 1 + members - on if 2 * on > members else on
        first = end
    return work


@kernel
def whole_gradient(gradient: Array, z: Array, second: Array, pulls: Array) -> None:
    """G = (Aᵀ pulls) · 1[Z >= 0] of all neurons at all points."""
    neurons, samples = z.shape
    for r in range(neurons):
        row = gradient[r]
        row[:] = 0
        for output in range(len(second)):
            factor = second[output, r]
            if factor != 0:
                pull = pulls[output]
                for i in range(samples):
                    row[i] += factor * pull[i]
        for i in range(samples):
            row[i] = row[i] if z[r, i] >= 0 else 0


@kernel
def whole_step(
    z: Array,
    coefficients: Array,
    biases: Array,
    gradient: Array,
    product: Array,
    second: Array,
    outputs: Array,
    shift: bool,
) -> None:
    """Z ← Z − G K, C ← C − G, b ← b − G 1, with the product G K at hand; outputs += A ReLU(Z)."""
    neurons, samples = z.shape
    for r in range(neurons):
        sink = z.dtype.type(0)
        if shift:
            sink += gradient[r].sum()
        biases[r] -= sink
        for i in range(samples):
            z[r, i] -= product[r, i] + sink
            coefficients[r, i] -= gradient[r, i]
        for output in range(len(second)):
            factor = second[output, r]
            if factor != 0:
                row = outputs[output]
                for i in range(samples):
                    row[i] += factor * max(z[r, i], 0)


@kernel
def part_of(matrix: Array, points: Ints) -> Array:
    """K at some points: (point, point)."""
    block = np.empty((len(points), len(points)), dtype=matrix.dtype)
    for a in range(len(points)):
        row = matrix[points[a]]
        for b in range(len(points)):
            block[a, b] = row[points[b]]
    return block


@kernel
def write_back(coefficients: Array, points: Ints, moved: Array) -> None:
    """Add what was moved at the points followed to the coefficients, and begin again from zero."""
    for r in range(len(moved)):
        for i in range(len(points)):
            coefficients[r, points[i]] += moved[r, i]
            moved[r, i] = 0
