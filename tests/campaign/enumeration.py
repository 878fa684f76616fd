"""The exact radius once more, by plain enumeration in Python's own fractions: every set of constraints held equal.

The nearest fooled point lies in some cell and is the nearest point of the subspace on which its active constraints
hold with equality, for at most as many constraints as there are axes (one more in ℓ∞, where a cube's faces count).
So all such points are computed, and those that are fooled and in the box compete.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction

from campaign.soundness.problem import Problem

Vector = list[Fraction]


def enumerated_radius(problem: Problem) -> Fraction | None:
    """The radius, squared for ℓ2; None if nothing is fooled."""
    weights, biases = [_exact(row) for row in problem.weights], _exact(problem.biases)
    x = _exact(problem.x)
    best = Fraction(0) if _is_fooled(problem, x) else None
    for on in itertools.product((0, 1), repeat=len(weights)):
        for rows in _rows(problem, on):
            planes = [(w, _dot(w, x) + b) for w, b in zip(weights, biases, strict=True)] + _faces(problem)
            for delta in _candidates(planes + rows, len(x), problem.norm):
                point = [a + b for a, b in zip(x, delta, strict=True)]
                size = _dot(delta, delta) if problem.norm == "l2" else max(map(abs, delta))
                if (best is None or size < best) and _in_box(problem, point) and _is_fooled(problem, point):
                    best = size
    return best


def _candidates(planes: list[tuple[Vector, Fraction]], axes: int, norm: str) -> Iterator[Vector]:
    if norm == "linf":
        cube = [
            ([Fraction(s * (i == k)) for k in range(axes)] + [Fraction(-1)], 0) for i in range(axes) for s in (1, -1)
        ]
        lifted = [([*normal, Fraction(0)], offset) for normal, offset in planes] + cube
        for chosen in itertools.combinations(lifted, axes + 1):
            vertex = _solved([list(n) for n, _ in chosen], [-Fraction(h) for _, h in chosen])
            if vertex is not None:
                yield vertex[:-1]
        return
    for count in range(1, axes + 1):
        for chosen in itertools.combinations(planes, count):
            gram = [[_dot(a, b) for b, _ in chosen] for a, _ in chosen]
            multipliers = _solved(gram, [-h for _, h in chosen])
            if multipliers is not None:
                yield [sum(u * n[k] for u, (n, _) in zip(multipliers, chosen, strict=True)) for k in range(axes)]


def _solved(matrix: list[Vector], right: Vector) -> Vector | None:
    """Gauss's elimination; None if singular."""
    size = len(matrix)
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for k in range(size):
        pivot = next((i for i in range(k, size) if rows[i][k] != 0), None)
        if pivot is None:
            return None
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [entry / rows[k][k] for entry in rows[k]]
        for i in range(size):
            if i != k and rows[i][k] != 0:
                rows[i] = [a - rows[i][k] * b for a, b in zip(rows[i], rows[k], strict=True)]
    return [row[-1] for row in rows]


def _rows(problem: Problem, on: tuple[int, ...]) -> Iterator[list[tuple[Vector, Fraction]]]:
    """The rows of each rival as affine functions of δ, on one pattern."""
    x, weights, biases = _exact(problem.x), [_exact(row) for row in problem.weights], _exact(problem.biases)

    def affine(output: Vector, constant: Fraction) -> tuple[Vector, Fraction]:
        active = [a * s for a, s in zip(output, on, strict=True)]
        normal = [sum((a * w[k] for a, w in zip(active, weights, strict=True)), Fraction(0)) for k in range(len(x))]
        shift = sum((a * b for a, b in zip(active, biases, strict=True)), constant)
        return normal, _dot(normal, x) + shift

    outputs = [affine(_exact(a), Fraction(c)) for a, c in zip(problem.second, problem.constants, strict=True)]
    if problem.readout == "sign":
        yield [outputs[0]]
        return
    own = [i for i in range(len(outputs)) if _is_own(problem, i)]
    others = [i for i in range(len(outputs)) if i not in own]
    if problem.readout == "summed-logits":
        sides = [1 if i in own else -1 for i in range(len(outputs))]
        normal = [sum(s * n[k] for s, (n, _) in zip(sides, outputs, strict=True)) for k in range(len(x))]
        yield [(normal, sum(s * h for s, (_, h) in zip(sides, outputs, strict=True)))]
        return
    for r in others:
        yield [
            ([a - b for a, b in zip(outputs[i][0], outputs[r][0], strict=True)], outputs[i][1] - outputs[r][1])
            for i in own
        ]


def _is_own(problem: Problem, output: int) -> bool:
    return output == problem.y if problem.class_labels is None else problem.class_labels[output] == problem.y


def _is_fooled(problem: Problem, point: Vector) -> bool:
    active = [
        max(_dot(_exact(w), point) + Fraction(b), Fraction(0))
        for w, b in zip(problem.weights, problem.biases, strict=True)
    ]
    outputs = [_dot(_exact(a), active) + Fraction(c) for a, c in zip(problem.second, problem.constants, strict=True)]
    if problem.readout == "sign":
        return problem.y * outputs[0] <= 0
    own = [f for i, f in enumerate(outputs) if _is_own(problem, i)]
    others = [f for i, f in enumerate(outputs) if not _is_own(problem, i)]
    return sum(own) <= sum(others) if problem.readout == "summed-logits" else max(own) <= max(others)


def _faces(problem: Problem) -> list[tuple[Vector, Fraction]]:
    if problem.box is None:
        return []
    return [
        ([Fraction(axis == k) for k in range(len(problem.x))], Fraction(problem.x[axis]) - Fraction(end))
        for ends in problem.box
        for axis, end in enumerate(ends)
        if abs(end) != float("inf")
    ]


def _in_box(problem: Problem, point: Vector) -> bool:
    return problem.box is None or all(
        a <= u <= b for a, u, b in zip(problem.box[0], point, problem.box[1], strict=True)
    )


def _exact(values: tuple[float, ...]) -> Vector:
    return [Fraction(value) for value in values]


def _dot(u: Vector, v: Vector) -> Fraction:
    return sum((a * b for a, b in zip(u, v, strict=True)), Fraction(0))
