"""A sweep computes each trial once, whoever dies on the way, and says what cannot be run before it runs."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from featavg import InputError
from featavg.figures import draw
from featavg.sweep import Results, Specification, Store, picture, read_specification, run_sweep
from featavg.sweep.claims import born

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))  # spawned workers inherit the path of the modules
import functions  # noqa: E402

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


def test_a_value_given_twice_is_one_trial_and_a_number_of_numpy_is_the_number(tmp_path: Path) -> None:
    found = run_sweep(SQUARES | {"axes": {"x": [2, 0, 2]}}, tmp_path, workers=0)
    assert [row["x"] for row in found.rows] == [2, 2, 0, 0]
    assert found.to_table().coords["x"].tolist() == [0, 2]
    again = Specification(SQUARES["function"], axes={"x": np.array([0, 2])}, seeds=2)  # type: ignore[arg-type]
    assert {trial.key for trial in again.trials()} == set(Store(tmp_path).rows())


@pytest.mark.parametrize(("name", "stands"), [("error", False), ("seconds", False), ("name", False), ("height", True)])
def test_a_result_does_not_take_the_name_of_another_column(tmp_path: Path, name: str, stands: bool) -> None:
    found = run_sweep({"function": "functions:naming", "base": {"name": name}}, tmp_path, workers=0)
    assert found.rows[0]["name"] == name
    assert [f"got '{name}'; return another name" in row["error"] for row in found.failed] == [True] * (not stands)


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


def test_a_trial_that_wants_to_end_its_process_only_fails(tmp_path: Path) -> None:
    found = run_sweep({"function": "functions:leaving", "base": {"x": 0}}, tmp_path, workers=0)
    assert [row["error"] for row in found.failed] == ["SystemExit: enough"]


def test_failed_trials_are_run_again_when_asked(tmp_path: Path) -> None:
    spec = {"function": "functions:fickle", "base": {"folder": str(tmp_path)}, "axes": {"x": [1, 2]}}
    store = tmp_path / "store"
    assert len(run_sweep(spec, store, workers=0).failed) == 2
    (tmp_path / "cure").write_text("7")
    assert len(run_sweep(spec, store, workers=0).failed) == 2
    assert run_sweep(spec, store, workers=0, again=True).column("y").tolist() == [7, 7]
    assert Store(store).forget_failures() == 0
    assert Store(store).claim("other")
    with pytest.raises(InputError, match="are under way; wait for them"):
        Store(store).forget_failures()


def test_a_trial_that_kills_its_worker_is_given_up_by_name(tmp_path: Path) -> None:
    found = run_sweep({"function": "functions:poison", "axes": {"x": [0, 1, 2, 3]}}, tmp_path, workers=2, tries=2)
    assert found.column("y").tolist() == [0, 2, 3]
    assert found.failed[0]["x"] == 1
    assert "took its worker down 2 times" in found.failed[0]["error"]


def test_any_executor_serves(tmp_path: Path) -> None:
    with ThreadPoolExecutor(2) as threads:
        assert len(run_sweep(SQUARES, tmp_path, executor=threads)) == 6


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
    host, mine = os.uname().nodename, os.getpid()
    (tmp_path / "claims" / "a.0").write_text(f"{host} {gone.pid} 1")
    assert store.claim("a")
    assert not Store(tmp_path).claim("a")
    store.claims.give_back("a")
    assert Store(tmp_path).claim("a")
    (tmp_path / "claims" / "b.0").write_text("elsewhere 1 1")
    assert not store.claim("b")
    assert Store(tmp_path, lease=0.0).claim("b")
    (tmp_path / "claims" / "c.0").write_text(f"{host} {mine} 1")  # of a process that had our number before us
    assert store.claim("c")
    assert store.claims.living() == {"a", "b", "c"}


def test_a_process_that_is_dead_and_not_buried_holds_nothing(tmp_path: Path) -> None:
    store = Store(tmp_path, "functions:square")
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    (tmp_path / "claims" / "a.0").write_text(f"{os.uname().nodename} {child.pid} {born(child.pid)}")
    assert store.claims.living() == {"a"}
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert store.claims.living() == set()
    child.communicate()


def test_a_long_trial_gives_signs_of_life(tmp_path: Path) -> None:
    store = Store(tmp_path, "functions:square", lease=0.5)
    assert store.claim("a")
    claim = tmp_path / "claims" / "a.0"
    with store.claims.alive("a"):
        os.utime(claim, (0, 0))
        until = time.monotonic() + 20
        while claim.stat().st_mtime == 0 and time.monotonic() < until:
            time.sleep(0.02)
        assert claim.stat().st_mtime > 0
    assert not claim.exists()


def test_a_trial_done_between_two_looks_is_not_claimed_again(tmp_path: Path) -> None:
    one, other = Store(tmp_path, "functions:square"), Store(tmp_path)
    assert other.rows() == {}
    assert one.claim("a")
    one.append({"key": "a"})
    one.claims.give_back("a")
    assert not other.claim("a")
    assert list((tmp_path / "claims").iterdir()) == []


SPAN = {"from": -1, "to": 1, "log": True}


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
        ({"function": "functions:square", "axes": {"x": {"from": 1, "to": 2, "count": 0}}}, "from 1, got 0"),
        ({"function": "functions:square", "axes": {"x": {"from": 1, "to": 2, "count": 2, "logg": True}}}, "'logg'"),
        ({"function": "functions:square", "axes": {"x": {"from": "a", "to": 2, "count": 2}}}, "'from': 'a'"),
        ({"function": "functions:square", "axes": {"x": {"from": 1, "to": math.inf, "count": 2}}}, "'to': inf"),
        ({"function": "functions:square", "axes": {"x": SPAN | {"count": 2}}}, "positive ends, got -1 and 1"),
        ({"function": "functions:square", "random": {"x": SPAN}, "draws": 2}, "positive ends, got -1 and 1"),
        ({"function": "functions:square", "random": {"x": []}, "draws": 2}, "at least one value"),
        ({"function": "functions:square", "random": {"x": SPAN | {"count": 2}}, "draws": 2}, "has from, to and"),
        ({"function": "functions:square", "base": {"x": 0, "seed": 1}}, "the seed is no parameter"),
        ({"function": "functions:square", "axes": {"x": [0], "seed": [1]}}, "the seed is no parameter"),
        ({"function": "functions:square", "base": 3}, "must be tables of parameters"),
        ({"function": "functions:square", "base": {"x": 0}, "seeds": True}, "a whole number from 1, got True"),
        ({"function": "functions:square", "base": {"x": 0}, "axes": {"x": [0]}}, "got x twice"),
        ({"function": "functions:square", "random": {"x": [0]}}, "go together"),
        ({"function": "functions:square", "base": {"x": 0}, "seeds": 0}, "seeds of a sweep"),
        (
            {"function": "functions:square", "axes": {"x": [0, 2, 2.0]}},
            r"x must not be equal, got both 2 and 2\.0",
        ),
        ({"function": "functions:square", "axes": {"x": [True, 0, 1]}}, "x must not be equal, got both True and 1"),
        ({"function": "functions:square", "random": {"x": [0, False]}, "draws": 9}, "got both 0 and False"),
        (
            {"function": "functions:square", "base": {"x": Path("a")}},
            "numbers, texts, and lists",
        ),
        ({"function": "functions:square", "axes": {"x": [0, object()]}}, "numbers, texts, and lists"),
    ],
)
def test_what_cannot_be_run_is_refused_before_anything_runs(tmp_path: Path, spec: Any, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        run_sweep(spec, tmp_path / "store", workers=0)
    assert not (tmp_path / "store").exists()


def test_stores_of_something_else_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_sweep(SQUARES, tmp_path, workers=0)
    with pytest.raises(InputError, match="is a store of functions:square, not of functions:failing"):
        run_sweep({"function": "functions:failing", "base": {"x": 0}}, tmp_path, workers=0)
    monkeypatch.setattr(functions.square, "version", 2, raising=False)
    with pytest.raises(InputError, match="is a store of version 0, not 2, of functions:square; choose another folder"):
        run_sweep(SQUARES, tmp_path, workers=0)
    (tmp_path / "sweep.json").write_text(json.dumps({"function": "functions:square", "version": 9}))
    with pytest.raises(InputError, match="store of version 9"):
        Store(tmp_path)
    with pytest.raises(InputError, match="no sweep at"):
        Store(tmp_path / "nowhere")


def test_a_worker_with_other_code_stops_the_sweep_and_stores_nothing(tmp_path: Path) -> None:
    class Elsewhere(ThreadPoolExecutor):
        """Workers whose function has another version, or is not there."""

        def submit(self, call: Any, task: Any, *rest: Any) -> Any:  # type: ignore[override]
            return super().submit(call, task._replace(**self.other), *rest)

    for other, complaint in (
        ({"version": 5}, "a worker has version 0 of functions:square, the driver has 5; install the same on both"),
        ({"function": "functions:absent"}, "no function 'functions:absent'"),
    ):
        Elsewhere.other = other  # type: ignore[attr-defined]
        with Elsewhere(1) as threads, pytest.raises(InputError, match=complaint):
            run_sweep(SQUARES, tmp_path, executor=threads)
    assert Store(tmp_path).rows() == {}
    assert list((tmp_path / "claims").iterdir()) == []


def test_an_executor_that_is_shut_down_is_told_and_another_goes_on(tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as threads:
        pass
    with pytest.raises(InputError, match="the executor is gone; 0 of 6 trials are stored, run again to go on"):
        run_sweep(SQUARES, tmp_path, executor=threads)
    with ThreadPoolExecutor(1) as threads:
        assert len(run_sweep(SQUARES, tmp_path, executor=threads)) == 6


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
    with pytest.raises(InputError, match=r"to \.csv or \.parquet"):
        found.export(tmp_path / "t.xls")
    if find_spec("pandas") and find_spec("pyarrow"):
        found.export(tmp_path / "t.parquet")
        from pandas import read_parquet

        assert read_parquet(tmp_path / "t.parquet")["y"].tolist() == [0, 1, 4, 5]
    else:
        with pytest.raises(InputError, match="Parquet needs pandas and pyarrow: pip install both"):
            found.export(tmp_path / "t.parquet")
    with pytest.raises(InputError, match="has the columns x, seed"):
        found.column("z")


GRID = {"function": "functions:surface", "axes": {"y": [2, 1], "x": [1, 10, 100], "kind": ["a", "b"]}, "seeds": 2}


def test_a_grid_is_a_table_with_named_axes(tmp_path: Path) -> None:
    results = run_sweep(GRID, tmp_path, workers=0)
    table = results.to_table()
    assert {axis: values.tolist() for axis, values in table.coords.items()} == {
        "y": [1, 2], "x": [1, 10, 100], "kind": ["a", "b"], "seed": [0, 1],
    }  # fmt: skip
    assert set(table.columns) == {"height", "seconds"}
    assert table.sel("height", y=2, x=10, kind="b").tolist() == [30.0, 30.01]
    some = Results.of_store(dict(list(Store(tmp_path).rows().items())[1:]))
    with pytest.raises(InputError, match="needs 24 trials, got 23 that did not fail; run the missing ones"):
        some.to_table()


def test_phase_diagrams_and_lines_are_drawn_from_the_table(tmp_path: Path) -> None:
    results = run_sweep(GRID, tmp_path, workers=0)
    phase = picture(results, "height", "x", y="y", at={"kind": "a"})
    (drawing,) = phase.evidence.drawings
    axes = draw(drawing, phase.evidence.table).axes[0]
    cells = [float(text.get_text()) for text in axes.texts]
    assert cells == pytest.approx([x + 10 * y + 0.005 for y in (1, 2) for x in (1, 10, 100)], abs=0.0051)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("x", "y")
    lines = picture(results, "height", "x", lines="kind", at={"y": 1})
    (drawing,) = lines.evidence.drawings
    axes = draw(drawing, lines.evidence.table).axes[0]
    assert axes.get_xscale() == "log"
    np.testing.assert_allclose(axes.get_lines()[1].get_ydata(), [11.005, 20.005, 110.005])
    assert [line.get_label() for line in axes.get_lines()] == ["kind = a", "kind = b"]
    assert lines.title == "height over x and kind at y = 1"


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"value": "depth", "x": "x"}, "the sweep measured height, seconds, got 'depth'"),
        ({"value": "height", "x": "z"}, "the axes of the sweep are y, x, kind, seed, got 'z'"),
        ({"value": "height", "x": "x", "y": "y"}, "also varies kind; say where to stand on it, as kind=VALUE"),
        ({"value": "height", "x": "x", "y": "y", "lines": "kind"}, "either a second axis or lines, got both"),
        ({"value": "height", "x": "kind", "at": {"x": 1, "y": 1}}, "lines need numbers along kind, got a, b"),
        ({"value": "height", "x": "x", "at": {"y": 3}}, "y has no place 3; it has 1, 2"),
        ({"value": "height", "x": "x", "at": {"z": 3}}, "varies y, x, kind, seed, got a place on 'z'"),
    ],
)
def test_pictures_that_cannot_be_drawn_are_refused(tmp_path: Path, options: Any, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        picture(run_sweep(GRID, tmp_path, workers=0), **options)
