"""Exact steps that look only at the points where a neuron is on or could soon be.

Neurons that drive the same output move almost alike: on most points of their class all of them are on, on most
others none is. A team of such neurons splits the points in three, for as long as the split provably holds:

    on      every neuron of the team is on: they share one column of G up to a number, and only their sum is needed
    near    a neuron may come on or go off: followed one by one, but few points
    off     every neuron is off: G is zero there, and Z is not needed

With s_j the sign of ΔC_j, which never changes since every loss here falls in the margin and each neuron drives one
output, a pre-activation rises by at most |(K_ij s_j)_+| · Σ_t η|G(t)| and falls by at most |(K_ij s_j)_-| · Σ_t η|G(t)|
(Cauchy-Schwarz). So there is a Σ_t η|G(t)| up to which no point leaves `on` or `off`; when it is spent, everything is
computed again from Z = Z(0) + K C. Nothing is approximated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.linalg.blas import dsymv, ssymv

from featavg.arrays import Array, Ints

# How much the coefficients may grow, relative to their size, before the points are split anew: larger means fewer
# splits but more `near` points. Between 0.05 and 0.2 the time changes by less than a tenth.
GROWTH = 0.1


@dataclass(frozen=True)
class Team:
    """Neurons that drive one output with one sign, and how fast they can be moved."""

    neurons: Ints
    output: int
    sign: int
    scale: Array  # (neuron of the team,)  |A|
    rise: Array  # (sample,)  |(K_ij s_j)_+|
    fall: Array  # (sample,)  |(K_ij s_j)_-|


def teams(gram: Array, second: Array, derivative: Array) -> list[Team]:
    """Group the neurons by what they drive; no team where a neuron drives several outputs, or a sign s is not known.

    `derivative` (sample, output) gives the signs: an output rises at a point where the loss falls in it.
    """
    if (np.count_nonzero(second, axis=0) > 1).any() or not derivative.all():
        return []
    tilt = np.abs(gram)
    tilt *= gram
    tilt = tilt @ -np.sign(derivative)
    square = np.einsum("ij,ij->i", gram, gram)[:, None]
    slack = len(gram) * np.finfo(gram.dtype).eps * square  # rounding may not make a bound too small
    ahead, back = (np.sqrt(np.maximum(square + way * tilt, 0) / 2 + slack) for way in (1, -1))
    found = []
    for output, row in enumerate(second):
        for sign, rise, fall in ((1, ahead, back), (-1, back, ahead)):
            neurons = np.flatnonzero(sign * row > 0)
            if len(neurons):
                found.append(Team(neurons, output, sign, np.abs(row[neurons]), rise[:, output], fall[:, output]))
    return found


class Watch:
    """All teams, from one split of the points to the next.

    What they follow lies end to end in flat vectors, one seat for each team and point: a step is a few operations on
    these and one product with a symmetric block of K for each team.
    """

    def __init__(
        self, gram: Array, z: Array, coefficients: Array, members: list[Team], before: Watch | None = None
    ) -> None:
        earlier: Sequence[_View | None] = before.views if before else [None] * len(members)
        pairs = zip(members, earlier, strict=True)
        self.views: list[_View] = [_look(gram, z, coefficients, team, view) for team, view in pairs]
        sizes = [len(view.points) for view in self.views]
        ends = np.cumsum([0, *sizes]).tolist()
        self.parts = [slice(start, end) for start, end in pairwise(ends)]
        self.team_of = np.repeat(np.arange(len(members)), sizes)
        self.cell = np.concatenate([view.team.output * len(gram) + view.points for view in self.views])
        self.sign = np.array([team.sign for team in members], dtype=gram.dtype)[self.team_of]
        self.weight = np.array([view.weight for view in self.views], dtype=gram.dtype)[self.team_of]
        self.budget = np.array([view.budget for view in self.views])
        self.sum = np.concatenate([view.start(z) for view in self.views])  # Σ_r |A_r| z_ir
        self.moved = np.zeros_like(self.sum)  # Σ_r |A_r| ΔC_ir
        self.steps = 0

    def outputs(self, shape: tuple[int, int]) -> Array:
        """ReLU(Z) Aᵀ: (sample, output)."""
        height = np.maximum(self.sum, 0)  # Σ_r |A_r| ReLU(z_ir)
        self.gain = self.weight * (self.sum >= 0)  # Σ_r A_r² over the neurons that are on
        for view, part in zip(self.views, self.parts, strict=True):
            if view.several:
                view.tell_apart(self.sum[part], height[part], self.gain[part])
        samples, outputs = shape
        flat = np.bincount(self.cell, self.sign * height, minlength=samples * outputs)
        return flat.reshape(outputs, samples).T.astype(self.sum.dtype, copy=False)

    def advance(self, derivative: Array, eta: float) -> bool:
        """Make one step from where `outputs` was called; False if the points have to be split anew."""
        pull = eta * self.sign * derivative.T.reshape(-1)[self.cell]
        step = pull * self.gain
        for view, part in zip(self.views, self.parts, strict=True):
            self.sum[part] -= view.product(step[part])
            if view.several:
                view.drift(pull[part], self.gain[part])
        self.moved -= step
        self.steps += 1
        self.budget -= np.sqrt(np.bincount(self.team_of, (pull * (self.gain > 0)) ** 2, minlength=len(self.views)))
        return bool((self.budget > 0).all())

    def write(self, coefficients: Array) -> None:
        """Add what was moved to the coefficients (sample, neuron)."""
        for view, part in zip(self.views, self.parts, strict=True):
            view.write(coefficients, self.moved[part])
        self.moved[:] = 0.0


class _View:
    """What one team follows: the points that are on, then the near ones.

    On a near point z_ir = |A_r| Σ_q |A_q| z_iq / |A|² + apart_ir; a neuron alone is never apart.
    """

    def __init__(self, gram: Array, team: Team, on: Ints, near: Ints) -> None:
        self.team = team
        self.on, self.near = on, near
        self.points = np.concatenate([on, near])
        self.cells, self.near_cells = np.ix_(self.points, team.neurons), np.ix_(near, team.neurons)
        self.off = np.setdiff1d(np.arange(len(gram)), self.points)
        self.gram = gram[np.ix_(self.points, self.points)]
        self.symv = dsymv if gram.dtype == np.float64 else ssymv
        self.weight = team.scale @ team.scale
        self.several = len(team.scale) > 1
        self.budget = 0.0  # Σ η|∂loss/∂F| that may still be spent

    def reach(self, lowest: Array, highest: Array) -> float:
        """Σ η|G| up to which no point can leave `on` or `off`, given the extreme pre-activations of the team."""
        distance = np.concatenate([lowest[self.on], -highest[self.off]])
        speed = np.concatenate([self.team.fall[self.on], self.team.rise[self.off]])
        return float(np.min(distance / np.maximum(speed, np.finfo(speed.dtype).tiny), initial=np.inf))

    def start(self, z: Array) -> Array:
        """Take up Z (sample, neuron); return Σ_r |A_r| z_ir of the points followed."""
        together = z[self.cells] @ self.team.scale
        self.apart = z[self.near_cells] - self._shared(together[len(self.on) :])
        self.moved_apart = np.zeros_like(self.apart)
        return together

    def tell_apart(self, together: Array, height: Array, gain: Array) -> None:
        """Set `height` and `gain` of the near points, where the neurons of a team differ."""
        z = self._shared(together[len(self.on) :]) + self.apart
        self.active = z >= 0
        height[len(self.on) :] = np.maximum(z, 0) @ self.team.scale
        gain[len(self.on) :] = self.active @ self.team.scale**2

    def product(self, step: Array) -> Any:
        return self.symv(1.0, self.gram.T, step) if len(step) else step

    def drift(self, pull: Array, gain: Array) -> None:
        """Move the neurons apart: by the part of their steps on near points that they do not share."""
        first = len(self.on)
        own = np.multiply.outer(pull[first:], self.team.scale) * self.active
        own -= self._shared(pull[first:] * gain[first:])
        self.apart -= self.gram[first:, first:] @ own
        self.moved_apart -= own

    def write(self, coefficients: Array, moved: Array) -> None:
        coefficients[self.cells] += self._shared(moved)
        if self.several:
            coefficients[self.near_cells] += self.moved_apart
            self.moved_apart[:] = 0.0

    def _shared(self, together: Array) -> Array:
        return np.multiply.outer(together / self.weight, self.team.scale)


def _look(gram: Array, z: Array, coefficients: Array, team: Team, view: _View | None) -> _View:
    """Keep the view of a team while it is good for a while, or split the points anew."""
    own = z[:, team.neurons]
    lowest, highest = own.min(axis=1), own.max(axis=1)
    wanted = GROWTH * float(np.linalg.norm(coefficients[:, team.neurons], axis=0).max())
    if view is None or view.reach(lowest, highest) < wanted / 2:
        on, off = lowest > wanted * team.fall, highest < -wanted * team.rise
        view = _View(gram, team, np.flatnonzero(on), np.flatnonzero(~(on | off)))
    view.budget = view.reach(lowest, highest) / float(team.scale.max())
    return view
