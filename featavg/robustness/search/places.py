"""What the kernels hand to each other: named tuples of arrays, all float64 unless they say otherwise."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from featavg.arrays import Array, Bools, Ints
from featavg.robustness.proof.format import Floats
from featavg.robustness.proof.pools import Products
from featavg.robustness.proof.references import by_reference


@by_reference
class Space(NamedTuple):
    """The first layer, seen from its neurons; either the Gram matrix or the weights serve for products."""

    weights: Floats  # (neuron, axis)  W
    gram: Array  # (neuron, neuron)  W Wᵀ, or empty: then products go through the axes
    norms: Array  # (neuron,)  ‖w_j‖, in the dual norm: of ℓ∞ it is Σ_i|w_ji|
    squares: Array  # (neuron,)  Σ_i w_ji²
    euclidean: bool  # ℓ2, or else ℓ∞
    boxed: bool  # all but ℓ2 without a box


@by_reference
class Place(NamedTuple):
    """One rival's set, seen from one point: reached where all rows Σ_j A_ij ReLU(z_j) + c_i are <= 0."""

    start: Array  # (neuron,)  z0 = W x + b
    rows: Array  # (row, neuron)  A
    constants: Array  # (row,)  c
    size: Array  # (row,)  Σ_j |A_ij z0_j| + |c_i|, the terms that a row is made of at the point
    rate: Array  # (row,)  Σ_j |A_ij|‖w_j‖, by how much they grow at most per unit of distance
    norms: Array  # (neuron,)  ‖w_j‖
    # What δ is bound by, infinite where it is not; empty for ℓ2 without a box.
    low: Floats  # (axis,)  <= 0
    high: Floats  # (axis,)  >= 0
    euclidean: bool
    curve: Array  # (neuron,)  v, or empty without a curve
    # These are for summed probabilities, else empty; then the one row is a tangent, written anew wherever it is needed.
    outputs: Array  # (output, neuron)
    output_constants: Array  # (output,)
    role: Ints  # (output,)  1 for own ones, −1 for the rival's
    neuron: Ints  # (output,)  of its own, −1 for none (`pairs.py`)
    products: Products
    nothing: Array  # (output, neuron)  zeros
    mix: Array  # (output + 1,)  of the tangent, and ℓ of that of the logarithm (`exponentials.py`)
    average: Array  # (neuron,)  scratch
    slack: Array  # (neuron,)  scratch
    gap: Array  # (neuron,)  between the rival's exponentials and their envelopes
    contact: Array  # (2, neuron)  of envelopes


@by_reference
class Relaxed(NamedTuple):
    """What stands for ReLU(z_j): slope·z + lift above it, and below it the same, or ReLU itself where `convex`."""

    slope: Array  # (neuron,)
    lift: Array  # (neuron,)
    convex: Bools  # (neuron,)
    floor: Array  # (neuron,)  z >= floor is required, by the branches that led here
    ceiling: Array  # (neuron,)  z <= ceiling
    bend: Array  # (neuron,)  q of the curve, 0 for a chord; the next ones are for q > 0
    middle: Array  # (neuron,)  m
    left: Array  # (neuron,)  contacts of the bridge, whose line is a·(slope·z + lift)
    right: Array  # (neuron,)
    least: Array  # (neuron,)  the interval
    most: Array  # (neuron,)
    cost: Array  # (3,)  what all curves cost, and their ρ; ρ of those that a row has paid for


@by_reference
class Pieces(NamedTuple):
    """Half-spaces θ·z + constant <= 0; the first `order` slots are active, the next is the candidate."""

    theta: Array  # (slot, neuron)
    image: Array  # (slot, neuron)  Wh, h = Wᵀθ
    normal: Array  # (slot, axis)  h, unless there is a Gram matrix
    ortho: Array  # (slot, axis + 1)  scratch: orthonormal rows
    mix: Array  # (slot, row)
    value: Array  # (slot,)  θ·z0 + constant
    weight: Array  # (slot,)  Σ|θ_j|‖w_j‖, the terms that h is made of
    inner: Array  # (slot, slot)  ⟨h, h'⟩
    factor: Array  # (position, position)  lower Cholesky factor of the active inner products
    multiplier: Array  # (position,)
    response: Array  # (position,)  scratch: how the multipliers answer to the candidate's
    forward: Array  # (position,)  scratch
    order: Ints  # (position,)  slots
    last: Array  # (3, neuron)  θ and image of the last row, from which the next differs little; the difference
    steps: Ints  # (1,)  how often images were derived from each other


@by_reference
class Solution(NamedTuple):
    """The least distance of a relaxation: nearest point and multipliers, summed up."""

    z: Array  # (neuron,)
    theta: Array  # (neuron,)  θ of the cut; the nearest point is δ = −Wᵀθ if there is no δ
    mix: Array  # (row,)
    numbers: Array  # (3,)  β, ‖h‖, β/‖h‖; of what a box leaves of h in ℓ2, and β, ‖δ‖, least distance in ℓ∞
    delta: Array  # (axis,)  or empty for ℓ2 without a box
    step: Array  # (1,)  `box_step` of the cut


BETA, LENGTH, DISTANCE = 0, 1, 2
# Positions in the bound of a node.
NEAREST, LIFT, RHO = 0, 1, 2
# How many patterns an incumbent remembers.
TRIED = 512


@by_reference
class Incumbent(NamedTuple):
    """The nearest fooled point known: δ, or −Wᵀθ for ℓ2 without a box."""

    radius: Array  # (1,)
    theta: Array  # (neuron,)
    delta: Array  # (axis,)  or empty
    tried: Ints  # (hash,)  patterns that were polished
    salt: Ints  # (1,)  the number of the rival that they belong to


@by_reference
class Node(NamedTuple):
    """A node of the tree that waits for its turn, or is at work."""

    low: Array  # (neuron,)  z >= low at every point of the rival within reach
    high: Array  # (neuron,)
    floor: Array  # (neuron,)  what the branches on the path demand
    ceiling: Array  # (neuron,)
    guess: Array  # (neuron,)  where the parent's relaxation ended
    bound: Array  # (3,)  best distance along the path; what the square of the ball's radius is less than the reach's; ρ
    middle: Array  # (neuron,)  of the ball of ℓ2 that holds the rest, for summed probabilities and curves


@by_reference
class Axes(NamedTuple):
    """Room to work in for what is in a box, or in ℓ∞, where vectors have all their axes; else empty."""

    normal: Floats  # (axis,)  h
    start: Floats  # (axis,)  h before a step
    change: Floats  # (axis,)  of h along the step
    center: Floats  # (axis,)  p, the δ that this one is to be near to
    size: Floats  # (axis,)  |h − p|
    stop: Floats  # (axis,)  the same, or the room if that is less
    delta: Floats  # (axis,)  the δ that belongs to h
    free: Floats  # (axis,)  1 where δ = p − h
    held: Floats  # (axis,)  ±1 where |δ| = ‖δ‖∞ and h has more to say
    least: Floats  # (axis,)  scratch
    most: Floats  # (axis,)  scratch
    level: Floats  # (1,)  ‖δ‖∞
    holding: Ints  # (1,)  how many axes are held


@by_reference
class Bench(NamedTuple):
    """Room to work in."""

    pieces: Pieces
    axes: Axes
    solution: Solution
    relaxed: Relaxed
    polished: Solution
    pattern: Relaxed
    threshold: Array  # (1,)  where to branch
    guess: Array  # (neuron,)  scratch


def pieces_for(neurons: int, axes: int, rows: int) -> Pieces:
    """Room for the half-spaces of one relaxation; where a solution needs more of them, its bound is weaker."""
    slots = min(neurons + rows + 2, 160)
    square = np.zeros((slots, slots))
    return Pieces(
        theta=np.zeros((slots, neurons)),
        image=np.zeros((slots, neurons)),
        normal=np.zeros((slots, axes)),
        ortho=np.zeros((slots, axes + 1)),
        mix=np.zeros((slots, rows)),
        value=np.zeros(slots),
        weight=np.zeros(slots),
        inner=square,
        factor=square.copy(),
        multiplier=np.zeros(slots),
        response=np.zeros(slots),
        forward=np.zeros(slots),
        order=np.arange(slots),
        last=np.zeros((3, neurons)),
        steps=np.zeros(1, dtype=np.int64),
    )


def axes_for(axes: int) -> Axes:
    """Room for vectors with all their axes."""
    vectors: list[Any] = [np.zeros(axes) for _ in range(11)]
    ends: list[Any] = [np.zeros(1), np.zeros(1, dtype=np.int64)]
    parts: list[Any] = [*vectors, *ends]
    return Axes(*parts)


def bench_for(neurons: int, axes: int, rows: int, boxed: bool) -> Bench:
    """Room for the exploration of one node; pieces have normals of so many axes."""
    bound = axes if boxed else 0

    def solution() -> Solution:
        arrays = np.zeros(neurons), np.zeros(neurons), np.zeros(rows), np.zeros(3), np.zeros(bound), np.zeros(1)
        return Solution(*arrays)

    def relaxed() -> Relaxed:
        free = np.full(neurons, np.inf)
        lines: list[Any] = [np.zeros(neurons) for _ in range(8)]
        parts: list[Any] = [*lines[:2], np.zeros(neurons, dtype=np.bool_), -free, free, *lines[2:], np.zeros(3)]
        return Relaxed(*parts)

    return Bench(
        pieces_for(neurons, axes, rows), axes_for(bound), solution(), relaxed(), solution(), relaxed(), np.zeros(1),
        np.zeros(neurons),
    )  # fmt: skip


def no_incumbent(neurons: int, axes: int = 0) -> Incumbent:
    """Nothing is known yet."""
    numbers = np.array([np.inf]), np.zeros(neurons), np.zeros(axes)
    return Incumbent(*numbers, np.zeros(TRIED, dtype=np.int64), np.zeros(1, dtype=np.int64))
