"""Run without the compiler: the search's kernels as plain Python on a tiny problem, its brackets on one line each."""

from __future__ import annotations

import numpy as np

from featavg.robustness.proof import Decision, Neurons, Problem
from featavg.robustness.proof.format import Kind
from featavg.robustness.search.answer import answer
from featavg.robustness.search.budget import Budget

KINDS: tuple[Kind, ...] = ("sign", "argmax", "maximum", "probabilities")
# Groups of unequal sizes: a rival of one has fewer rows than a rival of the other. What reads beyond them is an error
# without the compiler, and any number, or a crash, with it.
GROUPS = np.array([0, 0, 1])


def problem(kind: Kind) -> Problem:
    """Points of a random network in three dimensions, with one output or with three; both groups have some."""
    random = np.random.default_rng(4)
    outputs = 1 if kind == "sign" else 3
    neurons = Neurons(*(random.standard_normal(size) for size in ((4, 3), 4, (outputs, 4), outputs)))
    grouped = kind in ("maximum", "probabilities")
    x = random.standard_normal((4 if grouped else 2, 3))
    scores = np.maximum(x @ neurons.weights.T + neurons.biases, 0.0) @ neurons.outputs.T + neurons.constants
    labels = np.where(scores[:, 0] >= 0, 1, -1) if kind == "sign" else scores.argmax(axis=1)
    if grouped:
        masses = np.exp(scores)
        inside = [masses[:, group == GROUPS] for group in (0, 1)]
        labels = np.argmax([m.max(axis=1) if kind == "maximum" else m.sum(axis=1) for m in inside], axis=0)
    return Problem(neurons, x, labels, Decision(kind, GROUPS if grouped else np.zeros(outputs, dtype=np.int64)))


def brackets(kind: Kind) -> np.ndarray:
    """Lower and upper bounds: (end, point)."""
    found = answer(problem(kind), Budget(), lambda done, total: None)
    return np.stack([found.lower, found.upper])


if __name__ == "__main__":
    for each in KINDS:
        print(*brackets(each).ravel())
