"""A record on disk is whole, or it is refused with one sentence."""

import hashlib
import json
import math
import os
import zipfile

import numpy as np
import pytest

from featavg import InputError
from featavg.record import (
    Claim,
    Column,
    Drawing,
    Evidence,
    Provenance,
    Record,
    Table,
    read_folder,
    read_record,
    write_record,
)


def make_record(value=1.0, name="toy"):
    claims = (
        Claim.over_seeds([value], "Only one seed.", source="s", expected=1, tolerance=0.5, tolerance_reason="r"),
        Claim.exact(value, "No seed.", source="§ 2", expected=1, tolerance=0.5, tolerance_reason="r", published=1.5),
    )
    columns = {
        "speed": Column(np.arange(8).reshape(2, 4), ("name", "time"), "how fast it is", "m/s"),
        "value": Column([[1.0, np.nan], [np.inf, -0.0]], ("seed", "name"), "a value"),
        "size": Column(np.float32(3.5), (), "one number"),
    }
    table = Table(columns, {"time": np.arange(4) / 8, "name": ["a", "µ"], "seed": [0, 1]})
    options = {"levels": [(1.0, "one")]}
    drawing = Drawing("curves", {"x": "time", "y": ("speed", "speed")}, "Time.", options, 0.95, (0, 1), {"name": "µ"})
    config = {"clusters": (2, 4), "seeds": 1}
    evidence = Evidence(table, (drawing,), ("A note.",), Provenance(seconds=1.5))
    return Record(name, "Toy", config, (0,), claims, evidence)


@pytest.fixture
def path(tmp_path):
    return write_record(make_record(), tmp_path)


def test_what_is_read_is_what_was_written(path):
    written, read = make_record(), read_record(path)
    for field in ("name", "title", "config", "seeds", "claims"):
        assert getattr(read, field) == getattr(written, field), field
    for field in ("drawings", "notes", "provenance"):
        assert getattr(read.evidence, field) == getattr(written.evidence, field), field
    assert read.claims[0].interval == (-math.inf, math.inf)
    tables = read.evidence.table, written.evidence.table
    assert set(tables[0].columns) == set(tables[1].columns)
    assert set(tables[0].coords) == set(tables[1].coords)
    for name, column in tables[1].columns.items():
        found = tables[0].columns[name]
        assert (found.axes, found.text, found.unit) == (column.axes, column.text, column.unit)
        assert found.values.dtype == column.values.dtype
        np.testing.assert_array_equal(found.values, column.values)
    for axis, coords in tables[1].coords.items():
        np.testing.assert_array_equal(tables[0].coords[axis], coords)


def test_a_record_of_version_1_is_read_and_drawn_as_it_was(path):
    """Version 1: arrays without names of their axes, drawings without bands; this is how it was written."""
    arrays = {"steps": np.arange(3), "lines": np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])}
    np.savez(path.with_suffix(".npz"), **arrays)
    content = json.loads(path.read_text())
    del content["columns"]
    drawing = {"kind": "curves", "arrays": {"x": "steps", "y": "lines"}, "caption": "Lines.", "options": {}}
    content |= {"version": 1, "drawings": [drawing]}
    content["npz_sha256"] = hashlib.sha256(path.with_suffix(".npz").read_bytes()).hexdigest()
    path.write_text(json.dumps(content))
    read = read_record(path)
    assert read.claims == make_record().claims
    assert read.evidence.provenance == make_record().evidence.provenance
    (drawing,) = read.evidence.drawings
    given = drawing.arguments(read.evidence.table)
    assert set(given) == {"x", "y"}
    np.testing.assert_array_equal(given["x"], arrays["steps"])
    np.testing.assert_array_equal(given["y"], arrays["lines"])
    again = read_record(write_record(read, path.parent / "again"))
    assert again.evidence.drawings == read.evidence.drawings
    np.testing.assert_array_equal(again.evidence.table["lines"], arrays["lines"])


def test_the_json_is_strict_and_shows_the_verdicts(path):
    def refuse(constant):
        raise AssertionError(constant)

    content = json.loads(path.read_text(), parse_constant=refuse)
    assert [item["verdict"] for item in content["claims"]] == ["open", "holds"]
    assert content["claims"][0]["interval"] == [None, None]
    assert set(content["versions"]) == {"python", "numpy", "scipy", "featavg"}


def test_an_edited_verdict_does_not_count(path):
    path.write_text(path.read_text().replace('"verdict": "open"', '"verdict": "holds"'))
    assert read_record(path).claims[0].verdict == "open"


def test_the_same_arrays_give_the_same_bytes(path, tmp_path):
    again = write_record(make_record(), tmp_path / "again")
    assert again.with_suffix(".npz").read_bytes() == path.with_suffix(".npz").read_bytes()
    with zipfile.ZipFile(path.with_suffix(".npz")) as archive:
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def stop_before(monkeypatch, ending):
    replace = os.replace

    def stopping(source, target):
        if str(target).endswith(ending):
            raise KeyboardInterrupt
        replace(source, target)

    monkeypatch.setattr(os, "replace", stopping)


@pytest.mark.parametrize("ending", [".npz", ".json"])
def test_a_first_write_that_is_stopped_leaves_no_record(tmp_path, monkeypatch, ending):
    stop_before(monkeypatch, ending)
    with pytest.raises(KeyboardInterrupt):
        write_record(make_record(), tmp_path)
    assert not list(tmp_path.glob("*.json"))
    assert not list(tmp_path.glob(".*"))
    assert read_folder(tmp_path) == ([], [])


def test_a_second_write_that_is_stopped_is_never_a_mixture(path, tmp_path, monkeypatch):
    stop_before(monkeypatch, ".npz")
    with pytest.raises(KeyboardInterrupt):
        write_record(make_record(0.8), tmp_path)
    assert read_record(path).claims[1].measured == 1.0
    monkeypatch.undo()
    stop_before(monkeypatch, ".json")
    newer = make_record(0.8)
    newer.evidence.table.columns["size"] = Column(4.5, (), "another number")
    with pytest.raises(KeyboardInterrupt):
        write_record(newer, tmp_path)
    with pytest.raises(InputError, match="of another run than their JSON"):
        read_record(path)


def test_every_cut_of_the_json_is_refused(path):
    whole = path.read_bytes()
    for length in [*range(0, len(whole) - 2, 41), len(whole) - 2]:
        path.write_bytes(whole[:length])
        with pytest.raises(InputError, match="is cut short or no record") as caught:
            read_record(path)
        assert "\n" not in str(caught.value)


def test_cut_or_missing_arrays_are_refused(path):
    arrays = path.with_suffix(".npz")
    arrays.write_bytes(arrays.read_bytes()[:-1])
    with pytest.raises(InputError, match="cut short"):
        read_record(path)
    arrays.unlink()
    with pytest.raises(InputError, match="are missing"):
        read_record(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 3}, "a record of version 3, this featavg reads 1 and 2"),
        ({"columns": None}, "is no whole record"),
        ({"columns": {"other": {"axes": [], "text": "", "unit": ""}}}, "is no whole record"),
        ({"format": "other"}, "is no featavg record"),
        ({"claims": [{"text": "half"}]}, "is no whole record"),
        ({"claims": None}, "is no whole record"),
        ({"name": "../outside"}, "is no whole record"),
        ({"drawings": [{"kind": "curves", "arrays": {"x": "none"}, "caption": "c"}]}, "which the table does not hold"),
    ],
)
def test_foreign_content_is_refused(path, change, message):
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(InputError, match=message):
        read_record(path)


def test_json_of_something_else_and_no_file_at_all(tmp_path):
    (tmp_path / "list.json").write_text("[1, 2]")
    with pytest.raises(InputError, match="is no featavg record"):
        read_record(tmp_path / "list.json")
    with pytest.raises(InputError, match="no record at"):
        read_record(tmp_path / "none.json")
    with pytest.raises(InputError, match="no folder of records"):
        read_folder(tmp_path / "none")


def test_a_folder_is_read_by_name_with_its_complaints(tmp_path):
    for name in ("zeta", "alpha"):
        write_record(make_record(name=name), tmp_path)
    (tmp_path / "broken.json").write_text("{")
    records, complaints = read_folder(tmp_path)
    assert [record.name for record in records] == ["alpha", "zeta"]
    assert len(complaints) == 1
    assert "broken.json is cut short" in complaints[0]


def test_a_folder_that_cannot_be_is_one_sentence(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot make the folder"):
        write_record(make_record(), tmp_path / "file" / "runs")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"config": {"x": np.float64(1)}}, None),
        ({"config": {"x": np.arange(2)}}, "must be JSON values"),
        ({"config": {"x": math.nan}}, "must be JSON values"),
        ({"name": "a/b"}, "a record's name"),
        ({"claims": make_record().claims[:1] * 2}, "have the same text"),
    ],
)
def test_what_could_not_be_written_is_refused_when_made(change, message):
    fields = {"name": "toy", "title": "Toy", "config": {}, "seeds": (0,), "claims": (), **change}
    if message is None:
        assert Record(**fields).config == {"x": 1.0}  # a NumPy float is a Python float
        return
    with pytest.raises(InputError, match=message):
        Record(**fields)


def test_a_drawing_says_what_one_sees():
    with pytest.raises(InputError, match="needs a caption"):
        Drawing("curves", {}, caption=" ")
