"""Certificates in rationals: distances are exact, and neither damage nor another network makes them prove more."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import fmpq

from campaign.soundness.hostile import hostile_problem
from campaign.soundness.nearest import Constraint, at_start
from campaign.soundness.product import question
from campaign.soundness.truth import Truth, exact_radius
from featavg.robustness.proof import Decision, Neurons, Problem, certificates, certified
from featavg.robustness.proof.certificates import Branch, Certificate, Leaf, Side, distance, exact_rows
from featavg.robustness.search.exactly import exactly


def rational(value: Fraction) -> fmpq:
    return fmpq(value.numerator, value.denominator)


@pytest.mark.parametrize("norm", ["l2", "linf"])
def test_the_distance_of_a_half_space_in_a_box_is_the_exact_one(norm: str) -> None:
    rng = np.random.default_rng(5)
    kinds = set()
    for _ in range(300):
        axes = int(rng.integers(1, 4))
        normal = [Fraction(int(v), 4) for v in rng.integers(-4, 5, axes)]
        room = [tuple(None if v > 8 else Fraction(int(v), 2) for v in rng.integers(0, 12, 2)) for _ in range(axes)]
        offset = Fraction(int(rng.integers(-2, 12)))
        found = distance(Side(normal, offset), [Fraction(0)] * axes, room, norm)
        sides = [Constraint(tuple(map(rational, normal)), rational(offset))]
        for axis, ends in enumerate(room):
            for sign, end in zip((-1, 1), ends, strict=True):
                if end is not None:
                    unit = tuple(fmpq(sign * (axis == k)) for k in range(axes))
                    sides.append(Constraint(unit, -rational(end)))
        nearest = at_start(axes, norm).within(sides, None)
        size = None if nearest is None else nearest.size
        truth = Truth(norm, size, size)
        assert not truth.refutes_lower(found), (normal, offset, room)
        assert found == math.inf if size is None else truth.refutes_lower(found * (1 + 1e-14)) or found == 0 == size
        kinds.add("none" if size is None else "zero" if size == 0 else "some")
    assert kinds == {"none", "zero", "some"}


def small_problems(count: int) -> list[tuple[Problem, Truth, list[Certificate]]]:
    """Hostile problems with finite radii and the certificates of their search."""
    found = []
    for number in range(count):
        posed = hostile_problem(8, number)
        if posed.readout == "summed-probabilities":
            continue
        problem, truth = question(posed).checkable(), exact_radius(posed)
        exact = exactly(problem, 0, math.inf, math.inf)
        assert exact is not None, number
        if truth.high != 0:
            found.append((problem, truth, exact.certificates))
    return found


def changed(rng: np.random.Generator, tree: Branch | Leaf, neurons: int) -> Branch | Leaf:
    """The tree with a number, a neuron, or the sides of a branch changed somewhere."""
    if isinstance(tree, Branch):
        way = rng.integers(5)
        if way == 0:
            return tree._replace(neuron=int(rng.integers(-1, neurons + 1)))
        if way == 1:
            return tree._replace(off=tree.on, on=tree.off)
        if way == 2:
            return tree.off
        side = "off" if way == 3 else "on"
        return tree._replace(**{side: changed(rng, getattr(tree, side), neurons)})
    values = dict(tree.theta if rng.random() < 0.7 else tree.mix)
    key = int(rng.choice([*values, 0, 1]))
    old = values.get(key, Fraction(0))
    values[key] = old * Fraction(float(rng.choice([-1.0, 0.0, 0.5, 1.5, 1e9]))) + int(rng.integers(-1, 2))
    return tree._replace(theta=values) if rng.random() < 0.7 else tree._replace(mix=values)


def too_much(count: int, damages: int) -> tuple[int, int]:
    """How many damaged certificates prove more than the truth, and how many something else than before."""
    above = other = 0
    rng = np.random.default_rng(0)
    for problem, truth, sound in small_problems(count):
        before = certified(problem, sound)[0]
        for _ in range(damages):
            each = [c._replace(tree=changed(rng, c.tree, len(problem.neurons.biases))) for c in sound]
            proved = float(certified(problem, each)[0])
            above += truth.refutes_lower(proved)
            other += proved != before
    return above, other


def test_sound_certificates_prove_the_radius_itself_and_damaged_ones_no_more() -> None:
    for problem, truth, sound in small_problems(40):
        proved = float(certified(problem, sound)[0])
        assert not truth.refutes_lower(proved)
        assert proved == truth.radius == math.inf or proved >= truth.radius * (1 - 1e-14)
        assert certified(problem, sound[:-1])[0] == 0.0  # a rival is missing
    above, other = too_much(40, 10)
    assert above == 0
    assert other > 100


@pytest.mark.parametrize("rule", ["allows", "normal"])
def test_every_rule_of_a_leaf_is_needed(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = {
        # Numbers of rows and neurons that exist, but any multipliers.
        "allows": lambda self, leaf, sides: (
            {*leaf.mix} <= {*range(len(self.rows))} and {*leaf.theta} <= {*range(self.neurons)}
        ),
        "normal": lambda self, theta: [Fraction(0)] * self.axes,
    }
    monkeypatch.setattr(certificates.ExactRows, rule, broken[rule])
    assert too_much(40, 10)[0] > 0


def logsumexp(values: np.ndarray) -> float:
    return float(np.logaddexp.reduce(values))


def test_rows_of_probabilities_hold_wherever_they_are_fooled() -> None:
    rng = np.random.default_rng(3)
    fooled = tight = 0
    for _ in range(400):
        outputs = int(rng.integers(2, 7))
        class_of = rng.permutation(np.arange(outputs) % 2)
        layer = Neurons(np.eye(1), np.zeros(1), np.zeros((outputs, 1)), 0.1 * rng.integers(0, 3, outputs))
        problem = Problem(layer, np.zeros((1, 1)), np.array([0]), Decision("probabilities", class_of))
        values = layer.constants
        if logsumexp(values[class_of == 0]) > logsumexp(values[class_of == 1]):
            continue
        fooled += 1
        rival = int(np.flatnonzero(class_of == 1)[values[class_of == 1].argmax()])
        constants = exact_rows(problem, 0, rival).constants
        assert all(c <= 0 for c in constants)
        tight += any(c > -0.1 for c in constants[1:])
    assert fooled > 100
    assert tight > 5


def test_two_outputs_that_tie_with_one_rival_lead_it_together() -> None:
    layer = Neurons(np.eye(1), np.zeros(1), np.ones((3, 1)), np.zeros(3))
    problem = Problem(layer, np.zeros((1, 1)), np.array([0]), Decision("probabilities", np.array([0, 0, 1])))
    mean = {2: Fraction(1)}  # the row of both own outputs, after those of each
    assert certified(problem, [Certificate(0, 2, Leaf(mean, {}))]).tolist() == [math.inf]
    alone = problem._replace(decision=Decision("probabilities", np.array([0, 1, 1])))
    assert certified(alone, [Certificate(0, 1, Leaf({0: Fraction(1)}, {}))]).tolist() == [0.0]
