"""The radius by SCIP: one mixed-integer program a rival, one binary a neuron, both norms, any box."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyscipopt

from campaign.soundness.families import Array
from campaign.soundness.larger import FAR, Undecided, enclosed, rows
from campaign.soundness.problem import Problem
from campaign.soundness.rationals import rational
from campaign.soundness.truth import Truth

SCIP_AGREES = 1e-5  # relative; SCIP accepts constraints that are violated by 1e-6
SECONDS = 30.0


def scip_truth(problem: Problem, guess: float) -> Truth:
    """Return what SCIP tells about the radius within twice a guess, which need not be right."""
    horizon = 2 * guess if 0 < guess < FAR else 10 * (1.0 + max(map(abs, problem.x)))
    radius = scip_radius(problem, horizon)
    if math.isfinite(radius):
        return enclosed(problem, radius, SCIP_AGREES)
    low = rational(horizon * (1 - SCIP_AGREES))
    return Truth(problem.norm, low * low if problem.norm == "l2" else low, None)


def scip_radius(problem: Problem, horizon: float) -> float:
    """Return the radius, ∞ if nothing within the horizon is fooled."""
    return min(horizon * _share_of_horizon(problem, horizon, *rival) for rival in rows(problem))


def _share_of_horizon(problem: Problem, horizon: float, coefficients: Array, constants: Array) -> float:
    """The distance to one rival, in units of the horizon, which suit SCIP's tolerances."""
    program = pyscipopt.Model()
    program.hideOutput()
    program.setParam("limits/gap", 1e-7)
    program.setParam("limits/time", SECONDS)
    delta = [program.addVar(lb=low, ub=high) for low, high in _sides(problem, horizon)]
    weights = horizon * np.array(problem.weights)
    hidden = np.array(problem.weights) @ problem.x + np.array(problem.biases)
    units = np.maximum(np.linalg.norm(weights, axis=1), np.abs(hidden) * 1e-6)
    units[units == 0] = 1.0
    active = [_neuron(program, w / u, z / u, delta) for w, z, u in zip(weights, hidden, units, strict=True)]
    for row, constant in zip(coefficients * units, constants, strict=True):
        size = max(float(np.abs(row).max()), 1e-300)
        total = pyscipopt.quicksum(float(a / size) * h for a, h in zip(row, active, strict=True))
        program.addCons(total + float(constant / size) <= 0)
    length = program.addVar(lb=0)
    if problem.norm == "l2":
        program.addCons(pyscipopt.quicksum(step * step for step in delta) <= length)
    else:
        for step in delta:
            program.addCons(step <= length)
            program.addCons(-step <= length)
    program.setObjective(length)
    program.optimize()
    if program.getStatus() not in ("optimal", "gaplimit", "infeasible"):
        raise Undecided(program.getStatus())
    if program.getStatus() == "infeasible":
        return math.inf
    value = max(program.getObjVal(), 0.0)
    return math.sqrt(value) if problem.norm == "l2" else value


def _sides(problem: Problem, horizon: float) -> list[tuple[float, float]]:
    """What the box leaves of [−1, 1]."""
    if problem.box is None:
        return [(-1.0, 1.0)] * len(problem.x)
    ends = zip(problem.box[0], problem.x, problem.box[1], strict=True)
    return [(max((low - x) / horizon, -1.0), min((high - x) / horizon, 1.0)) for low, x, high in ends]


def _neuron(program: Any, weights: Array, hidden: float, delta: Sequence[Any]) -> Any:
    """ReLU(⟨w, δ⟩ + z) with one binary, none where its sign cannot change."""
    reach = float(np.abs(weights).sum())
    z = pyscipopt.quicksum(float(w) * d for w, d in zip(weights, delta, strict=True)) + float(hidden)
    value = program.addVar(lb=0, ub=max(reach + float(hidden), 0.0))
    if hidden >= reach:
        program.addCons(value == z)
    elif hidden > -reach:
        on = program.addVar(vtype="B")
        program.addCons(value >= z)
        program.addCons(value <= z + (reach - float(hidden)) * (1 - on))
        program.addCons(value <= (reach + float(hidden)) * on)
    return value
