"""The paper's read-out, summed probabilities: logsumexp of the own classes I against that of the others J.

For the rival r that is largest among J, with d_j = f_j − f_r <= 0 for the other j of J, fooled means

    logsumexp_I(f) − f_r − log(1 + Σ_j exp d_j) <= tie

The first term lies above its tangents, p·f + H(p) for any distribution p on I, with the entropy H. In a box
least_j <= d_j <= most_j the exponential lies below its chord α_j d_j + γ_j, and the logarithm below its tangents:
log Y <= log y − 1 + Y/y for any y > 0. So for any p and y a row holds that is linear in the outputs f,

    Σ_i p_i f_i + H(p) − f_r − (log y − 1) − (1 + Σ_j α_j d_j + γ_j)/y <= tie,

and a relaxation, caps and cuts of such rows are those of any other set. What branches is a neuron or a box.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from featavg.arrays import Array, Ints
from featavg.robustness.region import FooledSet, Neurons


class PooledCut(NamedTuple):
    """Multipliers of one half-space: rows (p, y) and the sides of the boxes with their weights, and the slopes θ."""

    reach: float
    tangents: Array  # (tangent, own)  p
    levels: Array  # (tangent,)  y
    rows: Array  # (tangent + 2·others,)  λ of the pooled rows, of d <= most, of d >= least
    slopes: Array  # (neuron,)


@dataclass
class PooledNode:
    """Cuts, then nothing, or both signs of a neuron, or both sides of a level of some d_j."""

    cuts: list[PooledCut] = field(default_factory=list)
    neuron: int = -1
    other: int = -1
    level: float = 0.0
    children: list[PooledNode] = field(default_factory=list)  # below, above


@dataclass(frozen=True)
class PooledProof:
    """The tree of one point and one rival."""

    points: Ints  # (1,)
    rivals: Ints  # (1,)
    root: PooledNode


@dataclass(frozen=True)
class Pool:
    """Own classes, a rival, and the other classes of its side."""

    neurons: Neurons
    own: Ints
    rival: int
    others: Ints
    differences: tuple[Array, Array]  # d_j = A ReLU(z) + c: (other, neuron), (other,)

    def margin(self, z: Array) -> float:
        """logsumexp_I(f) − logsumexp_J(f) at pre-activations z."""
        own, rivals = self._sides(z)
        return _logsumexp(own) - _logsumexp(rivals)

    def gradient(self, z: Array) -> Array:
        """Its derivative by z: (neuron,)."""
        own, rivals = self._sides(z)
        outputs = self.neurons.outputs
        toward = np.exp(own - _logsumexp(own)) @ outputs[self.own]
        return (toward - np.exp(rivals - _logsumexp(rivals)) @ outputs[[*self.others, self.rival]]) * (z > 0)

    def _sides(self, z: Array) -> tuple[Array, Array]:
        f = self.neurons.outputs @ np.maximum(z, 0.0) + self.neurons.constants
        return f[self.own], f[[*self.others, self.rival]]

    def box(self, low: Array, high: Array, branched: tuple[Array, Array], slack: float) -> tuple[Array, Array]:
        """Bounds on d over the intervals of z, widened by a slack, met with those that branching gave."""
        rows, constants = self.differences
        on, off = np.maximum(low, 0.0), np.maximum(high, 0.0)
        up, down = np.maximum(rows, 0.0), np.minimum(rows, 0.0)
        lowest, highest = up @ on + down @ off + constants, up @ off + down @ on + constants
        return np.maximum(branched[0], lowest - slack), np.minimum(branched[1], highest + slack)

    def tangent_rows(self, tangents: Array, levels: Array, box: tuple[Array, Array]) -> tuple[Array, Array]:
        """A (tangent, neuron) and c (tangent,) of the pooled rows with these p (tangent, own) and y over a box of d."""
        slope, lift = exp_chords(*box)
        weights = np.zeros((len(levels), len(self.neurons.outputs)))
        weights[:, self.own] = tangents
        weights[:, self.others] = -slope / levels[:, None]
        weights[:, self.rival] = slope.sum() / levels - 1.0
        entropy = -(tangents * np.log(np.maximum(tangents, 1e-300))).sum(axis=1)
        constants = entropy - np.log(levels) + 1.0 - (1.0 + lift.sum()) / levels
        return weights @ self.neurons.outputs, weights @ self.neurons.constants + constants

    def rows(
        self, tangents: Array, levels: Array, box: tuple[Array, Array], branched: tuple[Array, Array]
    ) -> tuple[Array, Array]:
        """All rows (tangent + 2·others, neuron) and constants: pooled ones, then d <= most, d >= least as branched."""
        pooled, offsets = self.tangent_rows(tangents, levels, box)
        rows, constants = self.differences
        least, most = branched
        # A side that no branch gave says nothing: its row is 0 <= 0.
        given = np.isfinite(least)
        below = np.where(given, np.where(given, least, 0.0) - constants, 0.0)
        return np.vstack([pooled, rows, -rows * given[:, None]]), np.concatenate([offsets, constants - most, below])


def _logsumexp(values: Array) -> float:
    # SciPy's is ten times slower on so few numbers.
    top = values.max()
    return float(top + np.log(np.exp(values - top).sum()))


def pool_of(fooled: FooledSet, label: int, rival: int) -> Pool:
    """Own classes, rival and others for a label."""
    others = np.setdiff1d(np.flatnonzero(fooled.sides == -label), [rival])
    outputs, constants = fooled.neurons.outputs, fooled.neurons.constants
    differences = outputs[others] - outputs[rival], constants[others] - constants[rival]
    return Pool(fooled.neurons, np.flatnonzero(fooled.sides == label), rival, others, differences)


def exp_chords(least: Array, most: Array) -> tuple[Array, Array]:
    """Slope α and lift γ of the chords of exp over [least, most]; where a box is a point, of the tangent there."""
    width = np.maximum(most - least, 0.0)
    slope = np.exp(most) * np.where(width > 0, -np.expm1(-width) / np.where(width > 0, width, 1.0), 1.0)
    return slope, np.exp(most) - slope * most
