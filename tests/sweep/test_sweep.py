"""A sweep computes each trial once, whoever dies on the way, and says what cannot be run before it runs."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from featavg import InputError
from featavg.sweep import Results, Specification, Store, read_specification, run_sweep

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))  # spawned workers inherit the path of the modules
SQUARES = {"function": "functions:square", "axes": {"x": [0, 2, 4]}, "seeds": 2}


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(HERE), str(HERE.parents[1])]))


@pytest.mark.parametrize("workers", [0, 2])
def test_a_sweep_is_the_function_at_every_point_of_the_grid(tmp_path: Path, workers: int) -> None:
    found = run_sweep(SQUARES, tmp_path, workers=workers)
    assert [(row["x"], row["seed"], row["y"]) for row in found.rows] == [
        (x, seed, x * x + seed) for x in (0, 2, 4) for seed in (0, 1)
    ]
    assert repr(found) == "<6 trials, 0 failed, 0 missing>"


def test_what_is_stored_is_not_run_again_and_a_changed_specification_adds(tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()
    spec = {"function": "functions:counted", "base": {"folder": str(marks)}, "axes": {"x": [1, 2]}, "seeds": 2}
    run_sweep(spec, tmp_path / "store", workers=0)
    run_sweep({**spec, "axes": {"x": [1, 2, 3]}, "seeds": 3}, tmp_path / "store", workers=0)
    assert len(list(marks.iterdir())) == 9


def test_shards_together_are_the_whole(tmp_path: Path) -> None:
    for shard in range(3):
        run_sweep(SQUARES, tmp_path, workers=0, shard=(shard, 3))
    assert len(Store(tmp_path).rows()) == 6


def test_a_failing_trial_is_stored_and_stops_nobody(tmp_path: Path) -> None:
    found = run_sweep({"function": "functions:failing", "axes": {"x": [0, 1, 2]}}, tmp_path, workers=0)
    assert found.column("y").tolist() == [0, 2]
    assert [row["error"] for row in found.failed] == ["ZeroDivisionError: one is too many"]
    strange = run_sweep({"function": "functions:strange"}, tmp_path / "b", workers=0)
    assert "must return numbers" in strange.failed[0]["error"]


def test_a_trial_that_kills_its_worker_is_given_up_by_name(tmp_path: Path) -> None:
    found = run_sweep({"function": "functions:poison", "axes": {"x": [0, 1, 2, 3]}}, tmp_path, workers=2, tries=2)
    assert found.column("y").tolist() == [0, 2, 3]
    assert found.failed[0]["x"] == 1
    assert "took its worker down 2 times" in found.failed[0]["error"]


def test_any_executor_serves(tmp_path: Path) -> None:
    with ThreadPoolExecutor(2) as threads:
        assert len(run_sweep(SQUARES, tmp_path, executor=threads)) == 6


def driver(spec: dict[str, Any], store: Path) -> subprocess.Popen[bytes]:
    code = f"from featavg.sweep import run_sweep; run_sweep({spec!r}, {str(store)!r}, workers=2)"
    guarded = f"if __name__ == '__main__':\n    {code.replace('; ', chr(10) + '    ')}\n"
    script = store.parent / f"driver-{time.monotonic_ns()}.py"
    script.write_text(guarded)
    return subprocess.Popen([sys.executable, str(script)])


def test_two_drivers_on_one_store_double_nothing(tmp_path: Path) -> None:
    marks, store = tmp_path / "marks", tmp_path / "store"
    marks.mkdir()
    spec = {"function": "functions:counted", "base": {"folder": str(marks)}, "axes": {"x": list(range(20))}, "seeds": 2}
    both = [driver(spec, store), driver(spec, store)]
    assert [process.wait(60) for process in both] == [0, 0]
    assert len(Store(store).rows()) == 40
    assert len(list(marks.iterdir())) == 40


def test_killed_drivers_and_workers_lose_nothing(tmp_path: Path) -> None:
    marks, store, rng = tmp_path / "marks", tmp_path / "store", random.Random(0)
    marks.mkdir()
    spec = {"function": "functions:counted", "base": {"folder": str(marks)}, "axes": {"x": list(range(30))}, "seeds": 2}
    kept = 0
    for _ in range(3):
        process = driver(spec, store)
        time.sleep(1.0 + rng.random())
        process.send_signal(signal.SIGKILL)
        process.wait()
        rows = Store(store, "functions:counted").rows()
        assert len(rows) >= kept
        kept = len(rows)
    found = run_sweep(spec, store, workers=0)
    assert sorted((row["x"], row["seed"]) for row in found.rows) == [(x, seed) for x in range(30) for seed in (0, 1)]
    assert all(row["y"] == row["x"] + row["seed"] for row in found.rows)


def test_a_line_that_was_cut_short_is_passed_over(tmp_path: Path) -> None:
    run_sweep(SQUARES, tmp_path, workers=0)
    (path,) = (tmp_path / "trials").glob("*.jsonl")
    content = path.read_bytes()
    path.write_bytes(content[:-20])
    assert len(Store(tmp_path).rows()) == 5
    assert len(run_sweep(SQUARES, tmp_path, workers=0)) == 6


def test_claims_of_the_dead_are_void_and_those_of_the_living_hold(tmp_path: Path) -> None:
    store = Store(tmp_path, "functions:square")
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    claim = tmp_path / "claims" / "a.0"
    claim.write_text(f"{os.uname().nodename} {gone.pid}")
    assert store.claim("a")
    assert not Store(tmp_path).claim("a")
    store.release("a")
    assert Store(tmp_path).claim("a")
    (tmp_path / "claims" / "b.0").write_text("elsewhere 1")
    assert not store.claim("b")
    assert Store(tmp_path, lease=0.0).claim("b")


def test_a_trial_done_between_two_looks_is_not_claimed_again(tmp_path: Path) -> None:
    one, other = Store(tmp_path, "functions:square"), Store(tmp_path)
    assert other.rows() == {}
    assert one.claim("a")
    one.append({"key": "a"})
    one.release("a")
    assert not other.claim("a")
    assert list((tmp_path / "claims").iterdir()) == []


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        ({"function": "functions:square", "axes": {"z": [1]}}, "has the parameters x, got z"),
        ({"function": "functions:square"}, "needs x; put them into base or axes"),
        ({"function": "functions:square", "axes": {"x": [1, 2, 3]}}, r"2 of the combinations .* \(x=1\); .* \(x=3\)"),
        ({"function": "functions:absent"}, "no function 'functions:absent'"),
        ({"functoin": "functions:square"}, 'needs function = "module:name"'),
        ({"function": "functions:square", "axes": {"x": []}}, "at least one value"),
        ({"function": "functions:square", "axes": {"x": {"from": 1}}}, "has from, to, count"),
        ({"function": "functions:square", "base": {"x": 0}, "axes": {"x": [0]}}, "got x twice"),
        ({"function": "functions:square", "random": {"x": [0]}}, "go together"),
        ({"function": "functions:square", "base": {"x": 0}, "seeds": 0}, "seeds of a sweep"),
    ],
)
def test_what_cannot_be_run_is_refused_before_anything_runs(tmp_path: Path, spec: Any, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        run_sweep(spec, tmp_path / "store", workers=0)
    assert not (tmp_path / "store").exists()


def test_stores_of_something_else_are_refused(tmp_path: Path) -> None:
    run_sweep(SQUARES, tmp_path, workers=0)
    with pytest.raises(InputError, match="is a store of functions:square, not of functions:failing"):
        run_sweep({"function": "functions:failing", "base": {"x": 0}}, tmp_path, workers=0)
    (tmp_path / "sweep.json").write_text(json.dumps({"function": "functions:square", "version": 9}))
    with pytest.raises(InputError, match="store of version 9"):
        Store(tmp_path)
    with pytest.raises(InputError, match="no sweep at"):
        Store(tmp_path / "nowhere")


def test_random_designs_are_the_same_every_time_and_inside_their_range() -> None:
    about = {"function": "functions:square", "random": {"x": {"from": 1e-3, "to": 10, "log": True}}, "draws": 50}
    one, other = read_specification(about), Specification(**about)
    assert one.settings() == other.settings()
    assert all(1e-3 <= setting["x"] <= 10 for setting in one.settings())
    assert sum(setting["x"] < 0.1 for setting in one.settings()) > 15


def test_toml_files_are_read_and_tables_exported(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text('function = "functions:square"\nseeds = 2\n[axes]\nx = [0, 2]\n')
    found = run_sweep(path, tmp_path / "store", workers=0)
    found.export(tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text().splitlines()[0] == "x,seed,y,seconds"
    assert len(Results.of_store(Store(tmp_path / "store").rows())) == 4
    for wrong, complaint in (("t.xls", "to .csv or .parquet"),):
        with pytest.raises(InputError, match=complaint):
            found.export(tmp_path / wrong)
    with pytest.raises(InputError, match="has the columns x, seed"):
        found.column("z")
