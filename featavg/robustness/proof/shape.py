"""Whether a list of nodes is a tree in preorder, in which every branch has both its sides."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from featavg.arrays import Bools, Ints
from featavg.robustness.proof.compiled import NONE, borrowing, entry
from featavg.robustness.proof.format import Proofs, lengths
from featavg.robustness.proof.references import by_reference


@by_reference
class Path(NamedTuple):
    """The branches above a node, by depth: the node that stands for each, and whether its sibling was seen too."""

    node: Ints
    complete: Bools


def depths(proofs: Proofs, neurons: int) -> Ints:
    """The depth of every tree that is well shaped, −1 for the others: (tree,)."""
    longest = int(lengths(proofs.first_node).max(initial=0))
    path = Path(np.zeros(longest + 1, dtype=np.int64), np.zeros(longest + 1, dtype=np.bool_))
    result = np.full(len(proofs.point), -1)
    _fill_depths(proofs, neurons, path, result)
    return result


@entry
def _fill_depths(proofs: Proofs, neurons: int, path: Path, result: Ints) -> None:
    for tree in range(len(proofs.point)):
        result[tree] = _depth(proofs, tree, neurons, path)


@borrowing
def _depth(proofs: Proofs, tree: int, neurons: int, path: Path) -> int:
    first, last = proofs.first_node[tree], proofs.first_node[tree + 1]
    if first == last or proofs.depth[first] != 0 or proofs.neuron[first] != -1 or proofs.side[first] != 0:
        return -1
    deepest, current = NONE, NONE
    for node in range(first + 1, last):
        depth = proofs.depth[node]
        if not 1 <= depth <= current + 1 or not 0 <= proofs.neuron[node] < neurons or abs(proofs.side[node]) != 1:
            return -1
        if not abs(proofs.threshold[node]) < np.inf:
            return -1
        if depth == current + 1:
            path.complete[depth] = False
        elif (
            path.complete[depth]
            or not _closed(path, depth + 1, current)
            or not _siblings(proofs, path.node[depth], node)
        ):
            return -1
        else:
            path.complete[depth] = True
        path.node[depth] = node
        current = depth
        deepest = max(deepest, current)
    return deepest if _closed(path, NONE + 1, current) else -1


@borrowing
def _closed(path: Path, start: int, stop: int) -> bool:
    """Whether both sides were seen of all branches from depth `start` to `stop`."""
    closed = True
    for depth in range(start, stop + 1):
        closed = closed and path.complete[depth]
    return closed


@borrowing
def _siblings(proofs: Proofs, one: int, other: int) -> bool:
    """z <= t and z >= t for one neuron and one t: together everything."""
    return (
        proofs.neuron[one] == proofs.neuron[other]
        and proofs.threshold[one] == proofs.threshold[other]
        and proofs.side[one] == -proofs.side[other]
    )
