"""Larger problems, 4 to 30 axes and 4 to 14 neurons, against solvers: Clarabel for ℓ2, HiGHS for ℓ∞.

They are asked along a tree over the signs of the neurons, every cell a convex program; a sign that the nearest point
so far has already costs nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import clarabel
import numpy as np
import scipy.optimize
from scipy import sparse

from campaign.soundness.families import Array
from campaign.soundness.hostile import bent
from campaign.soundness.problem import Problem, Readout
from campaign.soundness.rationals import groups, rational
from campaign.soundness.truth import Truth

SOLVERS_AGREE = 1e-6  # relative; both are asked for feasibility and gap to 1e-10, in units of the farthest half-space
FAR = 1e5  # in units of the point; farther out a solver's "infeasible" is no evidence
PROGRAMS = 4000  # that one problem may cost; exact copies of neurons make cells without interior by the thousand
FAMILIES = ("ordinary", "duplicated", "dead", "lattice", "unbiased")  # what solvers can be trusted with
READOUTS: tuple[Readout, ...] = ("sign", "sign", "argmax", "maximum", "summed-logits")


def larger_problem(seed: int, number: int) -> Problem:
    """Return larger problem `number` of a campaign."""
    rng = np.random.default_rng([seed, number, 1])
    family, readout = str(rng.choice(FAMILIES)), READOUTS[rng.integers(5)]
    neurons = int(min(4 + rng.geometric(0.3) - 1, 14))
    problem = bent(rng, family, readout, (int(rng.integers(4, 31)), neurons, int(rng.integers(2, 6))))
    scale = 1 / math.sqrt(len(problem.x)) if family != "lattice" else 1.0
    return replace(problem, weights=tuple(tuple(scale * w for w in row) for row in problem.weights))


class Halfspaces(NamedTuple):
    """normals @ δ + offsets ≤ 0."""

    normals: Array  # (constraint, axis)
    offsets: Array  # (constraint,)

    def and_also(self, normals: Array, offsets: Array) -> Halfspaces:
        """With more of them."""
        return Halfspaces(np.vstack([self.normals, normals]), np.append(self.offsets, offsets))


@dataclass
class Undecided(Exception):
    """A solver ended without an answer."""

    status: str


def solver_radius(problem: Problem) -> Truth:
    """Return the radius that Clarabel (ℓ2) or HiGHS (ℓ∞) finds over all cells, with SOLVERS_AGREE either way."""
    weights, biases, x = np.array(problem.weights), np.array(problem.biases), np.array(problem.x)
    hidden = weights @ x + biases
    if problem.norm == "l2" and problem.box is None:  # the nearest fooled point lies in the span of the weights
        weights = weights @ np.linalg.svd(weights, full_matrices=False)[2].T
    lengths = np.linalg.norm(weights, axis=1)
    far = np.abs(hidden) / np.where(lengths > 0, lengths, 1e-300)
    order = [int(j) for j in np.argsort(-far)]
    tree = _Tree(problem, weights, hidden, rows(problem))
    tree.descend(box_halfspaces(problem, weights.shape[1]), np.zeros(weights.shape[1]), [], order)
    return enclosed(problem, tree.best, SOLVERS_AGREE)


def rows(problem: Problem) -> list[tuple[Array, Array]]:
    """Rows A (row, neuron) and c (row,) of every rival, which is reached where all A ReLU(z) + c ≤ 0."""
    second, constants = np.array(problem.second), np.array(problem.constants)
    if problem.readout == "sign":
        return [(problem.y * second, problem.y * constants)]
    own, others = groups(problem)
    if problem.readout == "summed-logits":
        signs = np.where(np.isin(np.arange(len(second)), own), 1.0, -1.0)
        return [((signs @ second)[None], np.array([signs @ constants]))]
    return [(second[own] - second[r], constants[own] - constants[r]) for r in others]


def box_halfspaces(problem: Problem, axes: int) -> Halfspaces:
    """The finite sides of the box around x."""
    if problem.box is None:
        return Halfspaces(np.empty((0, axes)), np.empty(0))
    low, high, x = np.array(problem.box[0]), np.array(problem.box[1]), np.array(problem.x)
    has_low, has_high = np.isfinite(low), np.isfinite(high)
    eye = np.eye(axes)
    return Halfspaces(np.vstack([-eye[has_low], eye[has_high]]), np.append((low - x)[has_low], (x - high)[has_high]))


def enclosed(problem: Problem, radius: float, agree: float) -> Truth:
    """The truth as far as a solver's radius tells it."""
    far = FAR * (1.0 + float(np.abs(problem.x).max()))
    power = 2 if problem.norm == "l2" else 1
    low = rational(min(radius, far)) * rational(1 - agree) - rational(agree * agree)
    high = None if radius > far else (rational(radius) * rational(1 + agree) + rational(agree * agree)) ** power
    return Truth(problem.norm, max(low, 0 * low) ** power, high)


@dataclass
class _Tree:
    problem: Problem
    weights: Array
    hidden: Array
    rivals: Sequence[tuple[Array, Array]]
    best: float = math.inf
    programs: int = 0

    def descend(self, given: Halfspaces, near: Array, on: list[int], left: Sequence[int]) -> None:
        """Fix the signs of the neurons `left`; `near` is the nearest point under `given`."""
        if self._size(near) >= self.best:
            return
        if not left:
            for coefficients, constants in self.rivals:
                linear = coefficients[:, on]
                cell = given.and_also(linear @ self.weights[on], linear @ self.hidden[on] + constants)
                self.best = min(self.best, self._size(self._nearest(cell, near)))
            return
        neuron, rest = left[0], left[1:]
        weights, hidden = self.weights[neuron], self.hidden[neuron]
        is_on = bool(weights @ near + hidden > 0)
        for side in (is_on, not is_on):
            sign = -1.0 if side else 1.0
            child = given.and_also(sign * weights[None], np.array([sign * hidden]))
            self.descend(child, self._nearest(child, near), [*on, neuron] if side else on, rest)

    def _size(self, delta: Array | None) -> float:
        if delta is None or not np.isfinite(delta).all():
            return math.inf
        return float(np.linalg.norm(delta) if self.problem.norm == "l2" else np.abs(delta).max())

    def _nearest(self, given: Halfspaces, near: Array) -> Array:
        """The nearest point, ∞ if there is none; `near` itself where it will do."""
        if (given.normals @ near + given.offsets <= 0).all():
            return near
        self.programs += 1
        if self.programs > PROGRAMS:
            raise Undecided("too many cells")
        found = (least_square if self.problem.norm == "l2" else least_cube)(given)
        return np.full_like(near, np.inf) if found is None else found


def _scaled(given: Halfspaces, order: float) -> tuple[Array, Array, float] | None:
    """Unit normals and offsets in units of the farthest half-space; None if a constant one excludes everything."""
    lengths = np.linalg.norm(given.normals, ord=order, axis=1)
    flat = lengths <= 1e-13 * max(lengths.max(initial=0.0), 1.0)
    if (given.offsets[flat] > 0).any():
        return None
    normals, offsets, lengths = given.normals[~flat], given.offsets[~flat], lengths[~flat]
    unit = max(float((offsets / lengths).max(initial=0.0)), 1e-12)
    return normals / lengths[:, None], offsets / (lengths * unit), unit


def least_square(given: Halfspaces) -> Array | None:
    """min ‖δ‖ by Clarabel, None if infeasible."""
    if (scaled := _scaled(given, 2)) is None:
        return None
    normals, offsets, unit = scaled
    axes = normals.shape[1]
    solution = None
    for tolerance in (1e-10, 1e-8):
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tolerance
        cones = [clarabel.NonnegativeConeT(len(offsets))]
        quadratic, linear = sparse.csc_matrix(np.eye(axes)), sparse.csc_matrix(normals)
        solution = clarabel.DefaultSolver(quadratic, np.zeros(axes), linear, -offsets, cones, settings).solve()
        if solution.status == clarabel.SolverStatus.Solved:
            return unit * np.array(solution.x)
        if solution.status == clarabel.SolverStatus.PrimalInfeasible:
            return None
    raise Undecided(str(solution.status if solution else ""))


def least_cube(given: Halfspaces) -> Array | None:
    """min max |δ_i| by HiGHS, None if infeasible."""
    if (scaled := _scaled(given, 1)) is None:
        return None
    normals, offsets, unit = scaled
    axes = normals.shape[1]
    faces = [np.hstack([sign * np.eye(axes), -np.ones((axes, 1))]) for sign in (1, -1)]
    found = scipy.optimize.linprog(
        np.append(np.zeros(axes), 1.0),
        A_ub=np.vstack([np.hstack([normals, np.zeros((len(normals), 1))]), *faces]),
        b_ub=np.append(-offsets, np.zeros(2 * axes)),
        bounds=(None, None),
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if found.status == 2:
        return None
    if found.status != 0 or found.x is None:
        raise Undecided(str(found.message))
    return unit * np.asarray(found.x[:-1])
