"""What a proof of a lower bound is made of; `certificate.py` checks it, `first_search.py` and `batch.py` find it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from featavg.arrays import Array, Ints


class Cut(NamedTuple):
    """Multipliers of one half-space that holds every fooled point within `reach` of x; leading axis: the points."""

    reach: Array  # (point,)
    rows: Array  # (point, row)  λ
    slopes: Array  # (point, neuron)  θ


@dataclass
class Node:
    """Cuts in the order they were made, then nothing (a leaf) or both signs of a neuron."""

    cuts: list[Cut] = field(default_factory=list)
    neuron: int = -1
    children: list[Node] = field(default_factory=list)  # z_neuron <= 0, then z_neuron >= 0


@dataclass(frozen=True)
class Proof:
    """One tree for one or many points, each with its rival."""

    points: Ints  # (point,)
    rivals: Ints  # (point,)
    root: Node


@dataclass(frozen=True)
class Emptiness:
    """Proof that one rival's set is empty: for each subset S of the neurons with a negative coefficient, one cut.

    With the neurons of S on and the others of them off, the rows are lowered nowhere by more than they are at the
    true pattern, and are convex; a cut with h = 0 and β > 0 says that they have no common point.
    """

    points: Ints  # (point,)
    rivals: Ints  # (point,)
    cuts: list[Cut]  # subset S = binary digits of the position
