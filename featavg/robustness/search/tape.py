"""Proofs while they are written: flat arrays with room to spare (`featavg.robustness.proof.format`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from featavg.arrays import Array, Ints
from featavg.robustness.proof.apart import apart
from featavg.robustness.proof.arithmetic import copy
from featavg.robustness.proof.compiled import borrowing, entry
from featavg.robustness.proof.format import Proofs
from featavg.robustness.proof.references import by_reference
from featavg.robustness.search.places import Place, Relaxed, Solution


@by_reference
class Units(NamedTuple):
    """Powers of two that turn the search's numbers into those of the network: neurons, rows, lengths."""

    neuron: Array  # (neuron,)  θ = θ' · neuron · scale
    row: Array  # (row,)  λ = λ' · row · scale
    scale: float  # which makes the largest λ about 1
    length: float  # R = R' · length


@by_reference
class Tape(NamedTuple):
    """Trees, nodes and cuts in order; `used` counts what is written of trees, nodes, cuts, mix and θ."""

    point: Ints
    rival: Ints
    first_node: Ints
    depth: Ints  # int32
    neuron: Ints  # int32
    side: Ints  # int8
    threshold: Array
    first_cut: Ints
    reach: Array
    box_step: Array
    bend: Array
    mix_start: Ints
    mix: Array
    theta_start: Ints
    theta_neuron: Ints  # int32
    theta: Array
    used: Ints  # (5,)


TREES, NODES, CUTS, MIXES, THETAS = 0, 1, 2, 3, 4


def tape_for(trees: int, nodes: int, cuts: int, mixes: int, thetas: int) -> Tape:
    """An empty tape with room for so much."""
    return Tape(
        point=np.zeros(trees, dtype=np.int64),
        rival=np.zeros(trees, dtype=np.int64),
        first_node=np.zeros(trees + 1, dtype=np.int64),
        depth=np.zeros(nodes, dtype=np.int32),
        neuron=np.zeros(nodes, dtype=np.int32),
        side=np.zeros(nodes, dtype=np.int8),
        threshold=np.zeros(nodes),
        first_cut=np.zeros(nodes + 1, dtype=np.int64),
        reach=np.zeros(cuts),
        box_step=np.zeros(cuts),
        bend=np.zeros(cuts),
        mix_start=np.zeros(cuts + 1, dtype=np.int64),
        mix=np.zeros(mixes),
        theta_start=np.zeros(cuts + 1, dtype=np.int64),
        theta_neuron=np.zeros(thetas, dtype=np.int32),
        theta=np.zeros(thetas),
        used=np.zeros(5, dtype=np.int64),
    )


def longer(tape: Tape) -> Tape:
    """The same tape with twice the room."""
    sizes = (tape.point.size, tape.depth.size, tape.reach.size, tape.mix.size, tape.theta.size)
    grown = tape_for(*(2 * size for size in sizes))
    for old, new in zip(tape, grown, strict=True):
        new[: old.size] = old
    return grown


def proofs_on(tape: Tape, curves: Sequence[Array] = ()) -> Proofs:
    """What is written, as proofs of their own; `curves` are those of the trees, if they have some."""
    trees, nodes, cuts, mixes, thetas = (int(count) for count in tape.used)
    ends = {"point": trees, "rival": trees, "first_node": trees + 1, "first_cut": nodes + 1, "mix": mixes}
    ends |= dict.fromkeys(("depth", "neuron", "side", "threshold"), nodes)
    ends |= dict.fromkeys(("reach", "box_step", "bend"), cuts) | dict.fromkeys(("mix_start", "theta_start"), cuts + 1)
    ends |= dict.fromkeys(("theta_neuron", "theta"), thetas)
    arrays = {name: getattr(tape, name)[:end].copy() for name, end in ends.items()}
    sizes = [len(curve) for curve in curves] or [0] * trees
    curve_start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return Proofs(**arrays, curve_start=curve_start, curve=np.concatenate([np.zeros(0), *curves]))


@borrowing
def has_room(tape: Tape, cuts: int, neurons: int, rows: int) -> bool:
    """Whether one more node with so many cuts fits."""
    used = tape.used
    return (
        used[TREES] < tape.point.size
        and used[NODES] < tape.depth.size
        and used[CUTS] + cuts <= tape.reach.size
        and used[MIXES] + cuts * rows <= tape.mix.size
        and used[THETAS] + cuts * neurons <= tape.theta.size
    )


@entry
def write_tree(tape: Tape, point: int, rival: int) -> None:
    """Begin a tree."""
    tree = tape.used[TREES]
    tape.point[tree], tape.rival[tree] = point, rival
    tape.first_node[tree] = tape.first_node[tree + 1] = tape.used[NODES]
    tape.used[TREES] = tree + 1


@borrowing
def write_node(tape: Tape, depth: int, neuron: int, side: int, threshold: float) -> None:
    """Begin a node."""
    node = tape.used[NODES]
    tape.depth[node], tape.neuron[node], tape.side[node], tape.threshold[node] = depth, neuron, side, threshold
    tape.first_cut[node] = tape.first_cut[node + 1] = tape.used[CUTS]
    tape.used[NODES] = tape.first_node[tape.used[TREES]] = node + 1


@apart(borrowing)
def write_cut(tape: Tape, place: Place, relaxed: Relaxed, solution: Solution, reach: float, units: Units) -> None:
    """Add a cut to the last node, scaled so that the largest λ is 1."""
    cut, largest = tape.used[CUTS], 0.0
    rows = place.constants.size  # the room of `solution` is for the rival with the most of them
    for i in range(rows):
        largest = max(largest, solution.mix[i])
    for j in range(solution.theta.size if largest == 0.0 else 0):
        largest = max(largest, abs(solution.theta[j]))
    # Divided, not multiplied by 1/largest: of a single row λ is exactly 1 then, which the checker is quick with.
    largest, whole = largest if largest > 0.0 else np.inf, 0.0
    mixes = tape.used[MIXES]
    if place.role.size == 0:
        for i in range(rows):
            tape.mix[mixes + i] = solution.mix[i] / largest * (units.row[i] * units.scale)
            whole += solution.mix[i]
        mixes += rows
    elif solution.mix[0] > 0.0:
        size = place.role.size + (1 if relaxed.cost[2] > 0.0 else 0)
        copy(place.mix[:size], tape.mix[mixes : mixes + size])
        mixes, whole = mixes + size, solution.mix[0]
    theta_at = write_theta(tape, place, relaxed, solution, largest, units)
    # In ℓ2 the step turns h into δ, in ℓ∞ it is a distance.
    step = solution.step[0] * units.length
    tape.reach[cut], tape.box_step[cut] = reach * units.length, step
    if place.euclidean and step > 0.0 and largest < np.inf:
        tape.box_step[cut] = step * largest / units.scale
    tape.bend[cut] = whole / largest * (relaxed.cost[1] + relaxed.cost[2]) * units.scale / units.length
    tape.used[CUTS], tape.used[MIXES], tape.used[THETAS] = cut + 1, mixes, theta_at
    tape.mix_start[cut + 1], tape.theta_start[cut + 1] = mixes, theta_at
    tape.first_cut[tape.used[NODES]] = cut + 1


@borrowing
def write_theta(tape: Tape, place: Place, relaxed: Relaxed, solution: Solution, largest: float, units: Units) -> int:
    """Write θ, and return where it ends.

    θ_j of a neuron that is on is λ·A_j in the same arithmetic as the checker's, so that nothing is lost there.
    A curve is written without its center.
    """
    # Looked up once: a loop that writes could change where they are, for all that the compiler knows.
    theta, mix, neurons, thetas = solution.theta, solution.mix, tape.theta_neuron, tape.theta
    floor, ceiling, convex, slope = relaxed.floor, relaxed.ceiling, relaxed.convex, relaxed.slope
    bend, middle, rows, unit = relaxed.bend, relaxed.middle, place.rows, units.neuron
    at = tape.used[THETAS]
    for j in range(theta.size):
        value = (theta[j] + 2.0 * mix[0] * bend[j] * middle[j]) / largest
        bound = floor[j] > -np.inf or ceiling[j] < np.inf
        if not convex[j] and not bound and bend[j] == 0.0:
            value = 0.0
            for i in range(rows.shape[0] if slope[j] == 1.0 else 0):
                value += mix[i] / largest * rows[i, j]
        if value != 0.0:
            neurons[at], thetas[at] = j, value * (unit[j] * units.scale)
            at += 1
    return at
