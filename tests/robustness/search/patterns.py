"""The radius by brute force: on every activation pattern the network is linear, and the nearest point is a program."""

from __future__ import annotations

import itertools

import clarabel
import numpy as np
import scipy.optimize
from scipy import sparse

from featavg.robustness.proof.format import Problem
from featavg.robustness.proof.regions import rivals, rows


def radius_by_patterns(problem: Problem, point: int) -> float:
    """The least distance over all rivals (or the target) and all patterns, in the box; ∞ if there is none."""
    weights, biases, second, constants = problem.neurons
    x, label = problem.x[point], int(problem.labels[point])
    start, axes = weights @ x + biases, np.eye(len(x))
    low, high = np.full(len(x), -np.inf), np.full(len(x), np.inf)
    if problem.low is not None and problem.high is not None:
        low, high = problem.low - x, problem.high - x
    best = np.inf
    for rival in rivals(problem.decision, label, len(constants)).tolist():
        if problem.target is not None and rival != problem.target[point]:
            continue
        signs = rows(problem.decision, label, rival, len(constants))
        for pattern in itertools.product((0.0, 1.0), repeat=len(biases)):
            on = np.array(pattern)
            linear, side = (signs @ second) * on, 1.0 - 2.0 * on
            normals = np.vstack([linear @ weights, side[:, None] * weights, axes, -axes])
            offsets = np.concatenate([linear @ start + signs @ constants, side * start, -high, low])
            kept = np.isfinite(offsets)
            best = min(best, (nearest_l2 if problem.norm == "l2" else nearest_linf)(normals[kept], offsets[kept]))
    return best


def nearest_l2(normals: np.ndarray, offsets: np.ndarray) -> float:
    """min ‖δ‖ subject to normals @ δ + offsets <= 0, by Clarabel."""
    if (offsets <= 0).all():
        return 0.0
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    cone = [clarabel.NonnegativeConeT(len(offsets))]
    identity, matrix = sparse.csc_matrix(np.eye(normals.shape[1])), sparse.csc_matrix(normals)
    found = clarabel.DefaultSolver(identity, np.zeros(normals.shape[1]), matrix, -offsets, cone, settings).solve()
    solved = (clarabel.SolverStatus.Solved, clarabel.SolverStatus.AlmostSolved)
    return float(np.linalg.norm(found.x)) if found.status in solved else np.inf


def nearest_linf(normals: np.ndarray, offsets: np.ndarray) -> float:
    """min max|δ_i| subject to normals @ δ + offsets <= 0, by HiGHS."""
    size = normals.shape[1]
    sides = [np.hstack([sign * np.eye(size), -np.ones((size, 1))]) for sign in (1, -1)]
    found = scipy.optimize.linprog(
        np.append(np.zeros(size), 1.0),
        A_ub=np.vstack([np.hstack([normals, np.zeros((len(normals), 1))]), *sides]),
        b_ub=np.concatenate([-offsets, np.zeros(2 * size)]),
        bounds=(None, None),
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    return float(found.fun) if found.status == 0 else np.inf
