"""A table is read by the names of its axes, and refuses what does not fit."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from featavg.errors import InputError
from featavg.record import Column, Drawing, Evidence, Table

VALUES = np.random.default_rng(0).normal(size=(3, 2, 5))  # (radius, method, seed)


@pytest.fixture
def table() -> Table:
    columns = {
        "lower": Column(VALUES, ("radius", "method", "seed"), "proved"),
        "clean": Column(VALUES[0], ("method", "seed")),
        "title": Column("any", ()),
    }
    return Table(columns, {"radius": [1, 18, 30], "method": ["coarse", "discovered 100"], "seed": range(5)})


def test_selecting_is_indexing_by_coordinates(table: Table) -> None:
    np.testing.assert_array_equal(table.sel("lower", method="discovered 100", radius=18), VALUES[1, 1])
    np.testing.assert_array_equal(table.sel("lower", seed=3), VALUES[:, :, 3])
    np.testing.assert_array_equal(table["lower"], VALUES)
    np.testing.assert_array_equal(table["radius"], [1, 18, 30])
    part = table.at(method="coarse")
    assert part.columns["lower"].axes == ("radius", "seed")
    assert "method" not in part.coords
    np.testing.assert_array_equal(part["clean"], VALUES[0, 0])


def test_means_and_intervals_go_over_seeds_or_any_axis(table: Table) -> None:
    np.testing.assert_allclose(table.mean("lower"), VALUES.mean(axis=2))
    np.testing.assert_allclose(table.mean("lower", over="radius"), VALUES.mean(axis=0))
    low, high = table.interval("lower", level=0.9)
    expected = stats.t.interval(0.9, 4, loc=VALUES.mean(axis=2), scale=stats.sem(VALUES, axis=2))
    np.testing.assert_allclose([low, high], expected, rtol=1e-12)
    assert [end.shape for end in table.interval("lower", over="radius")] == [(2, 5), (2, 5)]
    assert table.mean("title") == table.interval("title")[0] == "any"


def test_a_frame_has_a_row_for_every_cell(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=dict))
    frame = table.to_frame(["clean", "lower"])
    assert {len(values) for values in frame.values()} == {30}
    for method, seed, radius, clean, lower in zip(*frame.values(), strict=True):
        assert lower == table.sel("lower", radius=radius, method=method, seed=seed)
        assert clean == table.sel("clean", method=method, seed=seed)
    assert list(frame) == ["method", "seed", "radius", "clean", "lower"]


def test_a_frame_without_pandas_is_one_sentence(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InputError, match="pip install pandas"):
        table.to_frame()


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda t: t["upper"], "no column is called 'upper'; there are lower, clean, title"),
        (lambda t: t.sel("lower", radius=2), "radius has no place 2; it has 1, 18, 30"),
        (lambda t: t.sel("clean", radius=1), "column 'clean' has the axes method, seed, got 'radius'"),
        (lambda t: t.plus({"new": Column([1, 2], ("seed",))}), "the axis 'seed' has 5 places, but 2 in column 'new'"),
        (lambda t: t.plus({"seed": Column(1)}), "cannot be called 'seed'"),
        (lambda t: t.plus({"a/b": Column(1)}), "cannot be called 'a/b'"),
        (lambda t: Column([1, 2]), "needs as many axes"),
        (lambda t: Column([object()], ("x",)), "got objects"),
    ],
)
def test_what_does_not_fit_is_one_sentence(table: Table, ask: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        ask(table)


def test_arrays_without_names_have_axes_of_their_own() -> None:
    made = Table.of({"x": [1, 2], "y": [[1, 2, 3]]})
    assert {name: column.axes for name, column in made.columns.items()} == {"x": ("x 0",), "y": ("y 0", "y 1")}


# --- what a drawing is given --------------------------------------------------------------------------------------


def test_a_drawing_averages_over_seeds_and_reads_coordinates(table: Table) -> None:
    drawing = Drawing("curves", {"x": "radius", "y": "lower", "labels": "method"}, "c", at={"seed": 3})
    given = drawing.arguments(table)
    np.testing.assert_array_equal(given["y"], VALUES[:, :, 3].T)
    assert given["labels"] == ["coarse", "discovered 100"]
    given = Drawing("dots", {"measured": "clean", "row_labels": "radius"}, "c", band=0.9).arguments(table)
    np.testing.assert_allclose(given["measured"], VALUES[0].mean(axis=1))
    np.testing.assert_allclose((given["lower"], given["upper"]), table.interval("clean", level=0.9))
    assert given["row_labels"] == ["1", "18", "30"]


def test_several_columns_are_lines_below_each_other_and_bands_end_where_told(table: Table) -> None:
    drawing = Drawing("curves", {"x": "method", "y": ("lower", "clean")}, "c", band=0.999, within=(-1.0, 1.0))
    given = drawing.arguments(table)
    np.testing.assert_allclose(given["y"], [*VALUES.mean(axis=2), VALUES[0].mean(axis=1)])
    assert given["lower"].shape == (4, 2)
    assert given["lower"].min() == -1.0
    assert given["upper"].max() == 1.0
    single = Table({name: Column([1.0, 3.0], ("seed",)) for name in ("a", "b")})
    assert Drawing("dots", {"measured": ("a", "b")}, "c").arguments(single)["measured"].tolist() == [2.0, 2.0]


def test_a_drawing_of_a_missing_column_is_refused_when_made(table: Table) -> None:
    with pytest.raises(InputError, match="wants the column 'upper', which the table does not hold"):
        Evidence(table, (Drawing("curves", {"x": "radius", "y": ("lower", "upper")}, "c"),))


def test_lines_run_along_the_axis_that_x_names_whatever_the_order_of_axes() -> None:
    # As many lines as places: a transposed column would be drawn without complaint.
    values = np.array([[[1.0, 10.0], [3.0, 30.0]], [[2.0, 20.0], [4.0, 40.0]]])
    table = Table({"gain": Column(values, ("width", "seed", "kind"))}, {"width": [4, 8]})
    given = Drawing("curves", {"x": "width", "y": "gain"}, "c", band=0.95).arguments(table)
    assert given["y"].tolist() == [[2.0, 3.0], [20.0, 30.0]]
    assert ((given["lower"] + given["upper"]) / 2).round(9).tolist() == given["y"].tolist()
