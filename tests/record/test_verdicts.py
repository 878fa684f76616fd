"""The verdict table, to take away: nothing is lost in CSV, nothing breaks Markdown or LaTeX."""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from featavg import InputError
from featavg.cli import main
from featavg.record import Claim, Record, read_folder, verdict_rows, verdict_table, write_record

RESULTS = Path(__file__).parents[2] / "results"


def record(text: str = "Two is two.") -> Record:
    claim = Claim.exact(2.0, text, source="Peano", expected=2, tolerance=0, tolerance_reason="exact")
    return Record("two", "Two is two", config={}, seeds=(0,), claims=(claim,))


def test_csv_keeps_every_digit_of_the_committed_records() -> None:
    records, _ = read_folder(RESULTS)
    rows = list(csv.DictReader(verdict_table(records, ".csv").splitlines(keepends=True)))
    claims = [claim for one in records for claim in one.claims]
    assert [row["claim"] for row in rows] == [claim.text for claim in claims]
    assert [float(row["measured"]) for row in rows] == [claim.measured for claim in claims]
    assert [row["verdict"] for row in rows] == [claim.verdict for claim in claims]


def test_latex_of_the_committed_records_is_plain_ascii_with_balanced_braces_and_dollars() -> None:
    records, _ = read_folder(RESULTS)
    text = verdict_table(records, ".tex")
    assert text.isascii(), {letter for letter in text if not letter.isascii()}
    for line in text.splitlines()[1:]:
        bare = line.replace("\\{", "").replace("\\}", "").replace("\\$", "")
        assert bare.count("{") == bare.count("}")
        assert bare.count("$") % 2 == 0


def test_signs_that_mean_something_in_markdown_and_latex_stay_text() -> None:
    hostile = record("a | b <img src=x onerror=alert(1)> 50% & $x_1^2$ {y} \\input *z*")
    row = verdict_table([hostile], ".md").splitlines()[2]
    assert "<img" not in row
    assert row.replace("\\|", "").count("|") == 7
    tex = verdict_table([hostile], ".tex")
    assert "50\\% \\& \\$x\\_1\\textasciicircum{}2\\$ \\{y\\} \\textbackslash{}input" in tex


def test_a_record_is_a_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    fake: Any = ModuleType("pandas")
    fake.DataFrame = list
    monkeypatch.setitem(sys.modules, "pandas", fake)
    assert record().to_frame() == verdict_rows([record()])
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InputError, match="needs pandas"):
        record().to_frame()


def test_the_door_writes_tables_and_refuses_what_it_cannot(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_record(record(), tmp_path / "runs")
    for ending in (".csv", ".md", ".tex"):
        with pytest.raises(SystemExit) as end:
            main(["report", str(tmp_path / "runs"), "-o", str(tmp_path / f"verdicts{ending}")])
        assert not end.value.code
        assert (tmp_path / f"verdicts{ending}").read_text() == verdict_table([record()], ending)
    capsys.readouterr()
    with pytest.raises(SystemExit) as end:
        main(["report", str(tmp_path / "runs"), "-o", str(tmp_path / "x.pdf")])
    said = capsys.readouterr().err
    assert end.value.code == 2
    assert "print the page from a browser" in said
    assert said.count("\n") == 1
    with pytest.raises(InputError, match=r"\.csv, \.md or \.tex"):
        verdict_table([], ".txt")
