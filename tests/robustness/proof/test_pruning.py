"""Pruned proofs prove the same with less: what is dropped was not needed for the claim."""

from __future__ import annotations

import numpy as np
import pytest

from featavg.robustness.proof import check, checked, proves
from featavg.robustness.proof.audit import audit
from featavg.robustness.proof.format import well_formed
from featavg.robustness.proof.shape import depths
from tests.robustness.proof.problems import KINDS, random_problem
from tests.robustness.proof.provers import curved, random_proofs


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("norm", "box"), [("l2", "none"), ("linf", "both")])
def test_less_is_kept_and_the_claim_is_still_proved(kind: str, norm: str, box: str) -> None:
    dropped, seen = 0, 0
    for seed in range(6):
        rng = np.random.default_rng([seed, 9, *map(ord, kind + norm + box)])
        problem = random_problem(rng, kind, norm, box)
        proofs = curved(problem, random_proofs(problem, rng, 2.0, endless=False), rng)
        whole = check(problem, proofs)
        for share in (1.0, 0.5):
            lower, fewer = checked(problem, proofs, share * whole)
            assert well_formed(fewer)
            assert (depths(fewer, len(problem.neurons.biases)) >= 0).all()
            assert (lower <= whole * (1 + 1e-12)).all()
            assert (lower >= share * whole * (1 - 1e-7)).all()
            assert proves(problem, fewer, lower).all()
            assert (audit(problem, fewer) >= lower).all()
            seen += len(proofs.reach)
            dropped += len(proofs.reach) - len(fewer.reach)
    assert 0 < dropped < seen


def test_a_claim_of_nothing_drops_nothing() -> None:
    rng = np.random.default_rng(4)
    problem = random_problem(rng, "sign", "l2", "none")
    proofs = random_proofs(problem, rng, 2.0, endless=False)
    lower, kept = checked(problem, proofs, np.zeros(2))
    np.testing.assert_allclose(lower, check(problem, proofs), rtol=1e-7)
    assert len(kept.depth) == len(proofs.depth)
