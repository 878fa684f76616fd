"""Run without the compiler: every rule of the checker, broken on purpose, must prove too much somewhere.

Prints one line per rule: its name, how many bounds exceed the truth with it broken, and how many without.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import numpy as np

from featavg.robustness.proof import (
    arithmetic,
    caps,
    checker,
    curves,
    exponentials,
    halfspace,
    intervals,
    mixes,
    pools,
    shape,
    support,
    tree,
    witness,
)
from featavg.robustness.proof.format import Decision, Neurons, Problem, Proofs
from featavg.robustness.proof.prepared import Prepared
from tests.robustness.proof.problems import KINDS, radius_on_rays, random_problem
from tests.robustness.proof.provers import ROOT, Cut, Node, proofs_of, random_proofs, tight_proofs

MODULES = (
    arithmetic,
    caps,
    checker,
    curves,
    exponentials,
    halfspace,
    intervals,
    mixes,
    pools,
    shape,
    support,
    tree,
    witness,
)


@contextmanager
def replaced(name: str, value: Callable[..., Any]) -> Iterator[None]:
    """Put `value` wherever a module of the checker knows `name`."""
    old = [(module, getattr(module, name)) for module in MODULES if hasattr(module, name)]
    assert old, name
    for module, _ in old:
        setattr(module, name, value)
    try:
        yield
    finally:
        for module, original in old:
            setattr(module, name, original)


def steeper(slope: float, theta: float, low: float, high: float) -> float:
    return min((slope - theta) * z if z > 0 else -theta * z for z in (low, high))


def both_sides(low: Any, high: Any, neuron: int, threshold: float, side: int) -> None:
    low[neuron], high[neuron] = max(low[neuron], threshold), min(high[neuron], threshold)


def half_reach(low: Any, high: Any, center: Any, slack: Any, norm: Any, reach: float) -> None:
    intervals_within_reach(low, high, center, slack, norm, reach / 2)


def any_mix(rows: Any, mix: Any, slope: Any, spread: Any) -> tuple[bool, float]:
    slope += mix @ rows.slope
    return True, float(mix @ rows.constant)


def asymmetric_box(euclidean: bool, h: Any, low: Any, high: Any, step: float, remainder: Any) -> float:
    """The side of the box that h does not push against."""
    taken = halfspace_take_box(euclidean, h, low, high, step, remainder)
    q = h - remainder
    with np.errstate(invalid="ignore"):
        other = np.where(q == 0, 0.0, np.where(q > 0, q * high, q * low))
    return taken if not np.isfinite(other).all() else -float(other.sum())


intervals_within_reach, halfspace_take_box = intervals.within_reach, halfspace.take_box
pooled_excess, pools_lifted, pools_spreads_of = pools.excess, pools.lifted, pools.spreads_of
curves_price, exponential_offset = curves.price, exponentials.exponential_offset
pooled_own_average, over_rivals = mixes._own_average, checker._over_rivals


def half_support(v: Any, sign: float, h: Any, t: float, least: Any, most: Any) -> tuple[float, float]:
    c = sign * v - t * h
    return 0.5 * float(np.maximum(c * least, c * most).sum()), 0.0


def single_neurons(root: Any, scaled: Any, products: Any) -> float:
    """Forgets that neurons move together."""
    return float(np.max(root**2 * products.size**2))


def more_entropy(*arguments: Any) -> Any:
    entropy, average = pooled_own_average(*arguments)
    return entropy + 0.3, average


def center_only(rows: Any, average: Any, ball: Any, products: Any, low: Any, high: Any) -> float:
    """Forgets that the rival's outputs change away from the center."""
    return pooled_excess(rows, average, ball._replace(radius=0.0), products, low, high)


def level_spreads(*arguments: Any) -> Any:
    """Takes the differences at the center for those in the whole ball."""
    spreads = pools_spreads_of(*arguments)
    return spreads._replace(tilt=0 * spreads.tilt, size=0 * spreads.size)


def slower(*numbers: float) -> float:
    """Lets exponentials grow by four fifths of their power."""
    slope, theta, bend, middle, power, level, low, high = numbers
    return float(exponential_offset(slope, theta, bend, middle, 0.8 * power, level, low, high))


def least_rival_only(problem: Problem, proofs: Proofs, trees: Any, values: Any) -> Any:
    """Forgets that all rivals must be excluded."""
    best = np.zeros(len(problem.x))
    np.maximum.at(best, proofs.point[trees.chosen], values[trees.chosen])
    return best


RULES: dict[str, tuple[str, Callable[..., Any]]] = {
    "κ without the kink at 0": ("relaxation_offset", steeper),
    "κ of a neuron that may be on": ("is_free", lambda slope, theta, low, high: theta == 0.0),
    "a branch keeps both sides": ("on_side", both_sides),
    "half the reach": ("within_reach", half_reach),
    "caps as if all were parallel": ("gram_distance", lambda norm, inner, length, t: abs(norm - t * length)),
    "a wrong norm": ("norm_up", lambda values, euclidean: 0.9 * float(np.linalg.norm(values, 2 if euclidean else 1))),
    "the wrong side of the box": ("take_box", asymmetric_box),
    "negative multipliers of rows": ("mixed_rows", any_mix),
    "ℓ2 support halved": ("l2_support", lambda v, sign, reach, low, high: 0.5 * reach * float(np.linalg.norm(v))),
    "ℓ∞ support halved": ("linf_support", half_support),
    "too much entropy": ("_own_average", more_entropy),
    "exponentials at the center only": ("excess", center_only),
    "exponentials without curvature": ("curvature", lambda most: 0.0),
    "exponentials that never grow together": ("perron", lambda bend, inner, size, share: 0.0),
    "differences without their slope": ("spreads_of", level_spreads),
    "a ball without a radius": ("lifted", lambda offset, length: (offset / length**2, 1e9)),
    "a ball around the point itself": ("lifted", lambda offset, length: (0.0, pools_lifted(offset, length)[1])),
    "curves at half their price": ("price", lambda *arguments: 0.5 * curves_price(*arguments)),
    "curves of single neurons": ("largest_eigenvalue", single_neurons),
    "curves over the ridge": ("bent_offset", lambda slope, theta, bend, middle, low, high: 0.0),
    "exponentials that grow slowly": ("exponential_offset", slower),
    "exponentials that cost nothing": ("exponential_offset", lambda *numbers: 0.0),
    "one rival is enough": ("_over_rivals", least_rival_only),
    "missing sides": ("_closed", lambda path, start, stop: True),
    "siblings of other neurons": ("_siblings", lambda proofs, one, other: True),
    "no rounding": ("down", lambda value: value),
}


def exceeding(problem: Problem, proofs: Proofs, truth: np.ndarray) -> int:
    with np.errstate(all="ignore"):
        lower = np.maximum(checker.check(problem, proofs), checker.check(problem, proofs, 0 * truth))
        return int((lower > truth * (1 + 1e-9)).sum())


def battery() -> Iterator[tuple[Problem, Proofs, np.ndarray]]:
    for i in range(90):
        rng = np.random.default_rng([11, i])
        kind, norm, box = KINDS[i % 5], ("l2", "linf")[i // 5 % 2], ("none", "both", "one-sided")[i // 10 % 3]
        problem = random_problem(rng, kind, norm, box, points=1)
        truth = np.array([radius_on_rays(problem, 0)])
        reach = 1.5 * float(truth[0]) if np.isfinite(truth[0]) and truth[0] > 0 else 2.0
        proofs = random_proofs(problem, rng, reach, endless=False)
        yield problem, proofs, truth
        if norm == "l2" and box == "none":
            yield padded(problem), proofs, truth
        if kind != "probabilities":
            proofs = tight_proofs(problem, reach)
            yield problem, proofs, truth
            yield problem, proofs._replace(mix=-proofs.mix, theta=-proofs.theta), truth
            yield problem, lopsided(proofs), truth


def padded(problem: Problem) -> Problem:
    """With more axes than neurons, so that inner products are used; the new axes change nothing."""
    zeros = ((0, 0), (0, len(problem.neurons.biases)))
    layer = problem.neurons._replace(weights=np.pad(problem.neurons.weights, zeros))
    return problem._replace(neurons=layer, x=np.pad(problem.x, zeros))


def lopsided(proofs: Proofs) -> Proofs:
    """Only the first side of the first branch of every tree, and the same neuron's name for another."""
    trees = []
    for tree_ in range(len(proofs.point)):
        nodes = []
        for node in range(proofs.first_node[tree_], proofs.first_node[tree_ + 1]):
            head = (int(proofs.depth[node]), int(proofs.neuron[node]), int(proofs.side[node]), 0.0)
            nodes.append(Node(*head, [_cut(proofs, c) for c in range(*proofs.first_cut[node : node + 2])]))
        half = [node for node in nodes if node.depth == 0 or node.side < 0]
        trees.append((int(proofs.point[tree_]), int(proofs.rival[tree_]), half))
    return proofs_of(trees)


def _cut(proofs: Proofs, cut: int) -> Cut:
    theta = np.zeros(8)
    entries = slice(*proofs.theta_start[cut : cut + 2])
    theta[proofs.theta_neuron[entries]] = proofs.theta[entries]
    mix = proofs.mix[slice(*proofs.mix_start[cut : cut + 2])]
    return Cut(float(proofs.reach[cut]), mix, theta, float(proofs.box_step[cut]))


def crafted() -> Iterator[tuple[Problem, Proofs, np.ndarray]]:
    """Proofs that one broken rule each would believe, with radii in closed form."""
    sign, one = Decision("sign", np.zeros(1, dtype=np.int64)), np.array([1])
    # f = ReLU(y) − ReLU(x) + 1; the second side is about another neuron, so points with x > 0 are forgotten.
    layer = Neurons(np.array([[0.0, 1.0], [1.0, 0.0]]), np.zeros(2), np.array([[1.0, -1.0]]), np.array([1.0]))
    cuts = [Cut(5.0, 1.0, [0.0, 0.0])]
    nodes = [Node(*ROOT, []), Node(1, 1, -1, 0.0, cuts), Node(1, 0, 1, 100.0, cuts)]
    yield Problem(layer, np.array([[0.5, 0.5]]), one, sign), proofs_of([(0, 0, nodes)]), np.array([0.5**0.5])
    # f = x + y + 1 (its neuron is on), x >= −0.2: nearest is (−0.2, −0.8).
    layer = Neurons(np.ones((1, 2)), np.array([10.0]), np.ones((1, 1)), np.array([-9.0]))
    box = (np.array([-0.2, -np.inf]), np.array([0.01, np.inf]))
    proofs = proofs_of([(0, 0, [Node(*ROOT, [Cut(2.0, 1.0, [1.0], 0.8)])])])
    yield Problem(layer, np.zeros((1, 2)), one, sign, "l2", *box), proofs, np.array([0.68**0.5])
    # f_0 = x, f_1 = −1, f_2 = 0, classes {0, 1} and {2} by maximum: fooled where x <= 0; −1 times a row is no row.
    layer = Neurons(np.ones((1, 1)), np.array([10.0]), np.array([[1.0], [0.0], [0.0]]), np.array([-10.0, -1.0, 0.0]))
    problem = Problem(layer, np.ones((1, 1)), np.array([0]), Decision("maximum", np.array([0, 0, 1])))
    yield problem, proofs_of([(0, 2, [Node(*ROOT, [Cut(3.0, [1.0, -1.0], [1.0])])])]), np.array([1.0])
    # f = x + 1 − ReLU(y) at (0, −0.1): nearest on x + 1 = y; cuts that only help a neuron whose range shrinks too fast.
    layer = Neurons(np.eye(2, 3), np.array([10.0, 0.0]), np.array([[1.0, -1.0]]), np.array([-9.0]))
    cuts = [Cut(0.9, 1.0, [1.0, -share]) for share in (0.444, 0.3, 0.3, 0.2, 0.2, 0.1, 0.1, 0.05, 0.05, 0.0, 0.0)]
    problem = Problem(layer, np.array([[0.0, -0.1, 0.0]]), one, sign)
    yield problem, proofs_of([(0, 0, [Node(*ROOT, cuts)])]), np.array([1.1 / 2**0.5])
    # f = 1 − ReLU(x) at −1: fooled from 1 on; the chord of a neuron that moves half as much knows of nothing.
    layer = Neurons(np.ones((1, 1)), np.zeros(1), -np.ones((1, 1)), np.ones(1))
    problem = Problem(layer, -np.ones((1, 1)), one, sign, "l2", np.array([-5.0]), np.array([5.0]))
    yield problem, proofs_of([(0, 0, [Node(*ROOT, [Cut(2.5, 1.0, [-0.1])])])]), np.array([2.0])


def curves_alike() -> tuple[Problem, Proofs, np.ndarray]:
    """f = 2 − ReLU(x) − ReLU(x + y/10) at 0: one curve over two neurons that are nearly one, proved too far."""
    layer = Neurons(np.array([[1.0, 0.0], [1.0, 0.1]]), np.zeros(2), -np.ones((1, 2)), np.array([2.0]))
    problem = Problem(layer, np.zeros((1, 2)), np.array([1]), Decision("sign", np.zeros(1, dtype=np.int64)))
    truth = radius_on_rays(problem, 0)
    cuts = [Cut(1.02 * truth, 1.0, [-0.5, -0.5], bend=0.25)]
    return problem, proofs_of([(0, 0, [Node(*ROOT, cuts)])], [1.0, 1.0]), np.array([truth])


def pools_of(seed: int) -> tuple[Problem, Proofs, np.ndarray]:
    """Own and rival outputs that are linear in the plane, and cuts along the way to the nearest fooled point."""
    rng = np.random.default_rng([7, seed])
    weights, second = rng.normal(size=(4, 2)), rng.normal(size=(5, 4))
    layer = Neurons(weights, np.full(4, 50.0), second, -50.0 * second.sum(axis=1) + np.array([4.0, 3.0, 0.0, 0.0, 0.0]))
    decision = Decision("probabilities", np.array([0, 0, 1, 1, 1]))
    problem = Problem(layer, np.zeros((1, 2)), np.zeros(1, dtype=np.int64), decision)
    truth, toward = radius_on_rays(problem, 0), np.linspace(0.0, 2.0 * np.pi, 16, endpoint=False)
    slopes, cuts = second @ weights, []
    for share in np.repeat(np.linspace(0.0, 1.0, 6), 2):
        for angle in toward if share == 1.0 else toward[:1]:
            heights = slopes @ (share * truth * np.array([np.cos(angle), np.sin(angle)])) + [4.0, 3.0, 0.0, 0.0, 0.0]
            p, q = (np.exp(side - np.logaddexp.reduce(side)) for side in (heights[:2], heights[2:]))
            cuts.append(Cut(1.2 * truth, np.concatenate([p, q]), p @ second[:2] - q @ second[2:]))
    return problem, proofs_of([(0, 1, [Node(*ROOT, cuts)])]), np.array([truth])


def alone_of(seed: int) -> tuple[Problem, Proofs, np.ndarray]:
    """Outputs with a neuron of their own, and tangents at the nearest fooled point and around it, with a curve."""
    rng = np.random.default_rng([8, seed])
    angles = np.array([0.0, 2.0, 4.0]) + rng.uniform(0.0, 1.0, 3)
    weights = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    layer = Neurons(weights, rng.uniform(-0.5, 0.5, 3), np.diag([1.0, 1.5, 1.5]), np.array([2.0, 0.0, 0.0]))
    problem = Problem(
        layer, np.zeros((1, 2)), np.zeros(1, dtype=np.int64), Decision("probabilities", np.array([0, 1, 1]))
    )
    truth, cuts = radius_on_rays(problem, 0), []
    for angle in np.linspace(0.0, 2.0 * np.pi, 12, endpoint=False):
        z = weights @ (truth * np.array([np.cos(angle), np.sin(angle)])) + layer.biases
        f = np.maximum(z, 0.0) * [1.0, 1.5, 1.5] + layer.constants
        for bend in (0.0, 0.5, 2.0):
            level = np.logaddexp.reduce(f[1:]) + bend * truth**2 / np.exp(f[1:]).sum()
            theta = np.array([1.0, -1.5, -1.5]) * np.exp([0.0, *(f[1:] - level)]) * (z > 0)
            cuts.append(Cut(1.2 * truth, np.array([1.0, 0.0, 0.0, level]), theta, bend=bend))
    return problem, proofs_of([(0, 1, [Node(*ROOT, cuts)])], [0.0, 1.0, 1.0]), np.array([truth])


def unrounded() -> int:
    """How often β/‖h‖ exceeds itself in rationals, for one linear piece."""
    found = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        w, c = rng.normal(size=3), float(rng.uniform(0.1, 1.0))
        layer = Neurons(w[None], np.array([50.0]), np.ones((1, 1)), np.array([c]))
        problem = Problem(layer, rng.normal(size=(1, 3)), np.array([1]), Decision("sign", np.zeros(1, dtype=np.int64)))
        proofs = proofs_of([(0, 0, [Node(*ROOT, [Cut(np.inf, 1.0, [1.0])])])])
        lower = Fraction(float(checker._proved(Prepared(problem), proofs, None, 0.0)[0][0]))
        z = Fraction(50) + sum(
            Fraction(a) * Fraction(b) for a, b in zip(w.tolist(), problem.x[0].tolist(), strict=True)
        )
        square = sum(Fraction(a) ** 2 for a in w.tolist())
        found += lower**2 * square > (z + Fraction(c)) ** 2
    return found


def main() -> None:
    problems = [*battery(), *crafted(), curves_alike(), *map(pools_of, range(12)), *map(alone_of, range(12))]
    sound = sum(exceeding(*each) for each in problems) + unrounded()
    for rule, (name, broken) in RULES.items():
        with replaced(name, broken):
            if rule == "no rounding":
                with replaced("up", lambda value: value), replaced("gamma", lambda count: 0.0):
                    found = unrounded()
            else:
                found = sum(exceeding(*each) for each in problems)
        print(rule, found, sound, sep="\t")


if __name__ == "__main__":
    sys.exit(main())
