"""The campaign as a whole: it goes on where it stopped, and its record counts what came."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from campaign.soundness import runner
from campaign.soundness.problem import Problem, read, written
from campaign.soundness.trial import posed, tried

PROBLEM = Problem("by hand", ((1.0,),), (0.0,), ((1.0,),), (-1.0,), (3.0,), 1)


def told(number: int, **changes: Any) -> dict[str, Any]:
    line = {
        "number": number, "oracle": "rationals", "family": "ordinary", "readout": "sign", "norm": "l2", "box": False,
        "lower": (2.0).hex(), "upper": (2.0).hex(), "truth": (2.0).hex(), "status": "exact", "faults": [],
        "closed": True, "closed_as_floats_go": True, "excess": (0.0).hex(), "message": "", "audited": False,
        "damages": [], "seconds": 0.1, "truth_seconds": 0.1,
    }  # fmt: skip
    return line | changes


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A campaign of trials that cost nothing; problem 7 is at fault, problem 8 a damaged proof above the truth."""
    numbers: list[int] = []

    def pretended(seed: int, number: int) -> tuple[dict[str, Any], Problem]:
        if number == 13 and 13 not in numbers:
            numbers.append(13)
            raise KeyboardInterrupt
        numbers.append(number)
        wrong = {
            7: {"faults": ["lower above the truth"], "excess": (0.5).hex()},
            8: {"damages": ["refused", "above the truth"]},
        }
        return told(number, **wrong.get(number, {})), PROBLEM

    monkeypatch.setattr(runner, "tried", pretended)
    monkeypatch.setattr(runner, "CHECKPOINT", 5)
    monkeypatch.setattr(runner, "compile_kernels", lambda seed: None)
    return numbers


def test_an_interrupted_campaign_goes_on_where_it_stopped(calls: list[int], tmp_path: Path, capsys: Any) -> None:
    with pytest.raises(KeyboardInterrupt):
        runner.run(tmp_path, problems=20, seed=3)
    assert calls == list(range(14))
    (kept,) = (path for path in tmp_path.iterdir() if "failures" not in path.name)
    kept.write_text(kept.read_text() + '{"number": 13, "ora')  # a line cut short
    record = runner.run(tmp_path, problems=20, seed=3)
    assert calls[14:] == list(range(13, 20))
    assert [json.loads(line)["number"] for line in kept.read_text().splitlines()] == list(range(20))
    assert record.config["problems"] == 20
    assert "10 of 20 problems, 1 at fault" in capsys.readouterr().out
    assert runner.run(tmp_path, problems=20, seed=3).claims == record.claims
    assert len(calls) == 21


def test_the_record_counts_and_failures_can_be_reproduced(calls: list[int], tmp_path: Path) -> None:
    calls.append(13)
    record = runner.run(tmp_path, problems=20, seed=3)
    verdicts = {claim.text: (claim.verdict, claim.measured) for claim in record.claims}
    assert verdicts["No lower bound exceeds the true radius."] == ("fails", 1)
    assert verdicts["No upper bound falls short of the true radius."] == ("holds", 0)
    assert verdicts["No damaged proof proves more than the truth."] == ("fails", 1)
    assert verdicts["Nearly every bracket is closed."] == ("holds", 1)
    assert record.evidence.table.columns["by_family"].values.tolist()[0][:3] == [20, 20, 1]
    (failures,) = tmp_path.glob("*failures*")
    lines = [json.loads(line) for line in failures.read_text().splitlines()]
    assert [line["number"] for line in lines] == [7, 8]
    assert read(lines[0]["problem"]) == PROBLEM


def test_other_sources_have_another_file(monkeypatch: pytest.MonkeyPatch) -> None:
    before = runner.fingerprint()
    read_bytes: Callable[[Path], bytes] = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda path: read_bytes(path) + b"# changed")
    assert runner.fingerprint() != before


def test_one_problem_of_each_oracle_is_told_as_json() -> None:
    wanted = {"rationals", "balls", "formula", "solver", "SCIP"}
    for number in [0, *range(86, 100)]:
        if posed(2, number)[0] in wanted:
            line, problem = tried(2, number)
            assert json.loads(json.dumps(line)) == line
            assert read(written(problem)) == problem
            wanted.discard(line["oracle"].split(",")[0])
    assert wanted <= {"balls"}
