"""Certificates of infinite radii: a float linear program says which inequalities are tight, rationals solve them.

Where floats mislead, small networks are decided in rationals alone.
"""

from __future__ import annotations

import time
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linprog

from featavg.arrays import Bools
from featavg.robustness.proof.certificates import Branch, Certificate, Leaf, exact_rows, rivals_in_rows
from featavg.robustness.proof.format import Floats, Problem
from featavg.robustness.proof.frames import scale_neurons
from featavg.robustness.search.rational_program import feasible, nearest_float

Sides = dict[int, int]  # −1 off, +1 on, by neuron
# Multipliers this close to a bound, relative to the largest, are taken to be at it; the first that works is kept.
TIGHT = (1e-9, 1e-12, 1e-6)
# Bounds of θ, as a multiple of the largest coefficient: a solution may be multiplied by any positive number.
WIDE = 1e3
# Neurons, axes and rows of a network that is small.
SMALL = 20


def find_emptiness(problem: Problem, wanted: Bools, seconds: float = 1.0) -> list[Certificate]:
    """Certificates for the rivals of the labels that wanted points have, as far as they are found in time per label.

    Without a target all rivals of a label are needed, so that the first one without a certificate ends the search.
    """
    found: list[Certificate] = []
    for label in np.unique(problem.labels[wanted]).tolist():
        deadline = time.process_time() + seconds
        for rival in rivals_in_rows(problem, label):
            tree = _Finder(problem, label, rival, deadline).tree({})
            if tree is not None:
                found.append(Certificate(label, rival, tree))
            elif problem.target is None:
                break
    return found


class Sketch(NamedTuple):
    """A float solution: multipliers of rows and of scaled neurons, and h."""

    mix: Floats
    theta: Floats
    normal: Floats


class _Finder:
    """One rival of one label."""

    def __init__(self, problem: Problem, label: int, rival: int, deadline: float) -> None:
        self.exact = exact_rows(problem, label, rival)
        self.scaled, self.deadline = scale_neurons(problem.neurons), deadline
        with np.errstate(over="ignore"):
            slopes = np.ldexp([[nearest_float(a) for a in row] for row in self.exact.rows], self.scaled.exponent)
        constants = np.array([nearest_float(c) for c in self.exact.constants])
        size = max(float(np.abs(slopes).max(initial=0.0)), float(np.abs(constants).max(initial=0.0)), 1e-300)
        self.slopes, self.constants = slopes / size, constants / size
        axes = problem.x.shape[1]
        self.low = np.full(axes, -np.inf) if problem.low is None else problem.low
        self.high = np.full(axes, np.inf) if problem.high is None else problem.high
        self.is_small = len(self.slopes) + sum(problem.neurons.weights.shape) <= SMALL
        self.usable = all(np.isfinite(a).all() for a in (self.slopes, self.scaled.biases, self.constants))

    def tree(self, sides: Sides) -> Branch | Leaf | None:
        """A leaf if one program gives it, else both sides of a neuron whose coefficient may be negative.

        A leaf may come early: the signs so far can contradict each other.
        """
        if not self.usable or time.process_time() > self.deadline:
            return None
        leaf = self.leaf(sides)
        least = self.slopes.min(axis=0)
        left = [j for j in np.argsort(least).tolist() if j not in sides and least[j] < 0]
        if leaf is not None or not left:
            return leaf
        off = self.tree({**sides, left[0]: -1})
        on = None if off is None else self.tree({**sides, left[0]: 1})
        return None if off is None or on is None else Branch(left[0], off, on)

    def leaf(self, sides: Sides) -> Leaf | None:
        """Multipliers that hold exactly, if the program's basis gives such."""
        sketch = self.sketch(sides)
        if sketch is not None:
            for tight in TIGHT:
                leaf = self.exactly(sketch, sides, tight)
                if leaf is not None and self.exact.holds(leaf, sides):
                    return leaf
        return self.in_rationals(sides) if self.is_small else None

    def sketch(self, sides: Sides) -> Sketch | None:
        """Largest θ·b + λ·c + Σ_i min(h_i low_i, h_i high_i), in floats, over multipliers of bounded size.

        h_i = p_i − n_i, with p_i only where low_i is finite and n_i only where high_i is.
        """
        weights = self.scaled.weights
        count, neurons = self.slopes.shape
        below, above = np.flatnonzero(np.isfinite(self.low)), np.flatnonzero(np.isfinite(self.high))
        side = [sides.get(j, 0) for j in range(neurons)]
        bounds: list[tuple[float, float | None]] = [(0.0, 1.0)] * count
        bounds += [(0.0 if s <= 0 else -WIDE, WIDE) for s in side]
        bounds += [(0.0, None)] * (len(below) + len(above))
        capped = [j for j in range(neurons) if side[j] >= 0]
        under = np.concatenate([-self.slopes.T[capped], np.eye(neurons)[capped]], axis=1)
        under = np.pad(under, ((0, 0), (0, len(below) + len(above))))
        axes = np.eye(len(self.low))
        equal = np.concatenate([np.zeros((len(axes), count)), weights.T, -axes[:, below], axes[:, above]], axis=1)
        gain = np.concatenate([self.constants, self.scaled.biases, self.low[below], -self.high[above]])
        zeros = np.zeros(len(capped)), np.zeros(len(axes))
        found: Any = linprog(-gain, A_ub=under, b_ub=zeros[0], A_eq=equal, b_eq=zeros[1], bounds=bounds)
        if found.status != 0 or not -found.fun > 0:
            return None
        theta = found.x[count : count + neurons]
        return Sketch(found.x[:count], theta, weights.T @ theta)

    def in_rationals(self, sides: Sides) -> Leaf | None:
        """λ, θ and h = p − n, with p_i, n_i >= 0 only where low_i, high_i are finite, and a bound of 1.

        θ_j <= a_j means a slack s_j >= 0 with θ_j + s_j = a_j = Σ_i λ_i A_ij, on a neuron that may be on; θ_j is
        a_j − s_j where it may be negative, and a variable >= 0 elsewhere.
        """
        exact, zero, one = self.exact, Fraction(0), Fraction(1)
        # One column per variable: what it adds to h, to the bound, and to θ + s − a of neurons that may be both.
        both = [j for j in range(exact.neurons) if sides.get(j, 0) == 0]
        on = [j for j in range(exact.neurons) if sides.get(j, 0) > 0]
        weights = [_rationals(exact.weights[j]) for j in range(exact.neurons)]

        def column(theta: dict[int, Fraction], bound: Fraction, slack: dict[int, Fraction]) -> list[Fraction]:
            normal = [sum((v * weights[j][i] for j, v in theta.items()), start=zero) for i in range(exact.axes)]
            total = bound + sum((v * exact.biases[j] for j, v in theta.items()), start=zero)
            return [*normal, total, *(slack.get(j, zero) for j in both)]

        columns = [
            column({j: row[j] for j in on}, c, {j: -row[j] for j in both})
            for row, c in zip(exact.rows, exact.constants, strict=True)
        ]
        columns += [
            column({j: -one}, zero, {}) if j in on else column({j: one}, zero, {j: one}) for j in range(exact.neurons)
        ]
        columns += [column({}, zero, {j: one}) for j in both]
        for sign, ends in ((-1, exact.low), (1, exact.high)):
            for i, end in enumerate(ends):
                if end is not None:
                    columns.append(column({}, -sign * end, {}))
                    columns[-1][i] = Fraction(sign)
        target = [zero] * exact.axes + [one] + [zero] * len(both)
        found = feasible([list(row) for row in zip(*columns, strict=True)], target)
        if found is None:
            return None
        mix = {i: v for i, v in enumerate(found[: len(exact.rows)]) if v}
        theta = dict(enumerate(found[len(exact.rows) : len(exact.rows) + exact.neurons]))
        for j in on:
            theta[j] = sum((v * exact.rows[i][j] for i, v in mix.items()), start=zero) - theta[j]
        leaf = Leaf(mix, {j: v for j, v in theta.items() if v})
        return leaf if exact.holds(leaf, sides) else None

    def exactly(self, sketch: Sketch, sides: Sides, tight: float) -> Leaf | None:
        """Solve Wᵀθ = 0, on the axes where the sketch says so, with all tight bounds as equations.

        Unknown: multipliers strictly between their bounds. θ_j = 0, or θ_j = Σ_i λ_i a_ij, where a bound is tight.
        """
        exact, mixes = self.exact, sketch.mix.tolist()
        largest = max(float(np.abs(sketch.theta).max(initial=0.0)), 1e-300)
        near = tight * max(largest, *mixes)
        bound = sketch.mix @ self.slopes
        upper = [j for j, t in enumerate(sketch.theta) if sides.get(j, 0) >= 0 and abs(t - bound[j]) <= near]
        free = [j for j, t in enumerate(sketch.theta) if j not in upper and abs(t) > near]
        free_rows = [i for i, value in enumerate(mixes) if near < value < 1.0 - near]
        mix = {i: Fraction(1) for i, value in enumerate(mixes) if value >= 1.0 - near}
        axes = np.flatnonzero(np.abs(sketch.normal) <= tight * largest)
        weights = [_rationals(exact.weights[j, axes]) for j in range(exact.neurons)]
        at_bound = [sum((a[j] * weights[j] for j in upper), start=_rationals(0.0 * axes)) for a in exact.rows]
        columns = [at_bound[i] for i in free_rows] + [weights[j] for j in free]
        known = -sum((at_bound[i] for i in mix), start=_rationals(0.0 * axes))
        guess = [Fraction(mixes[i]) for i in free_rows]
        guess += [Fraction(float(sketch.theta[j])) / Fraction(2) ** int(self.scaled.exponent[j]) for j in free]
        solved = solve_exactly(columns, known, guess)
        if solved is None:
            return None
        mix |= dict(zip(free_rows, solved[: len(free_rows)], strict=True))
        theta = {j: sum((v * exact.rows[i][j] for i, v in mix.items()), start=Fraction(0)) for j in upper}
        theta |= dict(zip(free, solved[len(free_rows) :], strict=True))
        return Leaf({i: v for i, v in mix.items() if v}, {j: v for j, v in theta.items() if v})


def _rationals(values: Any) -> Any:
    return np.array([Fraction(value) for value in values.tolist()], dtype=object)


def solve_exactly(columns: list[Any], known: Any, guess: list[Fraction]) -> list[Fraction] | None:
    """x with Σ_k x_k column_k = known in rationals, equal to the guess where that is free; None if there is none.

    >>> solve_exactly([[Fraction(1)], [Fraction(2)]], [Fraction(3)], [Fraction(0), Fraction(1, 2)])
    [Fraction(2, 1), Fraction(1, 2)]
    """
    count = len(columns)
    matrix = [[column[i] for column in columns] + [known[i]] for i in range(len(known))]
    pivots: list[int] = []
    for k in range(count):
        here = len(pivots)
        row = next((r for r in range(here, len(matrix)) if matrix[r][k]), None)
        if row is None:
            continue
        matrix[here], matrix[row] = matrix[row], matrix[here]
        head = matrix[here][k]
        matrix[here] = [value / head for value in matrix[here]]
        for r in range(len(matrix)):
            factor = matrix[r][k]
            if r != here and factor:
                matrix[r] = [value - factor * first for value, first in zip(matrix[r], matrix[here], strict=True)]
        pivots.append(k)
    if any(row[count] for row in matrix[len(pivots) :]):
        return None
    solution = list(guess)
    others = [k for k in range(count) if k not in pivots]
    for r, k in enumerate(pivots):
        solution[k] = matrix[r][count] - sum((matrix[r][o] * solution[o] for o in others), start=Fraction(0))
    return solution
