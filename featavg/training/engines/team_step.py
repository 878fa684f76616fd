"""The compiled parts of a step: a team of neurons, at the points where it is followed."""

from __future__ import annotations

from functools import partial

import numpy as np

from featavg.arrays import Array, Ints
from featavg.compilation import kernel
from featavg.training.engines.row_sums import add_rows, add_rows_to_each


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


@partial(kernel, fastmath={"reassoc"})  # in an order that lets several numbers be added at once
def sums(values: Array) -> tuple[float, float]:
    """|v|² and Σ v, in double precision."""
    square, total = 0.0, 0.0
    for i in range(len(values)):
        value = np.float64(values[i])
        square += value * value
        total += value
    return square, total


@kernel
def move_team(
    block: Array, z: Array, biases: Array, scale: Array, pull: Array, shared: Array, together: Array, shift: bool
) -> float:
    """Z ← Z − G K, with the product of K and what is shared at hand; return max_r |G_r|."""
    members, count = z.shape
    longest = 0.0
    mine, own, step = np.empty_like(pull), np.empty_like(pull), np.zeros_like(pull)
    for r in range(members):
        differs = 0
        for i in range(count):
            mine[i] = scale[r] * pull[i] if z[r, i] >= 0 else z.dtype.type(0)
            own[i] = mine[i] - scale[r] * shared[i]  # exactly zero where equal
            differs += own[i] != 0
        square, total = sums(mine)
        longest = max(longest, square)
        sink = z.dtype.type(total) if shift else z.dtype.type(0)
        biases[r] -= sink
        if members > 1 and differs:
            step[:] = 0
            add_rows(block, own, step)
            for i in range(count):
                z[r, i] -= scale[r] * together[i] + step[i] + sink
        else:
            for i in range(count):
                z[r, i] -= scale[r] * together[i] + sink
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
    longest: Array,
    work: Ints,
) -> None:
    """Z ← Z − G K, C ← C − G at the points followed, G_r = scale_r · pull · 1[z_r >= 0].

    Z (run, neuron, point), of which the team begins at neuron `first`, and some of the runs are moved, all by one K.
    Where most of the team is on, G is taken as shared by all, and the others differ from it; one product is made for
    what is shared, and one for each neuron's difference. What the team then contributes is added to the outputs.
    Writes max_r |G_r| of each run, and how many rows of K it took: to make arrays of them would take as long as a small
    product.
    """
    last, count = first + len(scale), z.shape[2]
    pull, shared = np.zeros((len(runs), count), dtype=z.dtype), np.zeros((len(runs), count), dtype=z.dtype)
    together = np.zeros((len(runs), count), dtype=z.dtype)
    for k, run in enumerate(runs):
        arrays = z[run, first:last], moved[run, first:last], scale, pulls[run], points, driven, direction
        work[k] = find_pulls(*arrays, pull[k], shared[k])
    add_rows_to_each(block, shared, together)
    for k, run in enumerate(runs):
        mine = z[run, first:last]
        longest[k] = move_team(block, mine, biases[run, first:last], scale, pull[k], shared[k], together[k], shift)
        add_heights(outputs[run], points, driven, direction, mine, scale)


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
