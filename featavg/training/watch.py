"""Exact steps that look only at the points where a neuron is on or could soon be.

Neurons that drive the same output move almost alike: on most points of their class all of them are on, on most
others none is. A group of such neurons splits the points in three, for as long as the split provably holds:

    on      every neuron of the group is on: they share one column of G up to a number, and only their sum is needed
    near    a neuron may come on or go off: followed one by one, but few points
    off     every neuron is off: G is zero there, and Z is not needed

With s_j the sign of ΔC_j, which never changes since every loss here falls in the margin, a pre-activation rises by
at most |(K_ij s_j)_+| · Σ_t η|G(t)| and falls by at most |(K_ij s_j)_-| · Σ_t η|G(t)| (Cauchy-Schwarz). So there is a
Σ_t η|G(t)| up to which no point leaves `on` or `off`; when it is spent, everything is computed again from
Z = Z(0) + K C. Nothing is approximated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg.blas import dsymv, ssymv

from featavg.arrays import Array, Ints

# How much the coefficients may grow, relative to their size, before the points are split anew: larger means fewer
# splits but more `near` points. Between 0.05 and 0.2 the time changes by less than a tenth.
GROWTH = 0.1


@dataclass(frozen=True)
class Team:
    """Neurons whose second-layer columns are positive multiples of one direction, and how fast they can be moved."""

    neurons: Ints
    direction: Array  # (output,)  unit
    scale: Array  # (neuron of the team,)
    rise: Array  # (sample,)  |(K_ij s_j)_+|
    fall: Array  # (sample,)  |(K_ij s_j)_-|


def teams(gram: Array, second: Array, derivative: Array) -> list[Team]:
    """Group the neurons by direction of their column in `second` (output, neuron); `derivative` gives the signs s."""
    scale = np.linalg.norm(second, axis=0)
    unit = (second / np.maximum(scale, np.finfo(second.dtype).tiny)).round(6)
    directions, team_of = np.unique(unit, axis=1, return_inverse=True)
    grows = (derivative @ directions < 0).astype(gram.dtype)  # (sample, team)  s_j = +1
    up, down = np.maximum(gram, 0) ** 2, np.minimum(gram, 0) ** 2
    rise = np.sqrt(up @ grows + down @ (1 - grows))
    fall = np.sqrt(down @ grows + up @ (1 - grows))
    members = [np.flatnonzero(team_of == t) for t in range(directions.shape[1])]
    return [
        Team(neurons, second[:, neurons[0]] / max(scale[neurons[0]], 1e-300), scale[neurons], rise[:, t], fall[:, t])
        for t, neurons in enumerate(members)
    ]


class Watch:
    """All teams, from one split of the points to the next."""

    def __init__(self, gram: Array, z: Array, coefficients: Array, members: list[Team]) -> None:
        self.views = [_View(gram, z, coefficients, team) for team in members]
        self.steps = 0

    def add_outputs(self, outputs: Array) -> None:
        """Add ReLU(Z) Aᵀ to (sample, output)."""
        for view in self.views:
            view.add_outputs(outputs)

    def advance(self, derivative: Array, eta: float) -> bool:
        """Make one step; False if the points have to be split anew."""
        self.steps += 1
        held = [view.advance(derivative, eta) for view in self.views]  # every view steps, whatever the others say
        return all(held)

    def write(self, coefficients: Array) -> None:
        """Write the coefficients where they belong: (sample, neuron)."""
        for view in self.views:
            view.write(coefficients)


class _View:
    """What one team sees."""

    def __init__(self, gram: Array, z: Array, coefficients: Array, team: Team) -> None:
        self.team = team
        own, moved = z[:, team.neurons], coefficients[:, team.neurons]
        lowest, highest = own.min(axis=1), own.max(axis=1)
        reach = GROWTH * np.linalg.norm(moved, axis=0).max()
        on, off = lowest > reach * team.fall, highest < -reach * team.rise
        self.on, self.near = np.flatnonzero(on), np.flatnonzero(~(on | off))
        rows = gram[self.on]
        self.on_on: Any = np.asfortranarray(rows[:, self.on])
        self.on_near = rows[:, self.near]
        self.near_near = gram[np.ix_(self.near, self.near)]
        self.symv = dsymv if gram.dtype == np.float64 else ssymv
        self.active = own[self.on] @ team.scale  # Σ_r |A_r| z_ir of the points that are on
        self.weight = team.scale @ team.scale
        self.z = own[self.near]
        self.shared = np.zeros_like(self.active)
        self.moved = moved[self.near]
        self.budget = _budget(lowest[on], team.fall[on], -highest[off], team.rise[off]) / team.scale.max()

    def add_outputs(self, outputs: Array) -> None:
        near = np.maximum(self.z, 0) @ self.team.scale
        for output in np.flatnonzero(self.team.direction):
            outputs[self.on, output] += self.team.direction[output] * self.active
            outputs[self.near, output] += self.team.direction[output] * near

    def advance(self, derivative: Array, eta: float) -> bool:
        """One step; False if the split may not hold after it."""
        team = self.team
        step = eta * (derivative @ team.direction)
        on, near = step[self.on], step[self.near]
        each = np.multiply.outer(near, team.scale) * (self.z >= 0)
        if len(on):
            self.active -= self.weight * self.symv(1.0, self.on_on, on) + self.on_near @ (each @ team.scale)
            self.z -= np.multiply.outer(on @ self.on_near, team.scale)
            self.shared -= on
        self.z -= self.near_near @ each
        self.moved -= each
        self.budget -= np.sqrt(on @ on + near @ near)
        return bool(self.budget > 0)

    def write(self, coefficients: Array) -> None:
        coefficients[np.ix_(self.on, self.team.neurons)] += np.multiply.outer(self.shared, self.team.scale)
        coefficients[np.ix_(self.near, self.team.neurons)] = self.moved
        self.shared[:] = 0.0


def _budget(above: Array, fall: Array, below: Array, rise: Array) -> float:
    """Σ η|G| at which the first point could leave `on` or `off`."""
    distance, speed = np.concatenate([above, below]), np.concatenate([fall, rise])
    return float(np.min(distance / np.maximum(speed, np.finfo(speed.dtype).tiny), initial=np.inf))
