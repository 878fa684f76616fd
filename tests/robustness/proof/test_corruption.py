"""Damaged proofs: never a bound above the truth, never a traceback."""

from __future__ import annotations

import numpy as np
import pytest

from featavg.robustness.proof import Problem, Proofs, check
from featavg.robustness.proof.audit import audit
from tests.robustness.proof.problems import KINDS, radius_on_rays, random_problem
from tests.robustness.proof.provers import random_proofs, tight_proofs

WILD = [0.0, -1.0, 1e300, -1e300, 1e-300, np.inf, -np.inf, np.nan]


def damaged(proofs: Proofs, rng: np.random.Generator) -> Proofs:
    """Some entries of some arrays are something else: another entry, a flipped bit, a wild number."""
    arrays = {name: array.copy() for name, array in proofs._asdict().items()}
    for _ in range(rng.integers(1, 5)):
        array = arrays[rng.choice(list(arrays))]
        if not len(array):
            continue
        at = rng.integers(len(array))
        how = rng.integers(3)
        if how == 0:
            array[at] = array[rng.integers(len(array))]
        elif how == 1:
            raw = array.view(np.uint8)
            raw[rng.integers(len(raw))] ^= 1 << rng.integers(8)
        elif array.dtype == np.float64:
            array[at] = rng.choice(WILD)
        else:
            array[at] = rng.integers(-3, 10)
    return Proofs(**arrays)


@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_proof_proves_no_more_than_the_truth(kind: str) -> None:
    changed = 0
    for seed in range(12):
        rng = np.random.default_rng([seed, len(kind)])
        norm, box = ("l2", "linf")[seed % 2], ("none", "both", "one-sided")[seed // 2 % 3]
        problem = random_problem(rng, kind, norm, box)
        truth = np.array([radius_on_rays(problem, point) for point in range(2)])
        reach = 1.1 * float(np.min(np.where(np.isfinite(truth) & (truth > 0), truth, 3.0)))
        sound = random_proofs(problem, rng, reach) if kind == "probabilities" else tight_proofs(problem, reach)
        before = check(problem, sound)
        for _ in range(40):
            proofs = damaged(sound, rng)
            lower = check(problem, proofs, np.zeros(2))
            assert (lower <= truth * (1 + 1e-12)).all()
            changed += (lower != before).any()
        assert (audit(problem, proofs) <= truth * (1 + 1e-12)).all()
    assert changed > 100


def test_malformed_collections_prove_nothing() -> None:
    problem: Problem = random_problem(np.random.default_rng(2), "sign", "l2", "none")
    proofs = tight_proofs(problem, 5.0)
    assert check(problem, proofs).any()
    broken = [
        proofs._replace(depth=proofs.depth[:-1]),
        proofs._replace(first_node=proofs.first_node[:0]),
        proofs._replace(theta=proofs.theta.astype(np.float32)),
        proofs._replace(mix_start=proofs.mix_start + 1),
        proofs._replace(first_cut=proofs.first_cut[::-1].copy()),
        proofs._replace(theta_neuron=proofs.theta_neuron + 100),
        proofs._replace(point=proofs.point + 50),
        proofs._replace(point=proofs.point - 50),
        proofs._replace(rival=proofs.rival + 1),
        proofs._replace(depth=proofs.depth + 1),
        proofs._replace(side=np.abs(proofs.side)),
        proofs._replace(reach=-proofs.reach),
        proofs._replace(reach=np.full_like(proofs.reach, np.nan)),
        proofs._replace(mix=-np.abs(proofs.mix) - 1),
        proofs._replace(theta=np.full_like(proofs.theta, np.inf)),
        proofs._replace(threshold=np.full_like(proofs.threshold, np.nan)),
        proofs._replace(depth=proofs.depth * 2**20),
    ]
    for each in broken:
        assert not check(problem, each).any()
        assert not audit(problem, each).any()
