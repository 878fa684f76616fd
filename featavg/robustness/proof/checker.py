"""The verb `check`: from proofs to lower bounds, in the cheapest arithmetic that shows what is claimed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from featavg.arrays import Array, Bools, Ints
from featavg.robustness.proof.arithmetic import TINY, U, norms_up
from featavg.robustness.proof.curves import curves_of, has_curve
from featavg.robustness.proof.format import Floats, Problem, Proofs, lengths, well_formed
from featavg.robustness.proof.frames import (
    Centers,
    Frame,
    Scaled,
    centers,
    fine_centers,
    gram_frame,
    no_products,
    products_of,
    reduced_frame,
    vector_frame,
)
from featavg.robustness.proof.prepared import Prepared, prepared
from featavg.robustness.proof.pruning import pruned
from featavg.robustness.proof.regions import Pairs, pair_at
from featavg.robustness.proof.shape import depths
from featavg.robustness.proof.tree import Points, Tasks, tree_values

# Finer arithmetic is used where more than this share of a claim is missing: a tenth of what an exact bracket may miss.
LOSS = 1e-7
# A tree with more cuts than this is checked with pre-activations in double-double at once: they cost less than it does.
FEW_CUTS = 16
# Vectors with so few axes, no more than there are neurons, are cheaper than inner products, and more precise.
FEW_AXES = 16
# Reduced coordinates cost neurons²·axes products in double-double: at most so many.
MOST_PRODUCTS = 2**29
# What a bound is rounded down by, beyond what is needed here.
SPARE = 2.0**-40
# Intervals on the path of a tree fill at most this many floats; a deeper tree proves nothing.
MOST_FLOATS = 2**26


def check(problem: Problem | Prepared, proofs: Proofs, claimed: Array | None = None) -> Floats:
    """What the proofs prove: no point of any rival, in the box, is closer to x_i than this: (point,).

    0 where a rival has no valid tree. `claimed` are lower bounds that would do: arithmetic gets finer until they are
    reached up to a share of 1e-7; without them the finest is used at once. The result is smaller than what was shown
    by one part in 10¹², so that a machine whose sums round differently shows it as well.

    >>> from featavg.robustness.proof.format import Decision, Neurons, no_proofs
    >>> neurons = Neurons(np.eye(1), np.zeros(1), np.eye(1), -np.ones(1))
    >>> problem = Problem(neurons, np.array([[3.0]]), np.array([1]), Decision("sign", np.zeros(1, dtype=np.int64)))
    >>> check(problem, no_proofs())
    array([0.])
    """
    return checked(problem, proofs, claimed)[0]


def checked(problem: Problem | Prepared, proofs: Proofs, claimed: Array | None = None) -> tuple[Floats, Proofs]:
    """The same, and the proofs without what it did not need: cuts and nodes beyond what proves the claim."""
    aim = None if claimed is None else np.asarray(claimed, dtype=np.float64)
    lower, needed = _proved(prepared(problem), proofs, aim, LOSS)
    return lower * (1.0 - SPARE), proofs if needed is None else pruned(proofs, needed)


def proves(problem: Problem | Prepared, proofs: Proofs, lower: Array) -> Bools:
    """Whether the proofs prove these bounds: (point,)."""
    aim = np.asarray(lower, dtype=np.float64)
    return (lower >= 0) & (_proved(prepared(problem), proofs, aim, 0.0)[0] >= lower)


def _proved(asked: Prepared, proofs: Proofs, aim: Floats | None, loss: float) -> tuple[Floats, Ints | None]:
    """What is proved, with arithmetic that gets finer where more than a share of the aim is lost; and cuts needed."""
    problem = asked.problem
    if not well_formed(proofs):
        return np.zeros(len(problem.x)), None
    values, needed = np.zeros(len(proofs.point)), lengths(proofs.first_cut)
    trees = _countable(asked, proofs)
    if len(trees.chosen):
        _fill(asked, proofs, aim, loss, trees, values, needed)
    return _over_rivals(problem, proofs, trees, values), needed


class Level(NamedTuple):
    """One arithmetic: how the network is held, and how pre-activations are computed."""

    frame: Callable[[Scaled], Frame]
    centers: Callable[[Scaled, Floats], Centers]


def levels(problem: Problem) -> list[Level]:
    """From the cheapest arithmetic to the finest."""
    euclidean = problem.norm == "l2"
    finest = Level(partial(vector_frame, euclidean=euclidean, compensated=True), fine_centers)
    neurons, axes = problem.neurons.weights.shape
    vectors = partial(vector_frame, euclidean=euclidean, compensated=False)
    if euclidean and problem.low is None and axes > min(neurons, FEW_AXES):
        fast = [Level(gram_frame, centers), Level(gram_frame, fine_centers)]
        reducible = axes > neurons and neurons**2 * axes <= MOST_PRODUCTS
        return [*fast, Level(reduced_frame if reducible else vectors, fine_centers), finest]
    return [Level(vectors, centers), Level(vectors, fine_centers), finest]


def _fill(
    asked: Prepared, proofs: Proofs, aim: Floats | None, loss: float, trees: Trees, values: Floats, needed: Ints
) -> None:
    """Write the values of the chosen trees, level by level until they are as wanted, and how many cuts they need."""
    problem, scaled, regions = asked.problem, asked.scaled, asked.cases
    curved = has_curve(proofs)[trees.chosen].any()
    products = products_of(scaled) if regions.pools or curved else no_products()
    curves = curves_of(proofs, trees.chosen, scaled, products)
    low, high = _box(problem)
    left, chain = trees.chosen, levels(problem)[-1 if aim is None else 0 :]
    wanted = np.zeros(len(values)) if aim is None else _by_tree(aim, proofs, trees.chosen)
    enough = np.where(wanted > 0.0, wanted, np.inf)
    cuts = lengths(proofs.first_cut[proofs.first_node])
    frame: Frame | None = None
    for level, following in zip(chain, [*chain[1:], None], strict=True):
        same = following is not None and following.frame is level.frame
        short = (cuts[left] <= FEW_CUTS) | (not same)
        now = left[short]
        if len(now):
            frame = level.frame(scaled) if frame is None else frame
            z, points, rows = _centers(asked, level, proofs, now)
            tasks = Tasks(now, trees.case, rows, enough, lengths(proofs.first_cut))
            seen = Points(z, points, low, high)
            found = tree_values(frame, products, seen, regions, curves, tasks, scaled.exponent, proofs, trees.deepest)
            better = np.repeat(found >= values, lengths(proofs.first_node))
            needed[better] = tasks.needed[better]
            values[now] = np.maximum(values[now], found[now])
        left = left[:0] if aim is None else left[~short | (values[left] < wanted[left] * (1.0 - loss))]
        frame = frame if same else None
        if not len(left):
            return


def _by_tree(aim: Floats, proofs: Proofs, trees: Ints) -> Floats:
    """What is aimed at for the point of each tree (others: 0)."""
    enough = np.zeros(len(proofs.point))
    enough[trees] = aim[proofs.point[trees]]
    return enough


def _centers(asked: Prepared, level: Level, proofs: Proofs, trees: Ints) -> tuple[Centers, Floats, Ints]:
    """Pre-activations at the points of some trees at least, these points, and the row of each tree (others: any)."""
    if level.centers is centers:
        return asked.centers, np.ascontiguousarray(asked.problem.x), proofs.point
    points, row = np.unique(proofs.point[trees], return_inverse=True)
    rows = np.zeros(len(proofs.point), dtype=np.int64)
    rows[trees] = row
    x = np.ascontiguousarray(asked.problem.x[points])
    return level.centers(asked.scaled, x), x, rows


class Trees(NamedTuple):
    """The trees that can count, and the pair of label and rival that each is about."""

    chosen: Ints  # positions
    pairs: Pairs
    case: Ints  # (tree,)
    deepest: int


def _countable(asked: Prepared, proofs: Proofs) -> Trees:
    """Trees about a point and a rival that exist, well shaped and not too deep, with a whole curve or none."""
    neurons, pairs = len(asked.problem.neurons.biases), asked.pairs
    real = (proofs.point >= 0) & (proofs.point < len(asked.problem.x))
    case = np.full(len(real), -1)
    case[real] = pair_at(pairs, pairs.kind[proofs.point[real]], proofs.rival[real])
    curves, deep = has_curve(proofs), depths(proofs, neurons)
    whole = (curves == 0) | (curves == neurons)
    chosen = np.flatnonzero((case >= 0) & whole & (deep >= 0) & ((deep + 1) * neurons <= MOST_FLOATS))
    return Trees(chosen, pairs, case, int(deep[chosen].max(initial=0)))


def _box(problem: Problem) -> tuple[Floats, Floats]:
    """The box, infinite for ℓ∞ without one, empty for ℓ2 without one."""
    axes = problem.x.shape[1]
    if problem.low is not None and problem.high is not None:
        return np.ascontiguousarray(problem.low), np.ascontiguousarray(problem.high)
    axes = axes if problem.norm == "linf" else 0
    return np.full(axes, -np.inf), np.full(axes, np.inf)


def _over_rivals(problem: Problem, proofs: Proofs, trees: Trees, values: Floats) -> Floats:
    """The least over all rivals of the best tree about each; a rival without a tree proves 0."""
    point, (_, _, first, kind) = proofs.point[trees.chosen], trees.pairs
    count = lengths(first)[kind][:, None]
    best = np.zeros((len(problem.x), count.max(initial=0)))
    np.maximum.at(best, (point, trees.case[trees.chosen] - first[kind[point]]), values[trees.chosen])
    lower = np.where(np.arange(best.shape[1]) < count, best, np.inf).min(axis=1, initial=np.inf)
    return np.where(lower >= _farthest(problem), np.inf, lower)


def _farthest(problem: Problem) -> Floats:
    """At least the distance of every point of the box: nothing closer than that is nothing at all."""
    if problem.low is None or problem.high is None or np.isinf(problem.high - problem.low).any():
        return np.full(len(problem.x), np.inf)
    room = np.maximum(problem.x - problem.low, problem.high - problem.x) * (1.0 + 4.0 * U) + TINY
    return norms_up(room, euclidean=True) if problem.norm == "l2" else room.max(axis=1, initial=0.0)
