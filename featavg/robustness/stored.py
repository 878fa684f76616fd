"""Brackets that left the process: written, read, and verified without the model, or against it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from featavg.arrays import Array, Bools, Ints
from featavg.data import read_points
from featavg.errors import InputError
from featavg.files import whole_file
from featavg.model import Network, as_network, load_network
from featavg.robustness.bracket import RadiusBracket
from featavg.robustness.proof.files import Stored, read_stored, write_stored
from featavg.robustness.proof.format import Norm, Problem, no_proofs
from featavg.robustness.proof.margins import float_margins
from featavg.robustness.question import KINDS, Readout, ask
from featavg.robustness.status import Status


@dataclass(frozen=True)
class StoredQuestion:
    """The question of a bracket that was read from a file: arrays, no model."""

    asked: Problem

    @property
    def x(self) -> Array:
        """The points: (point, axis)."""
        return self.asked.x

    @property
    def y(self) -> Ints:
        """Their labels in numbers: (point,)."""
        return self.asked.labels

    @property
    def norm(self) -> Norm:
        """The norm of the distance."""
        return self.asked.norm

    @property
    def box(self) -> tuple[Array, Array] | None:
        """Lowest and highest allowed coordinates, or none."""
        low, high = self.asked.low, self.asked.high
        return None if low is None or high is None else (low, high)

    def margins(self, points: ArrayLike) -> Array:
        """By how much the decision at point i is still y_i, in floats: (point,)."""
        return float_margins(self.asked, np.asarray(points, dtype=np.float64))

    def fooled(self, points: ArrayLike) -> Bools:
        """Whether point i is misclassified or tied, in floats: (point,)."""
        return self.margins(points) <= 0

    def distances(self, points: ArrayLike) -> Array:
        """Distance of point i from x_i, in floats: (point,)."""
        order = 2 if self.norm == "l2" else np.inf
        return np.linalg.norm(np.asarray(points) - self.x, ord=order, axis=1)

    def part(self, chosen: Any) -> StoredQuestion:
        """The same question at some of its points."""
        target = None if self.asked.target is None else self.asked.target[chosen]
        part = self.asked._replace(x=self.asked.x[chosen], labels=self.asked.labels[chosen], target=target)
        return StoredQuestion(part)

    def same_as(self, other: Any) -> bool:
        """Whether both are one and the same."""
        return self is other

    def problem(self) -> Problem:
        """The question in arrays, for the checker."""
        return self.asked


def save_bracket(bracket: RadiusBracket, path: str | os.PathLike[str]) -> None:
    """Write a bracket with its network, points, witnesses and proofs to one file."""
    problem, proofs = bracket.question.problem(), bracket.proofs
    if problem is None:
        raise InputError("only brackets of two-layer networks can be saved; this one is of a deep network")
    lower, upper, witness = (np.asarray(each, np.float64) for each in (bracket.lower, bracket.upper, bracket.witness))
    statuses = tuple(str(each) for each in bracket.status)
    kept = no_proofs() if proofs is None else proofs
    stored = Stored(
        problem, lower, upper, witness, statuses, bracket.reasons, bracket.flags, kept, bracket.certificates
    )  # fmt: skip
    with whole_file(path) as file:
        write_stored(stored, file)


def load_bracket(path: str | os.PathLike[str]) -> RadiusBracket:
    """Read a bracket that `RadiusBracket.save` wrote; a file of any other kind ends in an InputError."""
    stored = read_stored(path)
    try:
        status = tuple(Status(each) for each in stored.statuses)
    except ValueError as error:
        raise InputError(f"{path} is no bracket file: {error}") from None
    return RadiusBracket(
        stored.lower,
        stored.upper,
        stored.witness,
        status,
        StoredQuestion(stored.problem),
        stored.flags,
        stored.proofs,
        stored.certificates,
        stored.reasons,
    )


def verify_bracket_file(
    path: str | os.PathLike[str], model: Any = None, data: Any = None, *, audit: bool = False
) -> tuple[RadiusBracket, Bools]:
    """Check a saved bracket from scratch, and that it is about this model and these data, if they are given.

    Args:
        path: what `RadiusBracket.save` wrote.
        model: anything `as_network` reads, or the path of a network file.
        data: a `Dataset`, points and labels (x, y), or the path of a data file.
        audit: decide the proofs in ball arithmetic, which needs python-flint.

    Returns:
        the bracket, and where it holds (point,).
    """
    bracket = load_bracket(path)
    problem = bracket.question.problem()
    assert problem is not None  # a file holds one
    network = None
    if model is not None:
        network = load_network(model) if isinstance(model, str | os.PathLike) else as_network(model)
        given = (network.weights, network.biases, network.second, network.output_bias)
        if not all(np.array_equal(a, b) for a, b in zip(given, problem.neurons, strict=True)):
            raise InputError(f"{path} is about another network; give the one whose radii it holds")
    if data is not None:
        found = read_points(data) if isinstance(data, str | os.PathLike) else data
        x, y = found if isinstance(found, tuple) else (found.x, found.y)
        if not np.array_equal(x, problem.x):
            raise InputError(f"{path} is about other points; give those whose radii it holds, in their order")
        if network is not None and not np.array_equal(_labels(network, problem, y), problem.labels):
            raise InputError(f"{path} is about other labels; give those whose radii it holds")
    return bracket, bracket.verify(audit)


def _labels(network: Network, problem: Problem, y: ArrayLike) -> Ints:
    """Labels as the file has them: (point,)."""
    names = {kind: name for name, kind in KINDS.items()}
    return ask(network, problem.x, y, readout=cast(Readout, names[problem.decision.kind])).checkable().labels
