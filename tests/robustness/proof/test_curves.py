"""The rule of the curve: closed forms, rationals, and that it proves what chords cannot."""

from __future__ import annotations

import numpy as np
import pytest

from featavg.robustness.proof import Decision, Neurons, Problem, Proofs, check
from featavg.robustness.proof.audit import audit
from featavg.robustness.proof.curves import largest_eigenvalue
from featavg.robustness.proof.frames import products_of, scale_neurons
from tests.robustness.proof.problems import KINDS, radius_on_rays, random_problem
from tests.robustness.proof.provers import ROOT, Cut, Node, curved, proofs_of, random_proofs
from tests.robustness.proof.twin import twin_lower

SIGN = Decision("sign", np.zeros(1, dtype=np.int64))


def orthants(neurons: int) -> Problem:
    """f = 1 − Σ_j ReLU(x_j) at 0, whose radius is 1/√n: all neurons switch, each a little."""
    layer = Neurons(np.eye(neurons), np.zeros(neurons), -np.ones((1, neurons)), np.ones(1))
    return Problem(layer, np.zeros((1, neurons)), np.array([1]), SIGN)


def one_cut(neurons: int, reach: float, bend: float) -> Proofs:
    cut = Cut(reach, 1.0, np.full(neurons, -0.5), bend=bend)
    return proofs_of([(0, 0, [Node(*ROOT, [cut])])], np.ones(neurons))


@pytest.mark.parametrize("neurons", [1, 4, 9, 25])
def test_one_curve_proves_what_all_orthants_would(neurons: int) -> None:
    """−ReLU(z) + ρz² >= −z/2 − 1/(16ρ), so f >= 1 − √n R/2 − n/(16ρ) − ρR²: with ρ = √n/(4R) that is 1 − √n R."""
    radius = neurons**-0.5
    problem, reach = orthants(neurons), radius * (1 - 1e-9)
    best = one_cut(neurons, reach, 0.25 * neurons**0.5 / reach)
    for lower in (check(problem, best)[0], check(problem, best, np.zeros(1))[0], audit(problem, best)[0]):
        assert lower <= radius
        assert lower == pytest.approx(radius, rel=1e-8)
    chord = check(problem, one_cut(neurons, reach, 0.0))[0]
    # Chords leave 1 − √n R/2 − n R/2, and β/‖h‖ = (2 − n R)/√n.
    assert chord == pytest.approx(max(0.0, 2.0 / neurons**0.5 - neurons**0.5 * reach), abs=1e-8)


@pytest.mark.parametrize(("norm", "box"), [("l2", "none"), ("l2", "both"), ("linf", "one-sided")])
def test_curves_prove_no_more_than_the_truth_and_as_much_as_rationals_do(norm: str, box: str) -> None:
    bent = 0
    for kind, seed in [(kind, seed) for kind in KINDS for seed in range(5)]:
        rng = np.random.default_rng([seed, 5, *map(ord, kind + norm + box)])
        problem = random_problem(rng, kind, norm, box)
        truth = np.array([radius_on_rays(problem, point) for point in range(2)])
        reach = 1.001 * float(np.min(np.where(np.isfinite(truth) & (truth > 0), truth, 3.0))) + 0.01
        plain = random_proofs(problem, rng, reach, endless=False)
        proofs = curved(problem, plain, rng)
        exact = twin_lower(problem, proofs)
        for lower in (check(problem, proofs, np.zeros(2)), check(problem, proofs)):
            assert (lower <= truth * (1 + 1e-12)).all()
            finite = np.isfinite(lower)
            np.testing.assert_allclose(lower[finite], exact[finite], rtol=1e-7, atol=1e-9)
        audited = audit(problem, proofs)
        assert (audited >= lower).all()
        finite = np.isfinite(audited)
        np.testing.assert_allclose(audited[finite], exact[finite], rtol=1e-9, atol=1e-12)
        assert (audited <= truth * (1 + 1e-12)).all()
        bent += not np.allclose(check(problem, proofs), check(problem, plain), rtol=1e-6)
    assert bent


@pytest.mark.parametrize("neurons", [1, 3, 40])
def test_the_eigenvalue_is_a_bound_and_a_close_one(neurons: int) -> None:
    """Of equal neurons it is Σ s²‖w‖², of orthogonal ones max s²‖w‖²; of others that of the singular values."""
    rng = np.random.default_rng(neurons)
    s, w = rng.normal(size=neurons), rng.normal(size=50)
    for weights, expected in (
        (np.tile(w, (neurons, 1)), (s**2).sum() * (w @ w)),
        (np.eye(neurons, 50), (s**2).max()),
        (mixed := rng.normal(size=(neurons, 50)), np.linalg.norm(s[:, None] * mixed, 2) ** 2),
    ):
        scaled = scale_neurons(Neurons(weights, np.zeros(neurons), np.ones((1, neurons)), np.zeros(1)))
        most = largest_eigenvalue(np.ldexp(s, scaled.exponent), scaled, products_of(scaled))
        assert expected * (1 - 1e-14) <= most <= expected * (1 + 1e-10)
    assert largest_eigenvalue(np.full(neurons, np.inf), scaled, products_of(scaled)) == np.inf
    assert largest_eigenvalue(np.zeros(neurons), scaled, products_of(scaled)) == 0.0


def test_curves_of_a_wrong_length_or_wild_numbers_prove_nothing() -> None:
    problem, proofs = orthants(4), one_cut(4, 0.4, 1.0)
    assert check(problem, proofs)[0] > 0
    for wrong in (
        proofs._replace(curve=proofs.curve[:3], curve_start=np.array([0, 3])),
        proofs._replace(bend=np.array([-1.0])),
        proofs._replace(bend=np.array([np.nan])),
        proofs._replace(curve=np.full(4, np.inf)),
        proofs._replace(curve=np.full(4, 1e200)),
    ):
        assert check(problem, wrong)[0] == 0
        assert audit(problem, wrong)[0] == 0
