"""A problem made ready for the checker: found sound, scaled, rows and pre-activations computed, each at most once."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from featavg.arrays import Ints
from featavg.errors import InputError
from featavg.robustness.proof.cases import Cases, cases
from featavg.robustness.proof.format import Problem
from featavg.robustness.proof.frames import Centers, Scaled, centers, scale_neurons
from featavg.robustness.proof.regions import Pairs, pairs_of, rivals


class Prepared:
    """What proofs and witnesses of a problem are both checked with; who searches works on copies of its arrays."""

    def __init__(self, problem: Problem) -> None:
        require_sound(problem)
        self.problem = problem

    @cached_property
    def scaled(self) -> Scaled:
        """The neurons."""
        return scale_neurons(self.problem.neurons)

    @cached_property
    def pairs(self) -> Pairs:
        """Labels and rivals."""
        return pairs_of(self.problem)

    @cached_property
    def cases(self) -> Cases:
        """The rows of every pair."""
        return cases(self.problem, self.scaled, self.pairs)

    @cached_property
    def centers(self) -> Centers:
        """Pre-activations at all points, in the cheapest arithmetic."""
        return centers(self.scaled, np.ascontiguousarray(self.problem.x))


def prepared(problem: Problem | Prepared) -> Prepared:
    """The same, made ready unless it is."""
    return problem if isinstance(problem, Prepared) else Prepared(problem)


def require_sound(problem: Problem) -> None:
    """Shapes that fit, finite numbers, points in the box, labels that exist."""
    weights, biases, outputs, constants = problem.neurons
    neurons, axes = weights.shape
    fits = biases.shape == (neurons,) and outputs.shape == (len(constants), neurons) and constants.ndim == 1
    if not fits or problem.x.ndim != 2 or problem.x.shape[1] != axes or problem.labels.shape != (len(problem.x),):
        raise InputError("network, points and labels must have fitting shapes; take them from one file")
    if not all(np.isfinite(array).all() for array in (*problem.neurons, problem.x)):
        raise InputError("network and points must be finite; remove NaN and infinite values")
    if problem.norm not in ("l2", "linf"):
        raise InputError(f"norm must be l2 or linf, got {problem.norm!r}")
    _require_labels(problem)
    if (problem.low is None) != (problem.high is None):
        raise InputError("a box needs both sides; use infinite values where it is open")
    if problem.low is not None and problem.high is not None:
        shapes = problem.low.shape == problem.high.shape == (axes,)
        if not shapes or not ((problem.low <= problem.x) & (problem.x <= problem.high)).all():
            raise InputError("every point must lie in the box, which has one low and one high value per feature")


def _require_labels(problem: Problem) -> None:
    kind, class_of = problem.decision
    outputs = len(problem.neurons.constants)
    known: Ints | list[int] = {"sign": [-1, 1], "argmax": list(range(outputs))}.get(kind, [])
    if kind in ("maximum", "logits", "probabilities"):
        if class_of.shape != (outputs,) or (class_of < 0).any():
            raise InputError(f"class_of must name a group for each of {outputs} outputs, got {class_of.tolist()}")
        known = class_of
    if kind == "sign" and outputs != 1:
        raise InputError(f"a decision by sign needs one output, got {outputs}; name another read-out")
    named = set(np.asarray(known).tolist())
    if not named.issuperset(problem.labels.tolist()):
        raise InputError(f"labels must be among {sorted(named)} for a decision by {kind}")
    if problem.target is not None:
        pairs = zip(problem.labels.tolist(), problem.target.tolist(), strict=False)
        real = all(rival in rivals(problem.decision, label, outputs) for label, rival in set(pairs))
        if problem.target.shape != problem.labels.shape or not real:
            raise InputError("target must name one rival of its label per point; leave it out for the nearest of all")
