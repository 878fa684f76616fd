"""The compiled parts of a step: a team of neurons, at the points where it is followed."""

from __future__ import annotations

import numpy as np

from featavg.arrays import Array, Ints
from featavg.compilation import kernel

# How many multiplications of a dense product take as long as one of rows of K that are skipped where a factor is zero:
# 2 in cache, 2.6 beyond it (AMD EPYC, OpenBLAS).
SKIPPING = 2.5


@kernel
def add_rows(matrix: Array, factors: Array, total: Array) -> None:
    """total += factors K over the factors that are not zero, eight rows of K at a time, added one after the other."""
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
            begun = total[j] + a * k1[j] + b * k2[j] + c * k3[j] + d * k4[j]
            total[j] = begun + e * k5[j] + f * k6[j] + g * k7[j] + h * k8[j]
    for s in range(eights, found):
        a, k1 = factors[at[s]], matrix[at[s]]
        for j in range(samples):
            total[j] += a * k1[j]


@kernel
def add_eight_rows(matrix: Array, at: Ints, one: Array, other: Array, total: Array, other_total: Array) -> None:
    """Add eight rows of K to the totals of two runs, by the factors of each."""
    a, b, c, d, e, f, g, h = (
        one[at[0]],
        one[at[1]],
        one[at[2]],
        one[at[3]],
        one[at[4]],
        one[at[5]],
        one[at[6]],
        one[at[7]],
    )
    k1, k2, k3, k4 = matrix[at[0]], matrix[at[1]], matrix[at[2]], matrix[at[3]]
    k5, k6, k7, k8 = matrix[at[4]], matrix[at[5]], matrix[at[6]], matrix[at[7]]
    p, q, r, s = other[at[0]], other[at[1]], other[at[2]], other[at[3]]
    t, u, v, w = other[at[4]], other[at[5]], other[at[6]], other[at[7]]
    for j in range(len(total)):
        x1, x2, x3, x4, x5, x6, x7, x8 = k1[j], k2[j], k3[j], k4[j], k5[j], k6[j], k7[j], k8[j]
        mine = total[j] + a * x1 + b * x2 + c * x3 + d * x4 + e * x5 + f * x6 + g * x7 + h * x8
        other_total[j] = other_total[j] + p * x1 + q * x2 + r * x3 + s * x4 + t * x5 + u * x6 + v * x7 + w * x8
        total[j] = mine


@kernel
def add_rows_to_each(matrix: Array, factors: Array, totals: Array) -> None:
    """`add_rows` for several runs (run, sample), two at a time: rows of K are read once for both.

    A row that only another run needs is added zero times, which changes no bit of a sum that is made row by row.
    """
    runs, samples = factors.shape
    at = np.empty(samples, dtype=np.int64)
    found = 0
    for i in range(samples):
        at[found] = i
        needed = False
        for r in range(runs):
            needed |= factors[r, i] != 0
        found += needed
    eights, twos = found - found % 8, runs - runs % 2
    for s in range(0, eights, 8):
        for r in range(0, twos, 2):
            add_eight_rows(matrix, at[s : s + 8], factors[r], factors[r + 1], totals[r], totals[r + 1])
    for s in range(eights, found):
        row = matrix[at[s]]
        for r in range(twos):
            a, total = factors[r, at[s]], totals[r]
            for j in range(samples):
                total[j] += a * row[j]
    if twos < runs:
        add_rows(matrix, factors[twos], totals[twos])


@kernel
def skipping_product(gradient: Array, matrix: Array) -> Array:
    """G K (neuron, sample), without the rows of K at which G is zero."""
    product = np.zeros_like(gradient)
    for r in range(len(gradient)):
        add_rows(matrix, gradient[r], product[r])
    return product


@kernel
def add_heights(outputs: Array, points: Ints, driven: Ints, direction: Array, z: Array, scale: Array) -> None:
    """F += direction · Σ_r scale_r ReLU(z_r) at the points followed; elsewhere every neuron of the team is off."""
    heights = np.zeros(len(points), dtype=z.dtype)
    for r in range(len(scale)):
        for i in range(len(points)):
            heights[i] += scale[r] * z[r, i] if z[r, i] > 0 else z.dtype.type(0)
    for d in range(len(driven)):
        for i in range(len(points)):
            outputs[driven[d], points[i]] += direction[d] * heights[i]


@kernel
def find_pulls(
    z: Array,
    moved: Array,
    scale: Array,
    pulls: Array,
    points: Ints,
    driven: Ints,
    direction: Array,
    pull: Array,
    shared: Array,
) -> int:
    """C ← C − G; return how many rows of K the step takes.

    Adds η∂L/∂F along the direction to `pull`, and writes it to `shared` where most of the team is on.
    """
    members, count = z.shape
    on = np.zeros(count, dtype=np.int64)
    for r in range(members):
        for i in range(count):
            on[i] += z[r, i] >= 0
    for d in range(len(driven)):
        for i in range(count):
            pull[i] += direction[d] * pulls[driven[d], points[i]]
    work = 0
    for i in range(count):
        most = 2 * on[i] > members
        shared[i] = pull[i] if most else z.dtype.type(0)
        work += 1 + members - on[i] if most else on[i]
    for r in range(members):
        for i in range(count):
            moved[r, i] -= scale[r] * pull[i] if z[r, i] >= 0 else z.dtype.type(0)
    return work


@kernel
def move_team(
    block: Array, z: Array, biases: Array, scale: Array, pull: Array, shared: Array, together: Array, shift: bool
) -> float:
    """Z ← Z − G K, with the product of K and what is shared at hand; return max_r |G_r|."""
    members, count = z.shape
    longest = 0.0
    own, step = np.empty(count, dtype=z.dtype), np.empty(count, dtype=z.dtype)
    for r in range(members):
        square, total = 0.0, 0.0
        for i in range(count):
            mine = scale[r] * pull[i] if z[r, i] >= 0 else z.dtype.type(0)
            own[i] = mine - scale[r] * shared[i]  # exactly zero where equal
            square += float(mine * mine)
            total += float(mine)
        longest = max(longest, square)
        step[:] = 0
        if members > 1:
            add_rows(block, own, step)
        sink = z.dtype.type(total) if shift else z.dtype.type(0)
        biases[r] -= sink
        for i in range(count):
            z[r, i] -= scale[r] * together[i] + step[i] + sink
    return np.sqrt(longest)


@kernel
def team_step(
    block: Array,
    z: Array,
    moved: Array,
    biases: Array,
    first: int,
    scale: Array,
    pulls: Array,
    outputs: Array,
    points: Ints,
    driven: Ints,
    direction: Array,
    shift: bool,
    runs: Ints,
) -> tuple[Array, Ints]:
    """Z ← Z − G K, C ← C − G at the points followed, G_r = scale_r · pull · 1[z_r >= 0].

    Z (run, neuron, point), of which the team begins at neuron `first`, and some of the runs are moved, all by one K.
    Where most of the team is on, G is taken as shared by all, and the others differ from it; one product is made for
    what is shared, and one for each neuron's difference. What the team then contributes is added to the outputs.
    Returns max_r |G_r| of each run, and how many rows of K it took.
    """
    last, count = first + len(scale), z.shape[2]
    pull, shared = np.zeros((len(runs), count), dtype=z.dtype), np.zeros((len(runs), count), dtype=z.dtype)
    together = np.zeros((len(runs), count), dtype=z.dtype)
    longest, work = np.empty(len(runs)), np.empty(len(runs), dtype=np.int64)
    for k, run in enumerate(runs):
        arrays = z[run, first:last], moved[run, first:last], scale, pulls[run], points, driven, direction
        work[k] = find_pulls(*arrays, pull[k], shared[k])
    add_rows_to_each(block, shared, together)
    for k, run in enumerate(runs):
        mine = z[run, first:last]
        longest[k] = move_team(block, mine, biases[run, first:last], scale, pull[k], shared[k], together[k], shift)
        add_heights(outputs[run], points, driven, direction, mine, scale)
    return longest, work


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
