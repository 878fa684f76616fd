"""A problem that is ready for the checker: the same answers, and the same refusals."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

from featavg.errors import InputError
from featavg.robustness.proof import check, proves, shows, witness_distance
from featavg.robustness.proof.frames import centers
from featavg.robustness.proof.prepared import Prepared, prepared
from featavg.robustness.search.answer import answer
from featavg.robustness.search.budget import Budget
from featavg.robustness.search.task import task_of
from tests.robustness.proof.problems import KINDS, random_problem


@pytest.mark.parametrize("kind", KINDS)
def test_a_prepared_problem_has_the_answers_of_the_problem(kind: str) -> None:
    problem = random_problem(np.random.default_rng(3), kind, "l2", "none")
    found, ready = answer(problem, Budget(seconds=2.0), lambda done, total: None), Prepared(problem)
    assert prepared(ready) is ready
    for claimed in (None, found.lower):
        assert np.array_equal(check(ready, found.proofs, claimed), check(problem, found.proofs, claimed))
    assert np.array_equal(witness_distance(ready, found.witness), witness_distance(problem, found.witness))
    assert np.array_equal(proves(ready, found.proofs, found.lower), proves(problem, found.proofs, found.lower))
    assert np.array_equal(shows(ready, found.witness, found.upper), shows(problem, found.witness, found.upper))
    assert np.array_equal(ready.centers.high, centers(ready.scaled, problem.x).high)


def test_what_is_not_sound_is_refused_at_once() -> None:
    problem = random_problem(np.random.default_rng(3), "sign", "l2", "none")
    with pytest.raises(InputError, match="finite"):
        Prepared(problem._replace(x=problem.x * np.nan))


def test_a_row_itself_and_a_multiple_of_it_prove_the_same() -> None:
    problem = random_problem(np.random.default_rng(5), "sign", "l2", "none", points=20)
    found = answer(problem, Budget(), lambda done, total: None)
    assert (found.proofs.mix == 1.0).all()
    multiple = found.proofs._replace(mix=3.0 * found.proofs.mix, theta=3.0 * found.proofs.theta)
    np.testing.assert_allclose(check(problem, multiple, found.lower), check(problem, found.proofs, found.lower), 1e-12)


@pytest.mark.parametrize("box", ["none", "both"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_search_holds_no_array_of_the_checker(kind: str, box: str) -> None:
    ready = Prepared(random_problem(np.random.default_rng(3), kind, "l2", box))
    own = arrays([ready.problem, ready.scaled, ready.pairs, ready.cases, ready.centers])
    searched = arrays(task_of(ready))
    assert len(own) > 15
    assert len(searched) > 30
    assert not any(np.shares_memory(one, other) for one in own for other in searched)


def arrays(nested: Iterable[Any]) -> list[Any]:
    """All arrays in tuples of tuples."""
    parts = [arrays(each) if isinstance(each, tuple) else [each] for each in nested]
    return [each for part in parts for each in part if isinstance(each, np.ndarray)]
