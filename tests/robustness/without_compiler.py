"""Run without the compiler: the search's kernels as plain Python on tiny problems, the brackets of each on one line.

What reads beyond an array is an error without the compiler, and any number, or a crash, with it.
"""

from __future__ import annotations

import numpy as np

from featavg.robustness.proof import Decision, Neurons, Problem
from featavg.robustness.proof.format import Kind
from featavg.robustness.search.answer import answer
from featavg.robustness.search.budget import Budget

# The decision, the norm, and whether there is a box.
CASES: tuple[tuple[Kind, str, bool], ...] = (
    ("sign", "l2", False),
    ("argmax", "l2", False),
    ("maximum", "l2", False),
    ("maximum", "l2", True),
    ("maximum", "linf", False),
    ("probabilities", "l2", False),
)
# Of unequal sizes: a rival of one group has fewer rows than a rival of the other.
GROUPS = np.array([0, 0, 1])


def problem(kind: Kind, norm: str, boxed: bool) -> Problem:
    """Points of a random network in three dimensions, with one output or with three; both groups have some."""
    random = np.random.default_rng(4)
    outputs = 1 if kind == "sign" else 3
    neurons = Neurons(*(random.standard_normal(size) for size in ((4, 3), 4, (outputs, 4), outputs)))
    x = random.standard_normal((2 if kind in ("sign", "argmax") else 4, 3))
    scores = np.maximum(x @ neurons.weights.T + neurons.biases, 0.0) @ neurons.outputs.T + neurons.constants
    groups = GROUPS
    if kind == "sign":
        labels, groups = np.where(scores[:, 0] >= 0, 1, -1), np.zeros(1, dtype=np.int64)
    elif kind == "argmax":
        labels = scores.argmax(axis=1)
    else:
        pooled = np.max if kind == "maximum" else np.sum
        labels = np.argmax([pooled(np.exp(scores[:, group == GROUPS]), axis=1) for group in (0, 1)], axis=0)
    low, high = (np.full(3, -4.0), np.full(3, 4.0)) if boxed else (None, None)
    return Problem(neurons, x, labels, Decision(kind, groups), norm, low, high)


def brackets(kind: Kind, norm: str, boxed: bool) -> np.ndarray:
    """Lower and upper bounds: (end, point)."""
    found = answer(problem(kind, norm, boxed), Budget(), lambda done, total: None)
    return np.stack([found.lower, found.upper])


if __name__ == "__main__":
    for case in CASES:
        print(*brackets(*case).ravel())
