"""Margins in plain floats: for display and for search, never for a proof."""

from __future__ import annotations

import numpy as np

from featavg.arrays import Ints
from featavg.robustness.proof.format import Floats, Problem
from featavg.robustness.proof.regions import rivals, rows


def float_margins(problem: Problem, points: Floats) -> Floats:
    """By how much the decision at point i is still labels_i, <= 0 where it is fooled: (point,).

    The least over the rivals of the largest of its rows, or of logsumexp_own − logsumexp_rival.

    >>> from featavg.robustness.proof.format import Decision, Neurons
    >>> neurons = Neurons(np.eye(1), np.zeros(1), np.eye(1), -np.ones(1))
    >>> problem = Problem(neurons, np.array([[3.0]]), np.array([1]), Decision("sign", np.zeros(1, dtype=np.int64)))
    >>> float_margins(problem, problem.x)
    array([2.])
    """
    weights, biases, second, constants = problem.neurons
    outputs = np.maximum(points @ weights.T + biases, 0.0) @ second.T + constants
    result = np.full(len(points), np.inf)
    for label in np.unique(problem.labels).tolist():
        of = np.flatnonzero(problem.labels == label)
        for rival in rivals(problem.decision, label, len(constants)).tolist():
            these = of if problem.target is None else of[problem.target[of] == rival]
            signs = rows(problem.decision, label, rival, len(constants))
            result[these] = np.minimum(result[these], _margin(problem, outputs[these], signs))
    return result


def _margin(problem: Problem, outputs: Floats, signs: Ints) -> Floats:
    if problem.decision.kind != "probabilities":
        return (outputs @ signs.T).max(axis=1)
    own, other = outputs[:, signs[0] > 0], outputs[:, signs[0] < 0]
    return np.logaddexp.reduce(own, axis=1) - np.logaddexp.reduce(other, axis=1)
