"""A problem in exact rational arithmetic: every float is the rational that it is, and ties are fooled."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from flint import fmpq

from campaign.soundness.problem import Problem

Rationals = tuple[fmpq, ...]
ZERO = fmpq(0)


class Row(NamedTuple):
    """Σ_j coefficients_j ReLU(z_j) + constant."""

    coefficients: Rationals  # (neuron,)
    constant: fmpq


Rival = tuple[Row, ...]  # it is reached where all its rows are ≤ 0


@dataclass(frozen=True)
class ExactNetwork:
    """x ↦ A ReLU(W x + b) + c in rationals."""

    weights: tuple[Rationals, ...]
    biases: Rationals
    outputs: tuple[Row, ...]

    def hidden(self, point: Rationals) -> list[fmpq]:
        """W x + b: (neuron,)."""
        return [dot(w, point) + b for w, b in zip(self.weights, self.biases, strict=True)]


def rational(value: float) -> fmpq:
    """Return the rational that a finite float is.

    >>> rational(0.375)
    3/8
    """
    return fmpq(*value.as_integer_ratio())


def rationals(values: Iterable[float]) -> Rationals:
    """Return the rationals that finite floats are."""
    return tuple(rational(float(value)) for value in values)


def dot(u: Sequence[fmpq], v: Sequence[fmpq]) -> fmpq:
    """⟨u, v⟩."""
    total = ZERO
    for a, b in zip(u, v, strict=True):
        total += a * b
    return total


def exact_network(problem: Problem) -> ExactNetwork:
    """Return the network of a problem in rationals."""
    outputs = zip(map(rationals, problem.second), rationals(problem.constants), strict=True)
    return ExactNetwork(
        tuple(map(rationals, problem.weights)), rationals(problem.biases), tuple(Row(*output) for output in outputs)
    )


def groups(problem: Problem) -> tuple[list[int], list[int]]:
    """The outputs of the own class and the others."""
    own = [problem.y] if problem.class_labels is None else _labelled(problem.class_labels, problem.y)
    return own, [output for output in range(len(problem.second)) if output not in own]


def _labelled(class_labels: Sequence[int], y: int) -> list[int]:
    return [output for output, label in enumerate(class_labels) if label == y]


def rivals(problem: Problem, network: ExactNetwork) -> tuple[Rival, ...]:
    """The ways to be fooled, for read-outs made of rows; the fooled set is the union of their sets."""
    outputs = network.outputs
    if problem.readout == "sign":
        return ((_scaled(outputs[0], problem.y),),)
    own, others = groups(problem)
    if problem.readout == "summed-logits":
        return ((_minus(_total([outputs[i] for i in own]), _total([outputs[r] for r in others])),),)
    if problem.readout in ("argmax", "maximum"):
        return tuple(tuple(_minus(outputs[i], outputs[r]) for i in own) for r in others)
    raise ValueError(f"{problem.readout} has no rows")


def fooled(problem: Problem, point: Sequence[float]) -> bool:
    """Whether the network does not put a float64 point in class y, decided exactly (read-outs of rows)."""
    network = exact_network(problem)
    return reached(rivals(problem, network), network.hidden(rationals(point)))


def reached(ways: Iterable[Rival], hidden: Sequence[fmpq]) -> bool:
    """Whether any rival is reached at the pre-activations `hidden`."""
    active = [max(z, ZERO) for z in hidden]
    return any(all(value(row, active) <= 0 for row in rival) for rival in ways)


def value(row: Row, active: Sequence[fmpq]) -> fmpq:
    """The row's value where the neurons give `active`: (neuron,)."""
    return dot(row.coefficients, active) + row.constant


def distance(problem: Problem, point: Sequence[float]) -> fmpq:
    """The distance of a point from x; its square for ℓ2, which is rational."""
    return length([u - x for u, x in zip(rationals(point), rationals(problem.x), strict=True)], problem.norm)


def length(step: Sequence[fmpq], norm: str) -> fmpq:
    """‖δ‖² for ℓ2, ‖δ‖ for ℓ∞."""
    return dot(step, step) if norm == "l2" else max((abs(entry) for entry in step), default=ZERO)


def in_box(problem: Problem, point: Sequence[float]) -> bool:
    """Whether a point lies in the box."""
    if problem.box is None:
        return True
    low, high = problem.box
    return all(a <= u <= b for a, u, b in zip(low, point, high, strict=True))


def _scaled(row: Row, factor: int) -> Row:
    return Row(tuple(factor * a for a in row.coefficients), factor * row.constant)


def _total(rows: Sequence[Row]) -> Row:
    columns = zip(*(row.coefficients for row in rows), strict=True)
    return Row(tuple(sum(column, ZERO) for column in columns), sum((row.constant for row in rows), ZERO))


def _minus(row: Row, other: Row) -> Row:
    pairs = zip(row.coefficients, other.coefficients, strict=True)
    return Row(tuple(a - b for a, b in pairs), row.constant - other.constant)
