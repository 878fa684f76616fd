"""Exact steps of one size that look only at the points where a neuron is on or could soon be.

Two layers, ReLU, a fixed second layer. Neurons that drive the outputs in the same direction are a team: they share one
row of ∂L/∂Z up to a number wherever both are on. A team follows some of the points, at first all of them, and later
those where one of its neurons is on or near it. With s_j the sign of ΔC_j, which a monotone loss never changes, the
pre-activation of any other point rises by at most

    Δz_i <= |(K_ij s_j)_+| · Σ_t η|G(t)|        (Cauchy-Schwarz)

so there is a Σ_t η|G(t)| up to which none of them comes on. When it is spent, Z = Z(0) + C K is computed anew and the
points are chosen again. Nothing is approximated.
"""

from __future__ import annotations

import numpy as np

from featavg.arrays import Array, Ints
from featavg.training.engines.row_sums import SKIPPING, skipping_product, whole_product
from featavg.training.engines.team_step import (
    add_heights,
    part_of,
    rows_to_read,
    team_step,
    whole_gradient,
    whole_step,
    write_back,
)

# How much the coefficients may grow, relative to their size, before points are chosen anew: more means fewer choices
# but more points to follow. Between 0.05 and 0.2 the time changes by less than a tenth.
GROWTH = 0.1
# How many steps to wait before the next attempt to choose.
PATIENCE = 32
# In multiplications of rows of K: an entry of a copy of a part of K, and a row of Z = Z(0) + C K per entry of K.
COPY, REFRESH = 12.0, 1.0
# The room for these copies: half of a cache, or they are slower than K itself.
ROOM = 2**24
# After how many more steps, relative to those made, it is looked again whether skipping zeros has become cheaper.
LOOK = 1.0
# How many rows of K are looked at together where a copy of all of it would leave the cache.
ROWS = 64
# The same as SKIPPING for a step of teams, which does more around it.
DENSE_IS_FASTER = 4.0


ALONE: Ints = np.zeros(1, dtype=np.int64)


class Team:
    """Neurons of one direction of the outputs, and the points at which they are followed."""

    def __init__(self, rows: slice, columns: Array, whole: ActiveSet) -> None:
        self.rows, self.whole = rows, whole
        self.scale = np.ascontiguousarray(np.abs(columns).max(axis=0))
        self.driven = np.flatnonzero(columns[:, 0])
        self.direction = np.ascontiguousarray(columns[self.driven, 0] / self.scale[0])
        self.rise: Array | None = None  # (sample,)
        self.pace, self.work = 0.0, 0
        self.found = np.empty(1), np.empty(1, dtype=np.int64)  # both, as a step writes them
        self.follow_all()

    def follow_all(self) -> None:
        """Look at every point, in the arrays of the whole."""
        whole = self.whole
        self.points, self.block = whole.everything, whole.matrix
        self.z, self.moved = whole.z[self.rows], whole.coefficients[self.rows]
        self.budget, self.rest = np.inf, PATIENCE

    def step(self, pulls: Array) -> None:
        """Move along −η∂L/∂Z at the points followed, and add what the outputs become."""
        whole = self.whole
        z, moved, biases = self.z[None], self.moved[None], whole.biases[None, self.rows]
        told = pulls[None], whole.outputs[None], self.points, self.driven, self.direction, whole.shift
        team_step(self.block, z, moved, biases, 0, self.scale, *told, ALONE, *self.found)
        self.count(float(self.found[0][0]), int(self.found[1][0]))

    def count(self, pace: float, work: int) -> None:
        """Take down a step of the length `pace`."""
        self.pace, self.work = pace, work
        self.budget -= pace
        self.rest -= 1

    def settle(self) -> None:
        """Bring the coefficients of the whole up to date."""
        if self.budget < np.inf:
            write_back(self.whole.coefficients[self.rows], self.points, self.moved)

    def choose(self) -> None:
        """Follow the points where a neuron is on or may come on before long, if that pays."""
        whole, before = self.whole, (self.points, self.block) if self.budget < np.inf else None
        if before is not None:
            self.settle()
            whole.refresh(self.rows)
        self.follow_all()
        wanted = GROWTH * float(np.linalg.norm(self.moved, axis=1).max())
        lasts = wanted / max(self.pace, 1e-300)
        if lasts * self.work < 4 * REFRESH * self.z.size or not whole.bounded(self):
            return
        assert self.rise is not None
        highest = self.z.max(axis=0)
        if before is not None and self._reach(highest, before[0]) >= wanted / 2:
            self._follow(*before, highest)
            return
        points = np.flatnonzero(highest >= -wanted * self.rise)
        saved = lasts * self.work * (len(highest) - len(points))
        cost = COPY * len(points) ** 2 + REFRESH * self.z.size * len(highest)
        if saved > cost and whole.has_room(self, len(points)):
            self._follow(points, part_of(whole.matrix, points), highest)

    def _follow(self, points: Ints, block: Array, highest: Array) -> None:
        self.points, self.block, self.rest = points, block, 10**9
        self.budget = min(self._reach(highest, points), np.finfo(np.float64).max)
        self.z = np.ascontiguousarray(self.z[:, points])
        self.moved = np.zeros_like(self.z)

    def _reach(self, highest: Array, points: Ints) -> float:
        """Σ η|G| up to which no other point can come on."""
        assert self.rise is not None
        ends = -highest / np.maximum(self.rise, np.finfo(highest.dtype).tiny)
        ends[points] = np.inf
        return float(ends.min())


class ActiveSet:
    """Z and C of all neurons of one run, in the order of their teams, moved in place."""

    def __init__(self, of: Runs, number: int) -> None:
        self.matrix, self.output_bias, self.number = of.matrix, of.output_bias, number
        self.ends, self.second, self.shift = of.ends, of.second, of.shift
        self.start, self.z, self.coefficients = of.start[number], of.z[number], of.coefficients[number]
        self.biases, self.outputs = of.biases[number], of.outputs[number]
        self.gradient = np.empty_like(self.start)
        self.asked, self.follows = False, False  # whether bounds were asked for, and a team follows a part
        self.everything: Ints = np.arange(len(self.matrix))
        self.teams = self._teams()
        self._add_all_heights()
        # At the start half of the neurons are on at every point, and rows of K are not worth skipping.
        self.dense, self.skips, self.steps, self.next_look = True, False, 0, 2
        self.pulls: Array | None = None  # those of the last step, once bounds may rest on their signs

    def by_teams(self, pulls: Array, monotone: bool) -> bool:
        """Begin a step; `pulls` (output, sample) is η∂L/∂F. True if its teams are to make it, else it is made."""
        self.pulls = pulls if monotone else None
        self.steps += 1
        if self.dense and not self._skipping_pays():
            self._dense_step(pulls)
            return False
        self._reset_outputs()
        return True

    def end_step(self) -> None:
        """Choose points anew for the teams that have to."""
        spent = [team for team in self.teams if team.budget <= 0 or team.rest <= 0]
        for team in spent:
            team.choose()
        if spent:  # a point that was not followed may have come on in this very step
            self._add_all_heights()
            self.follows = any(team.budget < np.inf for team in self.teams)
        self.dense = not self.follows and DENSE_IS_FASTER * sum([team.work for team in self.teams]) > self.z.size

    def bounded(self, team: Team) -> bool:
        """Whether it is known how fast a team can raise pre-activations; found out at the first call."""
        if not self.asked and self.pulls is not None and self.pulls.all():
            self._bound(self.pulls)
        self.asked = True
        return team.rise is not None

    def settle(self) -> None:
        """Bring the coefficients up to date."""
        if not self.dense:  # else nobody follows a part
            for team in self.teams:
                team.settle()

    def refresh(self, rows: slice) -> None:
        """Z = Z(0) + C K of some neurons."""
        np.matmul(self.coefficients[rows], self.matrix, out=self.z[rows])
        self.z[rows] += self.start[rows]
        self.z[rows] += self.biases[rows, None]

    def has_room(self, asking: Team, points: int) -> bool:
        """Whether one more copy of a part of K fits beside those of the other teams."""
        others = sum(len(team.points) ** 2 for team in self.teams if team is not asking and team.budget < np.inf)
        return (others + points**2) * self.matrix.itemsize <= ROOM

    def _skipping_pays(self) -> bool:
        """Whether so few neurons are on that rows of K are worth skipping; looked at now and then."""
        if self.steps < self.next_look:
            return False
        self.next_look = self.steps + max(1, round(LOOK * self.steps))
        self.skips = SKIPPING * int(np.count_nonzero(self.z >= 0)) <= self.z.size
        return DENSE_IS_FASTER * rows_to_read(self.z, self.ends) <= self.z.size

    def _dense_step(self, pulls: Array) -> None:
        whole_gradient(self.gradient, self.z, self.second, pulls)
        product = (skipping_product if self.skips else whole_product)(self.gradient, self.matrix)
        self._reset_outputs()
        arrays = self.z, self.coefficients, self.biases, self.gradient, product, self.second, self.outputs
        whole_step(*arrays, self.shift)

    def _add_all_heights(self) -> None:
        self._reset_outputs()
        for team in self.teams:
            add_heights(self.outputs, team.points, team.driven, team.direction, team.z, team.scale)

    def _reset_outputs(self) -> None:
        self.outputs[:] = self.output_bias[:, None]

    def _teams(self) -> list[Team]:
        found, ends = [], self.ends.tolist()
        for begin, end in zip([0, *ends], ends, strict=False):
            rows = slice(begin, end)
            columns = self.second[:, rows]
            if columns.any():  # a neuron that drives nothing never moves
                found.append(Team(rows, columns, self))
        return found

    def _bound(self, pulls: Array) -> None:
        """|(K_ij s_j)_+| of each team; unknown where a neuron drives several outputs, or a sign is not known."""
        square, tilts = np.empty_like(self.matrix[0]), np.empty_like(pulls)
        signs, shift = -np.sign(pulls), self.matrix.dtype.type(self.shift)
        for start in range(0, len(square), ROWS):
            rows = slice(start, start + ROWS)
            part = self.matrix[rows] + shift
            square[rows] = np.einsum("ij,ij->i", part, part)
            part *= np.abs(part)
            tilts[:, rows] = signs @ part.T  # (output, sample)
        slack = len(square) * np.finfo(square.dtype).eps * square  # rounding may not make a bound too small
        for team in self.teams:
            if len(team.driven) == 1:
                way = np.sign(team.direction[0])
                team.rise = np.sqrt(np.maximum(square + way * tilts[team.driven[0]], 0) / 2 + slack)


class Runs:
    """Runs on one K from several starts. Each chooses its own points; teams that follow all are moved together."""

    def __init__(self, matrix: Array, start: Array, shift: bool, second: Array, output_bias: Array, team: Ints) -> None:
        """K, W(0) Xᵀ + b(0) (run, neuron, sample), whether b is trained, A (output, neuron), c, the team of each."""
        self.matrix, self.shift, self.output_bias = matrix, shift, output_bias
        self.ends: Ints = np.cumsum(np.bincount(team))  # of the rows of each team
        in_order = (np.diff(team) >= 0).all()
        self.order = slice(None) if in_order else np.argsort(team, kind="stable")
        self.second = np.ascontiguousarray(second[:, self.order])
        self.start = np.ascontiguousarray(start[:, self.order])
        self.z, self.coefficients = self.start.copy(), np.zeros_like(self.start)
        self.biases = np.zeros(self.start.shape[:2], dtype=matrix.dtype)  # how far they have moved
        self.outputs: Array = np.empty((len(start), len(output_bias), len(matrix)), dtype=matrix.dtype)  # F
        self.each = [ActiveSet(self, number) for number in range(len(start))]

    def step(self, pulls: Array, monotone: bool) -> None:
        """Make a step of every run; `pulls` (run, output, sample) is η∂L/∂F."""
        moving = [run for run in self.each if run.by_teams(pulls[run.number], monotone)]
        for teams in zip(*[run.teams for run in moving], strict=True):
            together = [team for team in teams if team.budget == np.inf] if len(teams) > 1 else []
            self._move(together, pulls)
            for team in teams:
                if team not in together:
                    team.step(pulls[team.whole.number])
        for run in moving:
            run.end_step()

    def _move(self, teams: list[Team], pulls: Array) -> None:
        """A step of the teams of equal place in their runs that follow all points."""
        if not teams:
            return
        one, numbers = teams[0], np.array([team.whole.number for team in teams])
        z, moved, biases = self.z, self.coefficients, self.biases
        told = pulls, self.outputs, one.points, one.driven, one.direction, self.shift
        found = np.empty(len(teams)), np.empty(len(teams), dtype=np.int64)
        team_step(self.matrix, z, moved, biases, one.rows.start, one.scale, *told, numbers, *found)
        for team, pace, work in zip(teams, found[0].tolist(), found[1].tolist(), strict=True):
            team.count(pace, work)

    def write(self, coefficients: Array, biases: Array | None) -> None:
        """Write C (run, neuron, sample) in the order in which neurons came, and add to b how far they have moved."""
        for run in self.each:
            run.settle()
        coefficients[:, self.order] = self.coefficients
        if biases is not None:
            biases[:, self.order] += self.biases
