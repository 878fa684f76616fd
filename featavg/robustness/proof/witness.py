"""The verb `witness_distance`: is a float64 point certainly fooled and in the box, and how far away is it at most?"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from featavg.arrays import Array, Bools, Ints
from featavg.errors import InputError
from featavg.robustness.proof.apart import apart
from featavg.robustness.proof.arithmetic import SMALL, U, down, gamma, norms_up, two_product, two_sum, up
from featavg.robustness.proof.cases import Cases
from featavg.robustness.proof.checker import SPARE
from featavg.robustness.proof.compiled import borrowing, entry, inner
from featavg.robustness.proof.exponentials import ELEMENTARY
from featavg.robustness.proof.format import Floats, Problem, part
from featavg.robustness.proof.frames import Centers, centers, fine_centers
from featavg.robustness.proof.margins import float_margins
from featavg.robustness.proof.prepared import Prepared, prepared
from featavg.robustness.proof.regions import rivals, rows

# Margins that double-double leaves open are decided in rationals if the network has at most so many weights.
MOST_RATIONAL_WEIGHTS = 5_000
# Coordinates handled at a time: what fits into a cache.
MOST_COORDINATES = 2**17
# Of probabilities rationals decide ties alone: margins that floats take for larger than this are none.
TIED = 1e-9


def witness_distance(problem: Problem | Prepared, witness: Array) -> Floats:
    """Distance of witness_i from x_i, rounded up, where it is certainly fooled and in the box, else ∞: (point,).

    Larger by one part in 10¹² than needed here, so that other machines agree.

    >>> from featavg.robustness.proof.format import Decision, Neurons
    >>> neurons = Neurons(np.eye(1), np.zeros(1), np.eye(1), -np.ones(1))
    >>> problem = Problem(neurons, np.array([[3.0]]), np.array([1]), Decision("sign", np.zeros(1, dtype=np.int64)))
    >>> witness_distance(problem, np.array([[0.5]])).round(9), witness_distance(problem, np.array([[1.5]]))
    (array([2.5]), array([inf]))
    """
    return _shown(prepared(problem), np.asarray(witness, dtype=np.float64)) * (1.0 + SPARE)


def shows(problem: Problem | Prepared, witness: Array, upper: Array) -> Bools:
    """Whether the witnesses show these bounds, where they are finite: (point,)."""
    return (upper == np.inf) | (_shown(prepared(problem), np.asarray(witness, dtype=np.float64)) <= upper)


def _shown(asked: Prepared, witness: Floats) -> Floats:
    problem, pairs = asked.problem, asked.pairs
    if witness.shape != problem.x.shape:
        raise InputError(f"a witness per point is needed, got shape {witness.shape} for points {problem.x.shape}")
    distance, fooled = np.full(len(witness), np.inf), np.zeros(len(witness), dtype=np.bool_)
    for few in blocks(witness):
        points = np.ascontiguousarray(witness[few])
        distance[few] = _sizes(problem, points, problem.x[few])
        z = centers(asked.scaled, points)
        fooled[few] = _any_reached(asked.cases, pairs.first, pairs.kind[few], z)
    left = np.flatnonzero(~fooled & (distance < np.inf))
    if len(left):
        fooled[left] = _finely_fooled(asked, left, np.ascontiguousarray(witness[left]))
    return np.where(fooled, distance, np.inf)


def _sizes(problem: Problem, points: Floats, x: Floats) -> Floats:
    """How far points are from x, rounded up; ∞ where one is not in the box or not finite."""
    # A difference of floats is within u of itself.
    with np.errstate(over="ignore", invalid="ignore"):
        moved = points - x
    size = norms_up(moved, euclidean=True) if problem.norm == "l2" else np.abs(moved).max(axis=1, initial=0.0)
    inside = size < np.inf
    if problem.low is not None and problem.high is not None:
        inside &= np.all((problem.low <= points) & (points <= problem.high), axis=1)
    return np.where(inside, size * (1.0 + 4.0 * U), np.inf)


def blocks(points: Array) -> Iterator[slice]:
    """A few points at a time."""
    size = max(1, MOST_COORDINATES // max(points.shape[1], 1))
    return (slice(first, first + size) for first in range(0, len(points), size))


def _finely_fooled(asked: Prepared, chosen: Ints, points: Floats) -> Bools:
    """Whether a rival is certainly reached at those of the points, in double-double, then in rationals."""
    problem, pairs = asked.problem, asked.pairs
    fooled = _any_reached(asked.cases, pairs.first, pairs.kind[chosen], fine_centers(asked.scaled, points))
    if problem.neurons.weights.size <= MOST_RATIONAL_WEIGHTS:
        left = np.flatnonzero(~fooled)
        if problem.decision.kind == "probabilities":
            left = left[float_margins(part(problem, chosen[left]), points[left]) <= TIED]
        for i in left.tolist():
            fooled[i] = _exactly_fooled(problem, int(chosen[i]), points[i])
    return fooled


def _any_reached(regions: Cases, first: Ints, kind: Ints, z: Centers) -> Bools:
    """Whether a rival of its kind is certainly reached at each point."""
    result = np.zeros(len(kind), dtype=np.bool_)
    _mark_reached(regions, first, kind, z, result)
    return result


@entry
def _mark_reached(regions: Cases, first: Ints, kind: Ints, z: Centers, result: Bools) -> None:
    for point in range(len(kind)):
        for case in range(first[kind[point]], first[kind[point] + 1]):
            if regions.valid[case] and _reached(regions, case, z, point):
                result[point] = True
                break


@borrowing
def _reached(regions: Cases, case: int, z: Centers, point: int) -> bool:
    """All rows certainly <= 0; for probabilities logsumexp_own f <= logsumexp_rival f."""
    if regions.pools:
        return _outweighed(regions, regions.first_row[case], regions.first_row[case + 1], z, point)
    return _all_closed(regions, case, z, point)


@borrowing
def _all_closed(regions: Cases, case: int, z: Centers, point: int) -> bool:
    for row in range(regions.first_row[case], regions.first_row[case + 1]):
        _, most = row_range(regions, row, z, point)
        if not most <= 0.0:
            return False
    return True


@apart(inner)
def _outweighed(regions: Cases, first: int, last: int, z: Centers, point: int) -> bool:
    """Σ_own exp(f⁺ − M) <= Σ_rival exp(f⁻ − M), M the rival's largest output; both sums outward."""
    least, most = np.zeros(last - first), np.zeros(last - first)
    largest = -np.inf
    for k in range(last - first):
        least[k], most[k] = row_range(regions, first + k, z, point)
        if not abs(least[k]) + abs(most[k]) < np.inf:
            return False
        if regions.role[first + k] < 0:
            largest = max(largest, least[k])
    if _dominated(least, most, regions.role[first:last]):
        return True
    own, other = 0.0, 0.0
    for k in range(last - first):
        if regions.role[first + k] > 0:
            own = up(own + up(math.exp(up(most[k] - largest)) * (1.0 + ELEMENTARY)))
        elif regions.role[first + k] < 0:
            other = down(other + down(math.exp(down(least[k] - largest)) * (1.0 - ELEMENTARY)))
    return own <= other


@inner
def _dominated(least: Floats, most: Floats, role: Ints) -> bool:
    """Each own output has a rival's output of its own that is no smaller: ties are decided without exponentials."""
    taken = np.zeros(len(role), dtype=np.bool_)
    for k in range(len(role)):
        if role[k] > 0:
            best = -1
            for r in range(len(role)):
                enough = role[r] < 0 and not taken[r] and least[r] >= most[k]
                if enough and (best < 0 or least[r] < least[best]):
                    best = r
            if best < 0:
                return False
            taken[best] = True
    return True


@borrowing
def row_range(regions: Cases, row: int, z: Centers, point: int) -> tuple[float, float]:
    """Σ_j a_j ReLU(z_j) + c, outward: products in double-double, a neuron of unknown sign anywhere between its ends.

    With n terms of total size S the sum is within 2·gamma(n)²·S of the exact one.
    """
    total, rest, size = regions.constant[row], 0.0, abs(regions.constant[row])
    unknown, below, above, certain = regions.constant_spread[row], 0.0, 0.0, True
    count = regions.slope.shape[1]
    for j in range(count):
        high, low, error = z.high[point, j], z.low[point, j], z.error[point, j]
        slope, spread = regions.slope[row, j], regions.slope_spread[row, j]
        least, most = down(down(high + low) - error), up(up(high + low) + error)
        if most <= 0.0 or (slope == 0.0 and spread == 0.0):
            continue
        certain = False
        unknown += spread * most
        if least > 0.0:
            p, e = two_product(slope, high)
            total, f = two_sum(total, p)
            rest += e + f + slope * low
            size += abs(p)
            unknown += abs(slope) * error
        else:
            below += min(slope, 0.0) * most
            above += max(slope, 0.0) * most
    if certain and unknown == 0.0:
        return total, total
    terms = 4.0 * count + 8.0
    grown = 1.0 + gamma(terms)
    doubt = up(up(2.0 * gamma(terms) ** 2 * size) + up(unknown * grown)) + terms * SMALL
    least = down(down(down(total + rest) + below * grown) - up(doubt))
    return least, up(up(up(total + rest) + above * grown) + up(doubt))


def _exactly_fooled(problem: Problem, point: int, witness: Floats) -> bool:
    """The definition itself, in rationals; of probabilities what needs no exponentials."""
    outputs = exact_outputs(problem, witness)
    label = int(problem.labels[point])
    these = rivals(problem.decision, label, len(outputs)).tolist()
    if problem.target is not None:
        these = [rival for rival in these if rival == problem.target[point]]
    for rival in these:
        combinations = rows(problem.decision, label, rival, len(outputs)).tolist()
        if problem.decision.kind == "probabilities":
            own, other = (sorted(f for m, f in zip(combinations[0], outputs, strict=True) if m == s) for s in (1, -1))
            # The largest own output is no more than the rival's largest, the next no more than its next, and so on.
            if len(own) <= len(other) and all(a <= b for a, b in zip(own[::-1], other[::-1], strict=False)):
                return True
        elif all(sum(m * f for m, f in zip(row, outputs, strict=True)) <= 0 for row in combinations):
            return True
    return False


def exact_outputs(problem: Problem, point: Floats) -> list[Fraction]:
    """The network's outputs at a float64 point, in rationals."""
    weights, biases, outputs, constants = (array.tolist() for array in problem.neurons)
    x = [Fraction(value) for value in point.tolist()]
    hidden = []
    for w, b in zip(weights, biases, strict=True):
        z = Fraction(b) + sum((Fraction(wi) * xi for wi, xi in zip(w, x, strict=True) if wi), start=Fraction(0))
        hidden.append(max(z, Fraction(0)))
    return [
        Fraction(c) + sum((Fraction(a) * v for a, v in zip(row, hidden, strict=True) if v), start=Fraction(0))
        for row, c in zip(outputs, constants, strict=True)
    ]
