"""A second search of a point has what the first one and its check have left of the budget."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from featavg.robustness.proof import Decision, Neurons, Problem
from featavg.robustness.proof.prepared import Prepared
from featavg.robustness.search import answer as answering
from featavg.robustness.search.budget import Budget, Clock

LAYER = Neurons(np.array([[1.0], [-1.0]]), np.zeros(2), np.array([[1.0, -1.0]]), np.zeros(1))
PROBLEM = Problem(LAYER, np.array([[3.0], [2.0]]), np.array([1, 1]), Decision("sign", np.zeros(1, dtype=np.int64)))


def searches(monkeypatch: pytest.MonkeyPatch, took: list[float], budget: Budget) -> list[Any]:
    """The seconds that are gone at every search, if the first one of each point took so long and lacked digits."""
    answering.answer(PROBLEM, budget, lambda done, total: None)  # kernels are compiled here, which takes time as well
    seen: list[Any] = []
    propose, confirm = answering.propose, answering.confirm

    def slow(asked: Prepared, *rest: Any, **more: Any) -> Any:
        seen.append(rest[-1] if len(rest) > 3 else None)
        return replace(propose(asked, *rest, **more), seconds=np.array(took)[: len(asked.problem.x)])

    def vague(asked: Prepared, *rest: Any) -> Any:
        return replace(confirm(asked, *rest), ended=["rounding weakens proof or witness"] * len(asked.problem.x))

    monkeypatch.setattr(answering, "propose", slow)
    monkeypatch.setattr(answering, "confirm", vague)
    monkeypatch.setattr(answering, "_finish", lambda *_: None)
    answering.answer(PROBLEM, budget, lambda done, total: None)
    return seen


def test_what_the_first_search_took_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = searches(monkeypatch, [4.0, 50.0], Budget(seconds=10.0))
    assert first is None
    assert len(second) == 1  # the other point has nothing left
    assert 4.0 <= second[0] < 10.0


def test_a_second_search_without_time_is_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    assert searches(monkeypatch, [11.0, 11.0], Budget(seconds=10.0)) == [None]


def test_a_share_of_the_seconds_is_kept_for_the_check() -> None:
    clock = Clock(Budget(seconds=10.0), float("inf"), began=time.process_time() - 8.6)
    assert clock.spent() == "budget of 10 seconds"
    assert not Clock(Budget(seconds=10.0), float("inf")).spent()


@pytest.mark.parametrize("nodes", [60, 500, 5000])
def test_whatever_ends_a_search_something_is_proved(nodes: int) -> None:
    """Nodes that run out at the incumbent must leave some to smaller radii, as seconds do."""
    rng = np.random.default_rng(0)
    layer = Neurons(np.eye(10) + 0.1 * rng.normal(size=(10, 10)), np.zeros(10), np.eye(10), np.zeros(10))
    x = 6.0 * np.eye(10)[:4] + 0.3 * rng.normal(size=(4, 10))
    problem = Problem(layer, x, np.arange(4) % 2, Decision("probabilities", np.arange(10) % 2))
    found = answering.answer(problem, Budget(nodes=nodes), lambda done, total: None)
    assert (found.lower > 0.6 * found.upper).all()
