"""Truth by other means: every activation pattern a QP for Clarabel, or one mixed-integer program for SCIP.

Nothing of the search is used here; the fooled set is written down once more, from the definition of the read-outs.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import clarabel
import numpy as np
import pyscipopt
import scipy.optimize
from scipy import sparse

from featavg.arrays import Array
from featavg.model import BinaryNetwork, MulticlassNetwork
from featavg.robustness.question import Question, ask

KINDS = (
    "dense",
    "duplicate",
    "parallel",
    "antiparallel",
    "constant",
    "dead",
    "positive",
    "near-tie",
    "lattice",
    "unbiased",
)


def random_problem(
    rng: np.random.Generator, kind: str | None = None, neurons: int | None = None, points: int = 4
) -> Question:
    """Draw a network of 1 ... 12 neurons, ordinary or degenerate, with any read-out, and points to ask about."""
    kind = kind or str(rng.choice(KINDS))
    neurons = neurons or int(rng.integers(1, 13))
    dim, outputs = int(rng.integers(2, 41)), int(rng.choice([1, 1, 2, 3, 4]))
    weights = rng.standard_normal((neurons, dim)) / np.sqrt(dim)
    biases = rng.standard_normal(neurons)
    second = rng.standard_normal((outputs, neurons))
    output_bias = 0.5 * rng.standard_normal(outputs)
    half = neurons // 2
    if kind == "duplicate":
        weights[:half], biases[:half] = weights[neurons - half :], biases[neurons - half :]
    elif kind in ("parallel", "antiparallel"):
        factor = rng.uniform(0.2, 3.0, half) * (1.0 if kind == "parallel" else -1.0)
        weights[:half], biases[:half] = factor[:, None] * weights[neurons - half :], factor * biases[neurons - half :]
    elif kind == "constant":
        weights[: max(half, 1)] = 0.0
    elif kind == "dead":
        biases[: max(half, 1)] = -50.0
    elif kind == "positive":
        second, output_bias = np.abs(second), np.abs(output_bias) + 0.1
    elif kind == "lattice":
        weights, biases = np.round(2 * weights), np.round(biases)
        second, output_bias = np.sign(second), np.round(output_bias)
    elif kind == "unbiased":
        biases[:], output_bias[:] = 0.0, 0.0
    x = rng.standard_normal((points, dim)) * rng.choice([0.3, 1.0, 3.0])
    return _labelled(rng, (weights, biases, second, output_bias), x, kind)


def _labelled(rng: np.random.Generator, arrays: tuple[Array, ...], x: Array, kind: str) -> Question:
    weights, biases, second, output_bias = arrays
    if len(second) == 1:
        network = BinaryNetwork(*arrays)
        if kind == "near-tie":
            share = 10.0 ** rng.uniform(-8, -2)
            network = BinaryNetwork(weights, biases, second, output_bias - network.score(x[:1]) * (1 - share))
        y = np.where(network.score(x) >= 0, 1, -1)
        y[-1] *= rng.choice([-1, 1])
        return ask(network, x, y)
    labels = np.where(np.arange(len(second)) % 2 == 0, 1, -1)
    many = MulticlassNetwork(weights, biases, second, output_bias, class_labels=labels)
    readout = str(rng.choice(["argmax", "maximum", "summed-logits"]))
    if readout == "argmax":
        return ask(many, x, many.predict(x))
    return ask(many, x, np.where(many.score(x, readout) >= 0, 1, -1), readout=readout)  # type: ignore[arg-type]


def rival_rows(question: Question, point: int) -> Iterator[tuple[Array, Array]]:
    """Rows A, c of every rival's set: all of A ReLU(z) + c <= 0 must hold, for one rival, where x is fooled."""
    network, y = question.network, int(question.y[point])
    outputs, constants = network.second, network.output_bias
    if question.readout.name == "sign":
        yield y * outputs, y * constants
    elif question.readout.name == "summed-logits":
        signs = y * network.class_labels
        yield (signs @ outputs)[None], np.array([signs @ constants])
    else:
        argmax = question.readout.name == "argmax"
        sides = np.arange(len(outputs)) if argmax else y * network.class_labels
        own = [y] if argmax else np.flatnonzero(sides > 0)
        for rival in range(len(outputs)):
            if rival != y if argmax else sides[rival] < 0:
                yield outputs[own] - outputs[rival], constants[own] - constants[rival]


def brute_force_radius(question: Question, point: int) -> float:
    """The exact radius: the nearest point of every polyhedron on which the network is linear, one program each."""
    network, x = question.network, question.x[point]
    if question.fooled(question.x)[point]:
        return 0.0
    flat = question.norm == "l2" and question.box is None
    basis = np.linalg.svd(network.weights, full_matrices=False)[2] if flat else np.eye(len(x))
    weights, start = network.weights @ basis.T, network.weights @ x + network.biases
    moving = np.linalg.norm(network.weights, axis=1) > 0
    low, high = (-np.inf, np.inf) if question.box is None else question.box
    least = _least_distance if question.norm == "l2" else _least_cube
    best = np.inf
    for rows, constants in rival_rows(question, point):
        for pattern in itertools.product((0.0, 1.0), repeat=int(moving.sum())):
            on = (start > 0).astype(float)
            on[moving] = pattern
            linear = rows * on
            sign = 1.0 - 2.0 * on
            normals = np.vstack([linear @ weights, sign[moving, None] * weights[moving]])
            offsets = np.concatenate([linear @ start + constants, sign[moving] * start[moving]])
            if question.box is not None:
                normals = np.vstack([normals, np.eye(len(x)), -np.eye(len(x))])
                offsets = np.concatenate([offsets, x - high, low - x])
            best = min(best, least(normals, offsets))
    return best


def _least_cube(normals: Array, offsets: Array) -> float:
    """min max |δ_i| subject to normals @ δ + offsets <= 0, ∞ if there is none, by HiGHS."""
    lengths = np.abs(normals).sum(axis=1)
    flat = lengths <= 1e-12
    if (offsets[flat] > 0).any():
        return np.inf
    normals, offsets, lengths = normals[~flat], offsets[~flat], lengths[~flat]
    unit = float((offsets / lengths).max(initial=0.0))
    if unit <= 0:
        return 0.0
    size = normals.shape[1]
    sides = [np.hstack([sign * np.eye(size), -np.ones((size, 1))]) for sign in (1, -1)]
    found = scipy.optimize.linprog(
        np.append(np.zeros(size), 1.0),
        A_ub=np.vstack([np.hstack([normals / lengths[:, None], np.zeros((len(normals), 1))]), *sides]),
        b_ub=np.concatenate([-offsets / (lengths * unit), np.zeros(2 * size)]),
        bounds=(None, None),
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    return unit * float(found.fun) if found.status == 0 else np.inf


def _least_distance(normals: Array, offsets: Array) -> float:
    """min ‖δ‖ subject to normals @ δ + offsets <= 0, ∞ if there is none; in units of the farthest half-space."""
    lengths = np.linalg.norm(normals, axis=1)
    flat = lengths <= 1e-12
    if (offsets[flat] > 0).any():
        return np.inf
    normals, offsets, lengths = normals[~flat], offsets[~flat], lengths[~flat]
    unit = float((offsets / lengths).max(initial=0.0))
    if unit <= 0:
        return 0.0
    for tolerance in (1e-11, 1e-9, 1e-8):
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tolerance
        solution = clarabel.DefaultSolver(
            sparse.csc_matrix(np.eye(normals.shape[1])),
            np.zeros(normals.shape[1]),
            sparse.csc_matrix(normals / lengths[:, None]),
            -offsets / (lengths * unit),
            [clarabel.NonnegativeConeT(len(offsets))],
            settings,
        ).solve()
        if solution.status == clarabel.SolverStatus.Solved:
            return unit * float(np.linalg.norm(solution.x))
        if solution.status == clarabel.SolverStatus.PrimalInfeasible:
            return np.inf
    return unit * _lawson_hanson(normals / lengths[:, None], offsets / (lengths * unit))


def _lawson_hanson(normals: Array, offsets: Array) -> float:
    """The same by non-negative least squares, where an interior point method makes no progress: a single point."""
    goal = np.append(np.zeros(normals.shape[1]), 1.0)
    system = np.vstack([-normals.T, offsets])
    multipliers, _ = scipy.optimize.nnls(system, goal)
    residual = system @ multipliers - goal
    return float(np.linalg.norm(residual[:-1]) / -residual[-1]) if residual[-1] < -1e-12 else np.inf


def scip_radius(question: Question, point: int, horizon: float, seconds: float = 60.0) -> float:
    """The ℓ2 radius by SCIP: one binary a neuron, min Σ δ² in span(W); ∞ if nothing within the horizon is fooled.

    SCIP works to its own tolerance of 1e-6, so the radius is good to about 1e-5; NaN if its time was too short.
    """
    network, x = question.network, question.x[point]
    basis = np.linalg.svd(network.weights, full_matrices=False)[2]
    weights, start = network.weights @ basis.T, network.weights @ x + network.biases
    best = np.inf
    for rows, constants in rival_rows(question, point):
        model = pyscipopt.Model()
        model.hideOutput()
        model.setParam("limits/gap", 1e-7)
        model.setParam("limits/time", seconds)
        delta = [model.addVar(lb=-1, ub=1) for _ in basis]  # in units of the horizon, which suit SCIP's tolerances
        hidden = []
        for row, z0 in zip(weights, start, strict=True):
            reach = horizon * np.linalg.norm(row) + abs(z0) + 1.0
            z = pyscipopt.quicksum(float(horizon * w) * d for w, d in zip(row, delta, strict=True)) + float(z0)
            value, on = model.addVar(lb=0, ub=reach), model.addVar(vtype="B")
            model.addCons(value >= z)
            model.addCons(value <= z + reach * (1 - on))
            model.addCons(value <= reach * on)
            hidden.append(value)
        for row, constant in zip(rows, constants, strict=True):
            model.addCons(
                pyscipopt.quicksum(float(a) * h for a, h in zip(row, hidden, strict=True)) + float(constant) <= 0
            )
        square = model.addVar(lb=0)
        model.addCons(pyscipopt.quicksum(d * d for d in delta) <= square)
        model.setObjective(square)
        model.optimize()
        if model.getStatus() == "timelimit":
            return np.nan
        if model.getStatus() in ("optimal", "gaplimit"):
            best = min(best, horizon * np.sqrt(max(model.getObjVal(), 0.0)))
    return float(best)
