"""`featavg sweep` runs what is missing, says how far it is, and hands the table over."""

from __future__ import annotations

import csv
import importlib.util
import sys
from pathlib import Path

import pytest

from featavg.cli import main
from featavg.cli.verbs.sweep import progress_line, read_shard
from featavg.errors import InputError
from featavg.sweep import Progress

SPEC = 'function = "featavg.sweep.examples:line"\nseeds = 2\n[axes]\nslope = [1, 2, 3]\n'


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "lines.toml"
    path.write_text(SPEC)
    return path


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as end:
        main(["sweep", *arguments])
    captured = capsys.readouterr()
    return int(end.value.code or 0), captured.out, captured.err


def test_a_sweep_is_run_told_and_exported(spec: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store, table = tmp_path / "lines.sweep", tmp_path / "lines.csv"
    assert said(capsys, str(spec), "--workers", "0") == (0, f"{store}: 6 trials, 0 failed\n", "")
    assert said(capsys, "status", str(store))[1] == "featavg.sweep.examples:line: 6 trials, 0 failed, 0 under way\n"
    assert said(capsys, "export", str(store), str(table))[0] == 0
    rows = list(csv.DictReader(table.read_text().splitlines()))
    heights = sorted((float(row["slope"]), int(row["seed"]), float(row["height"])) for row in rows)
    assert heights == [(slope, seed, slope * (seed + 1)) for slope in (1, 2, 3) for seed in (0, 1)]


def test_pictures_of_a_sweep(spec: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store, page, image = (str(tmp_path / name) for name in ("lines.sweep", "page.html", "picture.svg"))
    said(capsys, str(spec), "--workers", "0")
    for place in (page, image):
        options = ["--value", "height", "--x", "slope", "-o", place]
        assert said(capsys, "draw", store, *options) == (0, f"{place}\n", "")
    assert "height over slope" in Path(page).read_text()
    assert Path(image).read_text().count("<svg") == 1
    code, _, err = said(capsys, "draw", store, "--value", "height", "--x", "slope", "--at", "width", "-o", page)
    assert (code, err) == (2, "a place is axis=value, as width=4, got 'width'\n")


def test_functions_beside_the_specification_are_found_and_failures_told_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.path", list(sys.path))
    (tmp_path / "beside.py").write_text("def half(x, seed):\n    return {'y': 1 / x}\n")
    (tmp_path / "half.toml").write_text('function = "beside:half"\n[axes]\nx = [0, 2]\n')
    code, out, err = said(capsys, str(tmp_path / "half.toml"), "--workers", "1")
    assert (code, out) == (0, f"{tmp_path / 'half.sweep'}: 2 trials, 1 failed\n")
    assert err == "x=0, seed=0 failed: ZeroDivisionError: division by zero\n"
    assert said(capsys, "status", str(tmp_path / "half.sweep"))[2] == err


def test_shards_share_the_work_and_meet_in_one_store(
    spec: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = str(tmp_path / "store")
    counts = []
    for number in range(3):
        out = said(capsys, str(spec), "-o", store, "--workers", "0", "--shard", f"{number}/3")[1]
        counts.append(int(out.split(": ")[1].split()[0]))
    assert sum(counts) == 6
    assert "6 trials" in said(capsys, "status", store)[1]


def test_the_line_of_progress() -> None:
    told = Progress(total=40, done=12, failed=1, at_start=12)
    assert progress_line(told) == "12 of 40 done, 1 failed"
    told = Progress(total=40, done=12, failed=1, began=0.0)
    assert "per second" in progress_line(told)
    assert progress_line(told).endswith("left")


@pytest.mark.parametrize("text", ["3", "1/", "a/b", "-1/4", "1/2/3"])
def test_shards_that_are_none(text: str) -> None:
    with pytest.raises(InputError, match="a shard is i/n"):
        read_shard(text)


def test_bad_input_is_one_sentence(spec: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = [
        (["status", str(tmp_path / "none")], "no sweep at"),
        ([str(tmp_path / "none.toml")], "cannot read the specification"),
        ([str(spec), "--shard", "4/4", "--workers", "0"], "needs 0 <= i < n"),
        (["export", str(tmp_path), "table.txt"], "must end in .csv or .parquet"),
    ]
    if importlib.util.find_spec("distributed") is None:
        asked.append(([str(spec), "--scheduler", "tcp://localhost:1"], "pip install 'featavg[cluster]'"))
    else:
        asked.append(([str(spec), "--scheduler", "nonsense://"], "no dask scheduler answers at nonsense://"))
    for arguments, sentence in asked:
        code, out, err = said(capsys, *arguments)
        assert (code, out) == (2, "")
        assert sentence in err
        assert err.count("\n") == 1
