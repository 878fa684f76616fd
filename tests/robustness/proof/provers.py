"""Proofs for tests: tight ones, by branching on every neuron and NNLS at the leaves, and ones of random numbers."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import nnls

from featavg.robustness.proof.format import TYPES, Problem, Proofs
from featavg.robustness.proof.regions import rivals, rows


class Cut(NamedTuple):
    reach: float
    mix: Any
    theta: Any  # (neuron,)
    box_step: float = 0.0
    bend: float = 0.0


class Node(NamedTuple):
    depth: int
    neuron: int
    side: int
    threshold: float
    cuts: list[Cut]


ROOT = (0, -1, 0, 0.0)


def proofs_of(trees: list[tuple[int, int, list[Node]]], curve: Any = ()) -> Proofs:
    """Flat arrays of (point, rival, nodes in preorder); all trees have the same curve, or none."""
    flat: dict[str, list[Any]] = {name: [] for name in TYPES}
    for start in ("first_node", "curve_start", "first_cut", "mix_start", "theta_start"):
        flat[start].append(0)
    for point, rival, nodes in trees:
        flat["point"].append(point)
        flat["rival"].append(rival)
        flat["curve"].extend(curve)
        flat["curve_start"].append(len(flat["curve"]))
        for node in nodes:
            for name in ("depth", "neuron", "side", "threshold"):
                flat[name].append(getattr(node, name))
            for cut in node.cuts:
                entries = np.flatnonzero(cut.theta)
                flat["reach"].append(cut.reach)
                flat["box_step"].append(cut.box_step)
                flat["bend"].append(cut.bend)
                flat["mix"].extend(np.atleast_1d(cut.mix).tolist())
                flat["theta_neuron"].extend(entries.tolist())
                flat["theta"].extend(np.asarray(cut.theta)[entries].tolist())
                flat["mix_start"].append(len(flat["mix"]))
                flat["theta_start"].append(len(flat["theta"]))
            flat["first_cut"].append(len(flat["reach"]))
        flat["first_node"].append(len(flat["depth"]))
    return Proofs(**{name: np.array(flat[name], dtype=kind) for name, kind in TYPES.items()})


def branched(neurons: int, cuts: Any, order: np.ndarray, levels: int) -> list[Node]:
    """All sign patterns of the first `levels` neurons in `order`; cuts(pattern) at every node, pattern 0: undecided."""
    nodes: list[Node] = []

    def visit(depth: int, head: tuple[int, int, int, float], pattern: np.ndarray) -> None:
        nodes.append(Node(*head, cuts(pattern, leaf=depth == levels)))
        if depth < levels:
            for side in (-1, 1):
                below = pattern.copy()
                below[order[depth]] = side
                visit(depth + 1, (depth + 1, int(order[depth]), side, 0.0), below)

    visit(0, ROOT, np.zeros(neurons, dtype=np.int64))
    return nodes


def tight_cut(problem: Problem, point: int, a: np.ndarray, c: np.ndarray, pattern: np.ndarray, reach: float) -> Cut:
    """The dual of min ‖δ‖₂ subject to rows <= 0 and signs, by NNLS (Lawson and Hanson's least-distance programming).

    Undecided neurons with slopes of both signs get the slope 0 or a, as at the point itself.
    """
    weights, biases = problem.neurons.weights, problem.neurons.biases
    z0 = weights @ problem.x[point] + biases
    on = np.where(pattern == 0, z0 > 0, pattern > 0)
    values = (a * on) @ z0 + c  # rows: values + (a·on) W δ <= 0
    signs = np.flatnonzero(pattern)
    g = np.concatenate([-(a * on) @ weights, pattern[signs, None] * weights[signs]])
    bound = np.concatenate([values, -pattern[signs] * z0[signs]])
    sides = _box_rows(problem, point)
    g, bound = np.concatenate([g, sides[0]]), np.concatenate([bound, sides[1]])
    u, _ = nnls(np.vstack([g.T, bound]), np.append(np.zeros(g.shape[1]), 1.0), maxiter=1000)
    mix = u[: len(a)]
    theta = mix @ (a * on)
    theta[signs] -= u[len(a) : len(a) + len(signs)] * pattern[signs]
    # δ = gᵀu/(1 − bound·u), which is −h/(1 − bound·u) wherever the box does not bind.
    left = 1.0 - float(bound @ u)
    return Cut(reach, mix, theta, 1.0 / max(left, 1e-9) if problem.low is not None else 0.0)


def _box_rows(problem: Problem, point: int) -> tuple[np.ndarray, np.ndarray]:
    axes = problem.x.shape[1]
    if problem.low is None:
        return np.zeros((0, axes)), np.zeros(0)
    low, high = problem.low - problem.x[point], problem.high - problem.x[point]
    g, bound = np.concatenate([np.eye(axes), -np.eye(axes)]), np.concatenate([low, -high])
    finite = np.isfinite(bound)
    return g[finite], bound[finite]


def row_arrays(problem: Problem, label: int, rival: int) -> tuple[np.ndarray, np.ndarray]:
    signs = rows(problem.decision, label, rival, len(problem.neurons.constants)).astype(float)
    return signs @ problem.neurons.outputs, signs @ problem.neurons.constants


def tight_proofs(problem: Problem, reach: float) -> Proofs:
    """Branch on every neuron; at the leaves the ℓ2-nearest point's multipliers (valid, if not best, in ℓ∞ too)."""
    neurons = len(problem.neurons.biases)
    trees = []
    for point, label in enumerate(problem.labels.tolist()):
        for rival in rivals(problem.decision, label, len(problem.neurons.constants)).tolist():
            a, c = row_arrays(problem, label, rival)

            def cuts(pattern: np.ndarray, leaf: bool, a=a, c=c, point=point) -> list[Cut]:
                return [tight_cut(problem, point, a, c, pattern, reach)] if leaf else []

            trees.append((point, rival, branched(neurons, cuts, np.arange(neurons), neurons)))
    return proofs_of(trees)


def random_proofs(problem: Problem, rng: np.random.Generator, reach: float, endless: bool = True) -> Proofs:
    """Trees of random depth with cuts of random numbers, some of them near good ones."""
    neurons, outputs = len(problem.neurons.biases), len(problem.neurons.constants)
    trees = []
    for point, label in enumerate(problem.labels.tolist()):
        for rival in rivals(problem.decision, label, outputs).tolist():
            a, c = row_arrays(problem, label, rival)

            def cuts(pattern: np.ndarray, leaf: bool, a=a, c=c, point=point, label=label) -> list[Cut]:
                many = range(rng.integers(1, 4))
                return [_random_cut(problem, point, label, a, c, pattern, reach, rng, endless) for _ in many]

            trees.append(
                (point, rival, branched(neurons, cuts, rng.permutation(neurons), int(rng.integers(0, neurons + 1))))
            )
    return proofs_of(trees)


def curved(problem: Problem, proofs: Proofs, rng: np.random.Generator) -> Proofs:
    """The same with random curves on two trees of three and random bends on half of the cuts."""
    neurons, trees = len(problem.neurons.biases), len(proofs.point)
    sizes = np.where(np.arange(trees) % 3 < 2, neurons, 0)
    curve = rng.normal(size=sizes.sum()) * rng.choice([0.0, 0.3, 1.0], sizes.sum())
    bend = rng.exponential(0.3, len(proofs.bend)) * (rng.random(len(proofs.bend)) < 0.5)
    return proofs._replace(curve_start=np.concatenate([[0], np.cumsum(sizes)]), curve=curve, bend=bend)


def _random_cut(problem, point, label, a, c, pattern, reach, rng, endless) -> Cut:
    size = reach * rng.choice([1.0, rng.uniform(0.1, 2.0), np.inf if endless else 1.5], p=[0.8, 0.15, 0.05])
    step = float(rng.choice([0.0, 1.0, rng.exponential()]))
    if problem.decision.kind == "probabilities":
        mix = rng.dirichlet(np.ones(len(problem.neurons.constants)))
        z = problem.neurons.weights @ problem.x[point] + problem.neurons.biases
        on = np.where(pattern == 0, z > 0, pattern > 0)
        signs = np.where(problem.decision.class_of == label, 1.0, -1.0)
        own = signs > 0
        mix[own] /= mix[own].sum()
        combination = np.where(own, mix * mix[~own].sum(), -mix)
        theta = (combination @ problem.neurons.outputs) * on
        return Cut(size, mix if rng.random() < 0.9 else [], theta * rng.uniform(0.5, 1.5, len(theta)), step)
    cut = tight_cut(problem, point, a, c, pattern, size)
    noise = rng.choice([0.0, 1e-3, 1.0])
    theta = cut.theta + noise * rng.normal(size=len(cut.theta)) * (rng.random(len(cut.theta)) < 0.5)
    mix = np.abs(cut.mix + noise * rng.normal(size=len(cut.mix)))
    return Cut(size, mix if rng.random() < 0.9 else [], theta, cut.box_step if rng.random() < 0.5 else step)
