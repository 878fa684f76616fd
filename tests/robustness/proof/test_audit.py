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
from featavg.robustness.proof import Decision, Neurons, Problem, check
from featavg.robustness.proof.audit import audit
from tests.robustness.proof.problems import KINDS, random_problem
from tests.robustness.proof.provers import ROOT, Cut, Node, proofs_of, random_proofs


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


def test_it_shares_the_format_only() -> None:
    folder = Path(featavg.robustness.proof.audit.__file__).parent
    own = {"audit", "audit_curves", "audit_place", "audit_pools", "audit_tree"}
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
