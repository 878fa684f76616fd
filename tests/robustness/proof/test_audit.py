"""The second checker: it agrees with the first, at any precision, and shares no arithmetic with it."""

from __future__ import annotations

import ast
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import featavg.robustness.proof.audit
from featavg.errors import InputError
from featavg.model import MulticlassNetwork
from featavg.robustness import robust_radius
from featavg.robustness.proof import Decision, Neurons, Problem, Proofs, check
from featavg.robustness.proof.audit import audit
from tests.robustness.proof.problems import KINDS, random_problem
from tests.robustness.proof.provers import ROOT, Cut, Node, curved, proofs_of, random_proofs


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("norm", ["l2", "linf"])
def test_both_checkers_agree(kind: str, norm: str) -> None:
    for seed, box in enumerate(("none", "both", "one-sided")):
        rng = np.random.default_rng([seed, len(kind), len(norm)])
        problem = random_problem(rng, kind, norm, box)
        proofs = random_proofs(problem, rng, 2.0, endless=False)
        quick, slow, finer = check(problem, proofs), audit(problem, proofs), audit(problem, proofs, precision=400)
        assert (quick <= slow).all()
        np.testing.assert_allclose(quick, slow, rtol=1e-6, atol=1e-10)
        np.testing.assert_allclose(slow, finer, rtol=1e-12)


def test_they_agree_where_many_ratios_of_weights_are_equal() -> None:
    """Whole numbers as weights: the cap's rise in ℓ∞ has kinks that coincide, and must be followed through them."""
    rng = np.random.default_rng(5)
    for _ in range(12):
        weights = rng.integers(-2, 3, size=(5, 12)).astype(float)
        network = (weights, rng.integers(-2, 3, size=5).astype(float), rng.integers(-2, 3, size=(1, 5)) * 1.0, [1.0])
        x = rng.integers(-2, 3, size=(4, 12)).astype(float)
        sign = np.where(np.maximum(x @ weights.T + network[1], 0.0) @ network[2][0] + 1.0 > 0, 1, -1)
        assert robust_radius(network, x, sign, norm="linf").verify(audit=True).all()


def test_they_agree_where_two_bounds_of_an_output_tie() -> None:
    """Two neurons, almost opposite, both at their kink: at the ball's center ceiling and slopes say the same."""
    weights = [["0x1.1841e92ea13e5p-1", "-0x1.3988ea3c74860p+0"], ["-0x1.6a6f36a0d991ap-2", "0x1.fe75a7dfa8463p-1"]]
    biases = ["0x1.12b5d44aa1361p-1", "-0x1.ac28e78ffb8e8p-2"]
    second = [
        ["-0x1.f798fd867d9f2p-9", "-0x1.62149811c52e7p-2"],
        ["-0x1.4b474d8e76a0ap-15", "-0x1.210310dd83ec8p-6"],
        ["0x1.9293ada2f033cp-9", "0x1.5ec05a56c4b1ap-3"],
        ["-0x1.44f1d57d5b127p-8", "-0x1.0f73ca41db3bfp-4"],
    ]
    constants = ["0x1.5b8c3e1addff3p-7", "0x1.9485b70f0620cp-1", "-0x1.d7a3260e5edffp-4", "0x1.21dab1e1b0c59p-1"]
    arrays = (np.vectorize(float.fromhex)(each) for each in (weights, biases, second, constants))
    network = MulticlassNetwork(*arrays, class_labels=np.array([-1, -1, 1, 1]))
    x = np.vectorize(float.fromhex)([["-0x1.a09a96b146571p-3", "0x1.6380c51e6c167p-2"]])
    assert robust_radius(network, x, [-1], readout="summed-probabilities").verify(audit=True).all()


def test_they_agree_where_neurons_are_decided_by_a_hair() -> None:
    """Three neurons at their kinks up to 1e-18: undecided in floats, which caps them, and decided in balls."""
    weights = np.array([[0.020637891806477824], [-0.6462436764739996], [0.19029771747009835]])
    biases = np.array([0.004768611609263306, -0.14932170044033446, 0.04397037804313846])
    second = np.array([
        [1.2547089470355635e-06, -0.00018676524517328822, 18.277126191315382],
        [-2.842443822132052e-06, 0.0003891627068197962, -10.768742450819738],
        [1.558817585329417e-06, 9.081054451767581e-05, 13.209073126439197],
        [-6.220051814483559e-06, 0.0005448363626961722, 17.02065690142667],
    ])  # fmt: skip
    constants = np.array([-0.5567270220862331, 0.004371337449292051, 0.054646114478903676, 0.5646532647133415])
    network = MulticlassNetwork(weights, biases, second, constants, class_labels=np.array([-1, 1, 1, -1]))
    x, box = np.array([[-0.23106098500654673]]), (-0.23106098500654673, 0.07678400971247781)
    found = robust_radius(network, x, [-1], readout="summed-probabilities", norm="linf", box=box)
    assert found.lower[0] == np.inf
    assert found.verify(audit=True).all()


def test_an_easy_point_takes_less_than_half_a_second() -> None:
    rng = np.random.default_rng(0)
    weights, outputs = rng.normal(size=(10, 1074)), np.abs(rng.normal(size=(1, 10)))
    layer = Neurons(weights, rng.normal(size=10), outputs, np.array([-1.0]))
    problem = Problem(layer, weights[:1] / 10, np.array([1]), Decision("sign", np.zeros(1, dtype=np.int64)))
    theta = outputs[0] * (problem.x[0] @ weights.T + layer.biases > 0)
    proofs = proofs_of([(0, 0, [Node(*ROOT, [Cut(50.0, 1.0, theta)] * 3)])])
    began = time.process_time()
    lower = audit(problem, proofs)
    assert time.process_time() - began < 1.5  # half a second on an idle machine
    np.testing.assert_allclose(check(problem, proofs), lower, rtol=1e-11)


def test_reaches_whose_squares_overflow_are_audited_too() -> None:
    layer = Neurons(np.array([[1.0, 0.5], [1.0, -1.0]]), np.array([1.0, 2.0]), np.array([[1.0, 1.0]]), np.array([1.0]))
    decision, low = Decision("sign", np.zeros(1, dtype=np.int64)), np.zeros(2)
    problem = Problem(layer, np.array([[1.0, 1.0]]), np.array([1]), decision, "l2", low, np.full(2, np.inf))
    proofs = proofs_of([(0, 0, [Node(*ROOT, [Cut(1e200, 1.0, [1.0, 1.0])] * 2)])])
    assert audit(problem, proofs, precision=2048)[0] >= check(problem, proofs)[0] > 0.0


def in_other_units(
    problem: Problem, proofs: Proofs, first: float, second: float, length: float
) -> tuple[Problem, Proofs]:
    """The same problem and proofs with layers and lengths in other units, powers of two, so that nothing is rounded."""
    layer, whole = problem.neurons, first * second
    neurons = Neurons(
        layer.weights * (first / length), layer.biases * first, layer.outputs * second, layer.constants * whole
    )
    sides = [None if side is None else side * length for side in (problem.low, problem.high)]
    moved = problem._replace(neurons=neurons, x=problem.x * length, low=sides[0], high=sides[1])
    return moved, proofs._replace(
        reach=proofs.reach * length,
        threshold=proofs.threshold * first,
        theta=proofs.theta * second,
        box_step=proofs.box_step * length * (length / whole if problem.norm == "l2" else 1.0),
        curve=proofs.curve / first,
        bend=proofs.bend * whole,
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("norm", "box"), [("l2", "none"), ("l2", "both"), ("linf", "one-sided")])
def test_units_do_not_matter_to_either_checker(kind: str, norm: str, box: str) -> None:
    """Whatever floats choose, they choose it alike in all units: the bound is the same number of lengths."""
    for seed in range(3):
        rng = np.random.default_rng([seed, *map(ord, kind + norm + box)])
        problem = random_problem(rng, kind, norm, box)
        proofs = curved(problem, random_proofs(problem, rng, 2.0, endless=False), rng)
        expected, quick = audit(problem, proofs), check(problem, proofs)
        for first, second, length in (
            (2.0**-310, 2.0**-100, 2.0**17),
            (2.0**480, 2.0**-200, 0.5),
            (2.0**-450, 2.0**450, 1.0),
        ):
            # Probabilities have a unit of their own.
            second = 1.0 / first if kind == "probabilities" else second
            other = in_other_units(problem, proofs, first, second, length)
            np.testing.assert_allclose(audit(*other), expected * length, rtol=1e-12)
            np.testing.assert_allclose(check(*other), quick * length, rtol=1e-9)


def test_it_shares_the_format_only() -> None:
    folder = Path(featavg.robustness.proof.audit.__file__).parent
    own = {"audit", "audit_curves", "audit_exponentials", "audit_place", "audit_pools", "audit_tree"}
    for name in own:
        tree = ast.parse((folder / f"{name}.py").read_text())
        modules = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        inside = {module.rpartition(".")[2] for module in modules if module.startswith("featavg.robustness")}
        assert inside <= own | {"format"}


def test_without_flint_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "flint", None)
    problem = random_problem(np.random.default_rng(0), "sign", "l2", "none")
    with pytest.raises(InputError, match=r"featavg\[audit\]"):
        audit(problem, random_proofs(problem, np.random.default_rng(0), 1.0))
