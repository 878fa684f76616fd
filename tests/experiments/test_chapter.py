"""The driver on toy chapters: cases and seeds in order, texts filled in, and nothing measured twice."""

from __future__ import annotations

import sys
import textwrap
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from featavg.errors import InputError
from featavg.experiments import Chapter, Expect, Quantity, run_chapter
from featavg.figures import draw
from featavg.record import Column, Drawing, Record, Table


@dataclass(frozen=True)
class Config:
    scale: float = 10.0
    seeds: int = 3
    first_seed: int = 7


def chapter_of(monkeypatch: pytest.MonkeyPatch, **parts: Any) -> Chapter:
    module = ModuleType("toy_chapter")
    module.__dict__.update(Config=Config, **parts)
    monkeypatch.setitem(sys.modules, "toy_chapter", module)
    return Chapter("toy", "toy_chapter", "A toy.", ("quick", 1), ())


def measure(config: Config, seed: int, case: str) -> dict[str, Any]:
    value = config.scale * len(case) + seed
    return {"value": value, "line": [value, 2 * value, 3 * value], "picture": np.full((2, 2), seed + len(case))}


def derive(config: Config, table: Table) -> Table:
    gain = table.sel("value", word="three") - table.sel("value", word="one")
    return table.plus({"gain": Column(gain, ("seed",), "difference"), "constant": Column(1.0, (), "one")})


PARTS = {
    "CASES": {"word": ("one", "three")},
    "COORDS": {"place": lambda config: [config.scale, 20.0, 30.0]},
    "COLUMNS": {
        "value": "value at scale {config.scale:g}, {mean[value]:.1f} on average, {percent[value]:.0f} %",
        "line": Quantity("a line", ("place",), unit="m"),
        "picture": Quantity("a picture", ("x", "y"), once=True),
    },
    "CLAIMS": [
        Expect("value", "One is near {config.scale:g}.", "s", 38.0, 0.1, "r", relative=True, at={"word": "one"}),
        Expect("gain", "It gains.", "s", lambda config, table: 2 * config.scale, lambda *_: 0.5, "{median[gain]:g}"),
        Expect("constant", "It is one.", "s", 1, 0, "r", published=1.0),
    ],
    "DRAWINGS": [
        Drawing("curves", {"x": "place", "y": "line", "labels": "word"}, "At {config.scale:g}.",
                {"marks": [[1, "{config.scale}"]]}),
    ],
    "NOTES": ["Scale {config.scale:g}."],
    "notes": lambda table: [f"{len(table['seed'])} seeds."],
    "measure": measure,
    "derive": derive,
}  # fmt: skip


def run(monkeypatch: pytest.MonkeyPatch, rows: Any = None, **parts: Any) -> tuple[Record, list[float]]:
    told: list[float] = []
    chapter = chapter_of(monkeypatch, **{**PARTS, **parts})
    return run_chapter(chapter, Config(), lambda share, _: told.append(share), rows), told


def test_a_claim_is_made_where_the_configuration_says_and_tells_where(monkeypatch: pytest.MonkeyPatch) -> None:
    there = Expect("line", "It is there.", "s", 0, 0, "r", at={"word": "one", "place": lambda config: 2 * config.scale})
    record, _ = run(monkeypatch, CLAIMS=[there])
    assert record.claims[0].measured == 2 * 38
    assert record.claims[0].how == "a line, at place 20"


def test_cases_and_seeds_become_named_axes(monkeypatch: pytest.MonkeyPatch) -> None:
    record, told = run(monkeypatch)
    table = record.evidence.table
    assert (record.name, record.title, record.seeds) == ("toy", "A toy.", (7, 8, 9))
    assert table.columns["line"].axes == ("word", "seed", "place")
    assert table.columns["line"].unit == "m"
    assert table.sel("line", word="three", seed=8, place=20.0) == 2 * 58
    assert table.columns["picture"].axes == ("word", "x", "y")
    assert table["picture"].tolist() == [[[10, 10]] * 2, [[12, 12]] * 2], "of the first seed, one for each case"
    assert {axis: coords.tolist() for axis, coords in table.coords.items()} == {
        "word": ["one", "three"], "seed": [7, 8, 9], "place": [10.0, 20.0, 30.0], "x": [0, 1], "y": [0, 1],
    }  # fmt: skip
    assert told == sorted(told)
    assert told[-1] == 1.0


def test_claims_take_their_numbers_from_columns_and_their_texts_are_filled_in(monkeypatch: pytest.MonkeyPatch) -> None:
    record, _ = run(monkeypatch)
    near, gain, exact = record.claims
    assert (near.text, near.measured, near.expected) == ("One is near 10.", 38.0, 38.0)
    assert near.tolerance == pytest.approx(3.8)
    assert near.how == "value at scale 10, 48.0 on average, 4800 %"
    assert (gain.expected, gain.tolerance, gain.tolerance_reason, gain.verdict) == (20.0, 0.5, "20", "holds")
    assert (exact.interval, exact.published) == ((1.0, 1.0), 1.0)
    (drawing,) = record.evidence.drawings
    assert (drawing.caption, drawing.options["marks"]) == ("At 10.", [[1, "10.0"]])
    assert record.evidence.notes == ("Scale 10.", "3 seeds.")


def test_functions_add_to_the_tables_and_see_what_was_prepared(monkeypatch: pytest.MonkeyPatch) -> None:
    def prepare(config: Config, case: str, progress: Any) -> str:
        progress(1.0, "tuned")
        return case + "!"

    def claims(prepared: dict[str, str]) -> list[Expect]:
        return [Expect("value", " ".join(prepared.values()), "s", 0, 0, "r", at={"word": "one"})]

    record, told = run(monkeypatch, prepare=prepare, claims=claims)
    assert record.claims[-1].text == "one! three!"
    assert record.evidence.table.sel("value", word="one", seed=7) == 47.0  # one letter more
    assert told == sorted(told)


def test_rows_that_are_there_are_not_measured_again(monkeypatch: pytest.MonkeyPatch) -> None:
    rows: dict[Any, Any] = {}
    first, _ = run(monkeypatch, rows)
    assert set(rows) == {(word, seed) for word in ("one", "three") for seed in (7, 8, 9)}
    del rows["three", 8]
    measured = []

    def counted(config: Config, seed: int, case: str) -> dict[str, Any]:
        measured.append((case, seed))
        return measure(config, seed, case)

    again, told = run(monkeypatch, rows, measure=counted)
    assert measured == [("three", 8)]
    assert told[-1] == 1.0
    np.testing.assert_array_equal(again.evidence.table["line"], first.evidence.table["line"])


def test_an_interrupted_run_leaves_the_rows_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    rows: dict[Any, Any] = {}

    def interrupted(config: Config, seed: int, case: str) -> dict[str, Any]:
        if seed == 9:
            raise KeyboardInterrupt
        return measure(config, seed, case)

    with pytest.raises(KeyboardInterrupt):
        run(monkeypatch, rows, measure=interrupted)
    assert list(rows) == [("one", 7), ("one", 8)]


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"COLUMNS": {"value": "v", "line": Quantity("l", ("place",))}}, "COLUMNS does not describe"),
        ({"COLUMNS": {**PARTS["COLUMNS"], "line": "a line"}}, "needs as many axes"),
        ({"CLAIMS": [Expect("line", "t", "s", 0, 0, "r", at={"word": "one"})]}, "a claim about 'line' needs one axis"),
        ({"CLAIMS": [Expect("lines", "t", "s", 0, 0, "r")]}, "no column is called 'lines'"),
        ({"derive": lambda table: table.plus({"value": Column(1.0)})}, "`derive` must leave 'value'"),
        ({"derive": lambda table: Table(), "CLAIMS": []}, "`derive` must leave"),
        ({"COLUMNS": {**PARTS["COLUMNS"], "gain": "of derive"}}, "`derive` must leave 'gain'"),
    ],
)
def test_a_chapter_that_does_not_fit_together_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, parts: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        run(monkeypatch, **parts)


def test_a_configuration_without_seeds_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    chapter = chapter_of(monkeypatch, **PARTS)
    chapter.module.Config = object  # type: ignore[attr-defined]
    with pytest.raises(InputError, match="needs `seeds"):
        chapter.config()


def test_the_example_at_the_head_of_the_room_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    import featavg.experiments

    text = featavg.experiments.__doc__ or ""
    example = textwrap.dedent(text[text.index('    """The radius') : text.index("A claim is settled by")])
    heading = "from dataclasses import dataclass\nfrom typing import Any\nimport numpy as np\n"
    heading += "from featavg.experiments import Expect\nfrom featavg.record import Column, Drawing, Table\n"
    module = ModuleType("toy_chapter")
    monkeypatch.setitem(sys.modules, "toy_chapter", module)
    module.__dict__["median_radius"] = lambda clusters, seed: (1 + 0.001 * seed) / np.sqrt(clusters)
    exec(heading + example, module.__dict__)
    chapter = Chapter("shrinking", "toy_chapter", "Shrinking.", ("quick", 4), ())
    record = run_chapter(chapter, chapter.config(), lambda share, _: None)
    assert [claim.verdict for claim in record.claims] == ["holds"]
    assert record.claims[0].how == "slope of log radius over log clusters"
    for drawing in record.evidence.drawings:
        draw(drawing, record.evidence.table)


def test_an_interval_over_points_is_not_called_one_over_seeds() -> None:
    columns = {"by_seed": Column([1.0, 2.0], ("seed",), "how"), "by_point": Column([1.0, 2.0, 3.0], ("point",), "how")}
    said = [Expect(name, "t", "s", 0.0, 1.0, "r").claim(None, Table(columns)).interval_of for name in columns]
    assert said == ["Student's t over 2 seeds", "Student's t over 3 values, not seeds"]
