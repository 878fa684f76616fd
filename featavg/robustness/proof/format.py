"""What search hands to the checker: the problem, and the proofs of its lower bounds as flat arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from featavg.arrays import Bools, Ints

Floats = NDArray[np.float64]
Kind = Literal["sign", "argmax", "maximum", "logits", "probabilities"]
Norm = Literal["l2", "linf"]


class Neurons(NamedTuple):
    """One hidden layer: f_o(x) = Σ_j outputs_oj ReLU(z_j) + constants_o with z = weights x + biases, exactly."""

    weights: Floats  # (neuron, axis)
    biases: Floats  # (neuron,)
    outputs: Floats  # (output, neuron)
    constants: Floats  # (output,)


class Decision(NamedTuple):
    """How outputs decide, and which group each output belongs to (unused by sign and argmax)."""

    kind: Kind
    class_of: Ints  # (output,)


class Problem(NamedTuple):
    """How far, at each x_i and in `norm`, is the nearest point of the box that is not decided for labels_i?

    Labels are -1 and +1 for sign, outputs for argmax, groups otherwise. The box is per feature, may be infinite on
    either side, and is absent if `low` and `high` are None. `target` names for each point the only rival that counts.
    """

    neurons: Neurons
    x: Floats  # (point, axis)
    labels: Ints  # (point,)
    decision: Decision
    norm: Norm = "l2"
    low: Floats | None = None  # (axis,)
    high: Floats | None = None  # (axis,)
    target: Ints | None = None  # (point,)


def part(problem: Problem, points: Ints | Bools) -> Problem:
    """The same problem at some of its points."""
    target = None if problem.target is None else problem.target[points]
    return problem._replace(x=problem.x[points], labels=problem.labels[points], target=target)


class Proofs(NamedTuple):
    """One tree per point and rival; nodes of a tree in preorder, cuts of a node in the order of their application.

    A node says (depth, neuron, threshold, side): z_neuron <= threshold for side -1, >= threshold for side +1; a root
    has depth 0, neuron -1, threshold 0 and side 0. Siblings share neuron and threshold and have opposite sides.
    A cut says (reach R, mix, θ, box_step, bend); what `mix` means is said in `regions.py`, what a cut proves in
    `tree.py`, what bend ρ and the tree's curve s mean in `curves.py`. A tree has a number s per neuron, or no curve.
    θ is sparse: cut i has the entries theta_start[i] ... theta_start[i + 1] of `theta_neuron` (increasing) and `theta`.
    """

    point: NDArray[np.int64]  # (tree,)
    rival: NDArray[np.int64]  # (tree,)
    first_node: NDArray[np.int64]  # (tree + 1,)
    curve_start: NDArray[np.int64]  # (tree + 1,)
    curve: NDArray[np.float64]  # flat
    depth: NDArray[np.int32]  # (node,)
    neuron: NDArray[np.int32]  # (node,)
    side: NDArray[np.int8]  # (node,)
    threshold: NDArray[np.float64]  # (node,)
    first_cut: NDArray[np.int64]  # (node + 1,)
    reach: NDArray[np.float64]  # (cut,)
    box_step: NDArray[np.float64]  # (cut,)
    bend: NDArray[np.float64]  # (cut,)
    mix_start: NDArray[np.int64]  # (cut + 1,)
    mix: NDArray[np.float64]  # flat
    theta_start: NDArray[np.int64]  # (cut + 1,)
    theta_neuron: NDArray[np.int32]  # flat
    theta: NDArray[np.float64]  # flat


# The type of every array, and the array whose last entry says how long it is.
TYPES: dict[str, type[np.generic]] = {
    "point": np.int64,
    "rival": np.int64,
    "first_node": np.int64,
    "curve_start": np.int64,
    "curve": np.float64,
    "depth": np.int32,
    "neuron": np.int32,
    "side": np.int8,
    "threshold": np.float64,
    "first_cut": np.int64,
    "reach": np.float64,
    "box_step": np.float64,
    "bend": np.float64,
    "mix_start": np.int64,
    "mix": np.float64,
    "theta_start": np.int64,
    "theta_neuron": np.int32,
    "theta": np.float64,
}
STARTS = ("first_node", "curve_start", "first_cut", "mix_start", "theta_start")


def no_proofs() -> Proofs:
    """A collection without any tree.

    >>> len(no_proofs().point)
    0
    """
    return Proofs(**{name: np.zeros(int(name in STARTS), dtype=kind) for name, kind in TYPES.items()})


def join(parts: Sequence[Proofs]) -> Proofs:
    """All trees of several collections, in order.

    >>> len(join([no_proofs(), no_proofs()]).first_node)
    1
    """
    if len(parts) < 2:
        return parts[0] if parts else no_proofs()
    joined = {}
    for name in Proofs._fields:
        arrays = [getattr(part, name) for part in parts]
        if name not in STARTS:
            joined[name] = np.concatenate(arrays)
            continue
        offsets = np.cumsum([0] + [int(array[-1]) for array in arrays[:-1]])
        joined[name] = np.concatenate([array[:-1] + offset for array, offset in zip(arrays, offsets, strict=True)])
        joined[name] = np.append(joined[name], offsets[-1] + arrays[-1][-1])
    return Proofs(**joined)


def take(proofs: Proofs, trees: Ints) -> Proofs:
    """Some trees of a well-formed collection, in the order asked for."""
    node = _ranges(proofs.first_node, trees)
    cut = _ranges(proofs.first_cut, node)
    mix, theta = _ranges(proofs.mix_start, cut), _ranges(proofs.theta_start, cut)
    return Proofs(
        proofs.point[trees],
        proofs.rival[trees],
        _starts(proofs.first_node, trees),
        _starts(proofs.curve_start, trees),
        proofs.curve[_ranges(proofs.curve_start, trees)],
        proofs.depth[node],
        proofs.neuron[node],
        proofs.side[node],
        proofs.threshold[node],
        _starts(proofs.first_cut, node),
        proofs.reach[cut],
        proofs.box_step[cut],
        proofs.bend[cut],
        _starts(proofs.mix_start, cut),
        proofs.mix[mix],
        _starts(proofs.theta_start, cut),
        proofs.theta_neuron[theta],
        proofs.theta[theta],
    )


def well_formed(proofs: Proofs) -> bool:
    """Whether types and lengths fit together, so that every index into the arrays is inside them."""
    for name, kind in TYPES.items():
        array = getattr(proofs, name, None)
        if not isinstance(array, np.ndarray) or array.dtype != kind or array.ndim != 1:
            return False
    nested = (
        (proofs.first_node, len(proofs.point), len(proofs.depth)),
        (proofs.curve_start, len(proofs.point), len(proofs.curve)),
        (proofs.first_cut, len(proofs.depth), len(proofs.reach)),
        (proofs.mix_start, len(proofs.reach), len(proofs.mix)),
        (proofs.theta_start, len(proofs.reach), len(proofs.theta)),
    )
    same = (
        (proofs.point, proofs.rival),
        (proofs.depth, proofs.neuron),
        (proofs.depth, proofs.side),
        (proofs.depth, proofs.threshold),
        (proofs.reach, proofs.box_step),
        (proofs.reach, proofs.bend),
        (proofs.theta, proofs.theta_neuron),
    )
    return all(len(a) == len(b) for a, b in same) and all(_covers(*each) for each in nested)


def lengths(starts: Ints) -> Ints:
    """How many entries every part has; `np.diff` takes five times as long.

    >>> lengths(np.array([0, 2, 2, 5]))
    array([2, 0, 3])
    """
    return starts[1:] - starts[:-1]


def _covers(starts: Ints, count: int, total: int) -> bool:
    """0 = starts_0 <= ... <= starts_count = total."""
    if len(starts) != count + 1 or starts[0] != 0 or starts[-1] != total:
        return False
    return bool((starts[1:] >= starts[:-1]).all())


def _starts(starts: Ints, chosen: Ints) -> Ints:
    sizes = starts[1:][chosen] - starts[:-1][chosen]
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _ranges(starts: Ints, chosen: Ints) -> Ints:
    """The positions starts_i ... starts_{i+1} of all chosen i, one after the other."""
    first, ends = starts[:-1][chosen], _starts(starts, chosen)
    return np.arange(ends[-1]) + np.repeat(first - ends[:-1], lengths(ends))
