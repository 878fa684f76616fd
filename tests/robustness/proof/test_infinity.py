"""Infinite radii are proved in rationals, or not at all."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from featavg.arrays import Bools
from featavg.errors import InputError
from featavg.robustness import robust_radius
from featavg.robustness.proof import Decision, Neurons, Problem, infinite
from featavg.robustness.proof.certificates import Branch, Certificate, Leaf, half_spaces
from featavg.robustness.proof.files import from_text, to_text
from featavg.robustness.search.emptiness import find_emptiness
from tests.robustness.proof.problems import radius_on_rays, random_problem

SIGN = Decision("sign", np.zeros(1, dtype=np.int64))
ONE = Fraction(1)


def pair(slack: float, tilt: float = 0.0) -> Problem:
    """f = ReLU(x) − ReLU(x + tilt·y − 1) + slack, at least slack everywhere if tilt = 0."""
    weights, biases = np.array([[1.0, 0.0], [1.0, tilt]]), np.array([0.0, -1.0])
    layer = Neurons(weights, biases, np.array([[1.0, -1.0]]), np.array([slack]))
    return Problem(layer, np.array([[0.5, 0.5]]), np.array([1]), SIGN)


# z_1 <= 0: f >= ReLU(z_0) + slack; z_1 >= 0: f >= z_0 − z_1 + slack = 1 + slack.
TREE = Branch(1, Leaf({0: ONE}, {}), Leaf({0: ONE}, {0: ONE, 1: -ONE}))


def test_a_certificate_holds_where_it_should_and_nowhere_else() -> None:
    assert half_spaces(pair(0.05), Certificate(1, 0, TREE)) == []
    assert half_spaces(pair(0.0), Certificate(1, 0, TREE)) != []  # a tie is fooled
    assert half_spaces(pair(0.05, tilt=5e-324), Certificate(1, 0, TREE)) != []  # nearly parallel is not parallel
    assert half_spaces(pair(0.05), Certificate(-1, 0, TREE)) != []
    assert half_spaces(pair(0.05), Certificate(1, 1, TREE)) != []
    assert infinite(pair(0.05), [Certificate(1, 0, TREE)]).tolist() == [True]
    assert infinite(pair(0.05), []).tolist() == [False]


@pytest.mark.parametrize(
    "tree",
    [
        Leaf({0: ONE}, {0: ONE, 1: -ONE}),  # the undecided neuron has no lower line of that slope
        Branch(1, Leaf({0: ONE}, {1: -ONE}), TREE.on),  # −z is no lower line where z <= 0
        Branch(1, TREE.off, Leaf({0: ONE}, {0: ONE * 2, 1: -2 * ONE})),  # steeper than ReLU
        Branch(1, TREE.off, Leaf({0: ONE}, {0: ONE, 1: -ONE + Fraction(1, 10**30)})),  # h is not 0
        Branch(1, TREE.off, Leaf({0: -ONE}, {})),
        Branch(1, TREE.off, Leaf({7: ONE}, {})),
        Branch(1, TREE.off, Leaf({0: ONE}, {9: ONE})),
        Branch(5, TREE.off, TREE.on),
        Leaf({}, {}),
    ],
)
def test_broken_certificates_prove_nothing(tree: Branch | Leaf) -> None:
    assert half_spaces(pair(0.05), Certificate(1, 0, tree)) != []


def test_the_finder_finds_and_never_proves_a_finite_radius_infinite() -> None:
    found = wanted = 0
    for seed in range(60):
        kind = ("sign", "argmax", "maximum", "logits")[seed % 4]
        box = ("none", "one-sided")[seed // 4 % 2]
        problem = random_problem(np.random.default_rng(seed), kind, "l2", box, points=1)
        certificates = find_emptiness(problem, np.ones(1, dtype=bool))
        assert from_text(to_text(certificates)) == certificates
        endless = bool(infinite(problem, certificates)[0])
        truth = radius_on_rays(problem, 0, reach=1e4)
        assert not endless or truth == np.inf
        found, wanted = found + endless, wanted + (truth == np.inf)
    assert found >= 0.9 * wanted > 0


def test_many_negative_neurons_in_one_dimension() -> None:
    rng = np.random.default_rng(1)
    neurons = 12
    knots = np.sort(rng.uniform(-3, 3, neurons))
    weights = np.concatenate([np.ones((neurons, 1)), np.ones((neurons, 1))])
    outputs = np.concatenate([np.ones(neurons), -np.ones(neurons)])[None]
    layer = Neurons(weights, np.concatenate([-knots + 0.5, -knots]), outputs, np.array([0.1]))
    problem = Problem(layer, np.array([[0.0]]), np.array([1]), SIGN)
    certificates = find_emptiness(problem, np.ones(1, dtype=bool), seconds=20.0)
    assert infinite(problem, certificates).all()


@pytest.mark.parametrize("text", ["", "[", "{}", "[[1]]", '[[1, 0, [{"0": ["0x1", "0x0"]}, {}]]]', "[" * 5000])
def test_damaged_text_is_refused(text: str) -> None:
    if text == "{}":
        assert from_text(text) == []
        return
    with pytest.raises(InputError, match="damaged"):
        from_text(text)


def pools(lead: float) -> Problem:
    """Own outputs |x| + lead and −1e3, three rivals |x|: fooled everywhere if lead <= log 3, else nowhere."""
    second = np.array([[1.0, 1.0], [0.0, 0.0], [1.0, 1.0], [1.0, 1.0], [1.0, 1.0]])
    layer = Neurons(np.array([[1.0], [-1.0]]), np.zeros(2), second, np.array([lead, -1e3, 0.0, 0.0, 0.0]))
    return Problem(layer, np.array([[0.5]]), np.array([0]), Decision("probabilities", np.array([0, 0, 1, 1, 1])))


def test_summed_probabilities_that_lead_by_more_than_the_logarithm_of_their_rivals() -> None:
    certificates = find_emptiness(pools(1.2), np.array([True]))  # log 3 = 1.0986
    assert {each.rival for each in certificates} == {2, 3, 4}
    assert infinite(pools(1.2), certificates).tolist() == [True]
    assert infinite(pools(1.2), certificates[:2]).tolist() == [False]
    assert infinite(pools(1.2)._replace(target=np.array([1])), certificates).tolist() == [True]
    # The same certificates say nothing about a lead that three rivals outweigh together.
    assert infinite(pools(1.09), certificates).tolist() == [False]
    assert not find_emptiness(pools(1.09), np.array([True]))


def test_small_networks_are_decided_in_rationals_where_floats_mislead() -> None:
    """f = 1e-150·(ReLU(z) − ReLU(z − 1e-9)) + 1e-300 > 0, but where z <= 0 by less than a float program sees."""
    weights, biases = np.array([[1.0], [1.0]]), np.array([0.0, -1e-9])
    layer = Neurons(weights, biases, np.array([[1e-150, -1e-150]]), np.array([1e-300]))
    problem = Problem(layer, np.array([[3.0]]), np.array([1]), SIGN)
    certificates = find_emptiness(problem, np.array([True]))
    assert infinite(problem, certificates).tolist() == [True]
    tie = problem._replace(neurons=layer._replace(constants=np.zeros(1)))
    assert not infinite(tie, find_emptiness(tie, np.array([True]))).any()


def test_certificates_that_only_the_second_search_finds_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def at_the_second_time(problem: Problem, wanted: Bools) -> list[Certificate]:
        asked.append(1)
        return find_emptiness(problem, wanted) if len(asked) > 1 else []

    monkeypatch.setattr("featavg.robustness.search.answer.find_emptiness", at_the_second_time)
    # Σ ReLU(±z) + 1 > 0 everywhere.
    found = robust_radius(([[1.0, 2.0], [-1.0, -2.0]], [0.5, -0.5], [[1.0, 1.0]], [1.0]), [[0.3, -0.2]], [1])
    assert len(asked) == 2
    assert found.lower[0] == np.inf
    assert found.verify().all()
