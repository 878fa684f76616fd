"""Brackets: statuses are facts, parts are brackets, files verify, and nothing unproved does."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from featavg.errors import InputError
from featavg.robustness import RadiusBracket, Status, load_bracket
from featavg.robustness.proof import Decision, Neurons, Problem, check, witness_distance
from featavg.robustness.status import status_of
from featavg.robustness.stored import StoredQuestion
from tests.robustness.proof.provers import tight_proofs


@pytest.fixture(scope="module")
def bracket() -> RadiusBracket:
    """f = ReLU(x) − 1 at 3, 2, 0.5 (fooled at once) and 5; the radius is x − 1."""
    layer = Neurons(np.eye(1, 2), np.zeros(1), np.ones((1, 1)), -np.ones(1))
    x = np.array([[3.0, 0.0], [2.0, 1.0], [0.5, 0.0], [5.0, -1.0]])
    problem = Problem(layer, x, np.ones(4, dtype=np.int64), Decision("sign", np.zeros(1, dtype=np.int64)))
    proofs = tight_proofs(problem, 10.0)
    witness = np.where(x > 1.0, [[1.0 - 1e-9, 0.0]], x)
    witness[:, 1] = x[:, 1]
    lower, upper = check(problem, proofs), witness_distance(problem, witness)
    return RadiusBracket(lower, upper, witness, status_of(lower, upper), StoredQuestion(problem), (), proofs)


def test_a_sound_bracket_is_exact_and_verifies(bracket: RadiusBracket) -> None:
    np.testing.assert_allclose(bracket.lower, [2, 1, 0, 4], rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(bracket.upper, [2, 1, 0, 4], rtol=1e-6, atol=1e-12)
    assert set(bracket.status) == {Status.EXACT} == {"exact"}
    assert bracket.verify().all()
    assert bracket.verify(audit=True).all()
    np.testing.assert_allclose(bracket.question.margins(bracket.witness), [-1e-9, -1e-9, -0.5, -1e-9], atol=1e-12)
    np.testing.assert_allclose(bracket.question.distances(bracket.witness), bracket.upper, rtol=1e-9)


@pytest.mark.parametrize("audit", [False, True])
def test_what_is_not_proved_or_not_shown_does_not_verify(bracket: RadiusBracket, audit: bool) -> None:
    raised = replace(bracket, lower=bracket.lower + np.array([1e-6, 0, 0, 0]))
    assert raised.verify(audit).tolist() == [False, True, True, True]
    lowered = replace(bracket, upper=bracket.upper - np.array([0, 1e-6, 0, 0]))
    assert lowered.verify(audit).tolist() == [True, False, True, True]
    moved = replace(bracket, witness=np.where([[False], [False], [False], [True]], bracket.question.x, bracket.witness))
    assert moved.verify(audit).tolist() == [True, True, True, False]
    negative = replace(bracket, lower=-bracket.lower)
    assert negative.verify(audit).tolist() == [False, False, True, False]
    unknown = replace(bracket, lower=bracket.lower * np.nan)
    assert not unknown.verify(audit).any()


def test_parts_are_brackets(bracket: RadiusBracket) -> None:
    for chosen in (0, -1, slice(1, 3), [2, 0], np.array([True, False, True, True]), slice(0, 0)):
        part = bracket[chosen]
        expected = np.atleast_1d(np.arange(4)[chosen])
        np.testing.assert_array_equal(part.lower, bracket.lower[expected])
        np.testing.assert_array_equal(part.question.x, bracket.question.x[expected])
        assert len(part) == len(part.status) == len(part.reasons) == len(expected)
        assert part.verify().all()
    for wrong in (9, "a", np.ones(3, dtype=bool), (0, 1)):
        with pytest.raises(InputError, match="positions, slices or masks"):
            bracket[wrong]


def test_files_keep_everything(bracket: RadiusBracket, tmp_path: Path) -> None:
    kept = replace(bracket, reasons=("", "why", "", ""), flags=("f",))
    kept.save(tmp_path / "b.npz")
    again = load_bracket(tmp_path / "b.npz")
    assert again.verify().all()
    assert again.verify(audit=True).all()
    assert (again.status, again.reasons, again.flags) == (kept.status, kept.reasons, kept.flags)
    np.testing.assert_array_equal(again.upper, kept.upper)
    assert again[1].verify().all()


def test_a_bracket_without_proofs_says_so(bracket: RadiusBracket) -> None:
    with pytest.raises(InputError, match="proofs=True"):
        replace(bracket, proofs=None).verify()
    attack = replace(bracket, proofs=None, lower=np.zeros(4))
    assert attack.verify().all()


def test_statuses_are_facts() -> None:
    lower = np.array([1.0, 4.2e6, 0.0, 5.0, np.inf, 0.0, 0.0])
    upper = np.array([1.0 + 1e-7, 9e8, 2.0, np.inf, np.inf, np.inf, 0.0])
    names = [str(each) for each in status_of(lower, upper)]
    assert names == ["exact", "open", "attack only", "certificate only", "exact", "failed", "exact"]


def test_a_table_for_pandas(bracket: RadiusBracket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=dict))
    columns = bracket.to_frame()
    assert set(columns) >= {"label", "lower", "upper", "status", "reason"}
    assert {len(columns[name]) for name in ("label", "lower", "upper", "status", "reason")} == {4}
    axes = [f"a{axis}" for axis in range(bracket.witness.shape[1])]
    named = bracket.to_frame(features=axes)
    np.testing.assert_array_equal([named[f"witness {axis}"] for axis in axes], bracket.witness.T)
    with pytest.raises(InputError, match="features must name"):
        bracket.to_frame(features=axes[1:])
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InputError, match="pip install pandas"):
        bracket.to_frame()
