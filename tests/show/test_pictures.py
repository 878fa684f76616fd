"""`show_*` draw what the library computes; `featavg figures` writes it with its fonts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import featavg as fa
from featavg.cli import main
from featavg.record import Column, Drawing, Evidence, Record, Table, write_record


@pytest.fixture(scope="module")
def run() -> fa.Trajectory:
    data = fa.sample_clusters(clusters=4, dim=10**6, samples=60, seed=0)
    start = fa.BinaryNetwork.random(data, neurons_per_class=2, seed=1)
    return fa.train(start, data, fa.GradientDescent(steps=10), engine="gram")


@pytest.fixture(scope="module")
def radius(run: fa.Trajectory) -> fa.RadiusBracket:
    test = run.data.resample(6, seed=2)
    return fa.robust_radius(run.final, test.x, test.y)


def test_alignment_is_drawn_as_it_is(run: fa.Trajectory) -> None:
    figure = fa.show_alignment(run.final, run.data)
    (mesh,) = figure.axes[0].collections
    assert np.allclose(mesh.get_array(), fa.alignment(run.final, run.data.centers))


def test_coefficients_are_the_decomposition(run: fa.Trajectory) -> None:
    lines = fa.show_coefficients(run, run.data, neuron=3).axes[0].get_lines()
    expected = fa.decompose(run, run.data).feature[:, 3].T
    assert np.allclose([line.get_ydata() for line in lines], expected)
    with pytest.raises(fa.InputError, match=r"one of 0 \.\.\. 3"):
        fa.show_coefficients(run, run.data, neuron=4)


def test_curves_are_robust_accuracies(radius: fa.RadiusBracket) -> None:
    radii = np.linspace(0, 1.9 * radius.upper.max(), 7)  # no point lies on a step
    (line,) = fa.show_curves(radius, radii).axes[0].get_lines()
    assert np.array_equal(line.get_ydata(), fa.robust_accuracy(radius, radii).upper)
    with pytest.raises(fa.InputError, match="at least one bracket"):
        fa.show_curves({})


def test_a_slice_has_the_witness_at_its_distance(radius: fa.RadiusBracket) -> None:
    lines = {line.get_label(): line for line in fa.show_slice(radius, point=2).axes[0].get_lines()}
    place = np.array(lines["nearest adversarial"].get_xydata())[0]
    assert np.hypot(*place) == pytest.approx(radius.upper[2])
    boundary = np.array(lines["boundary"].get_xydata())
    assert np.hypot(*boundary.T).min() >= 0.99 * radius.lower[2]
    for wrong in ({"point": 6}, {"direction": np.zeros(radius.question.x.shape[1])}, {"direction": [1.0]}):
        with pytest.raises(fa.InputError, match="must be"):
            fa.show_slice(radius, **wrong)


def test_a_witness_on_the_direction_itself_still_spans_a_plane() -> None:
    exact = fa.robust_radius(([[1.0, 0.0]], [0.0], [[1.0]], [-1.0]), [[3.0, 0.0]], [1])
    assert fa.show_slice(exact).axes[0].get_lines()


def test_figures_are_files_with_their_fonts_and_the_same_twice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = Table({"x": Column([0.0, 1.0], ("place",)), "y": Column([0.0, 2.0], ("place",))}, {})
    drawing = Drawing("curves", {"x": "x", "y": "y"}, caption="Up & away √k")
    write_record(Record("up", "Up", {}, (0,), (), Evidence(table, (drawing,))), tmp_path / "runs")
    for folder in ("one", "two"):
        formats = [word for kind in ("pdf", "svg", "png") for word in ("--format", kind)]
        with pytest.raises(SystemExit) as end:
            main(["figures", str(tmp_path / "runs"), "-o", str(tmp_path / folder), *formats])
        assert not end.value.code
    for kind, start in (("pdf", b"%PDF"), ("svg", b"<?xml"), ("png", b"\x89PNG")):
        first, second = ((tmp_path / folder / f"up-1.{kind}").read_bytes() for folder in ("one", "two"))
        assert first == second
        assert first.startswith(start)
    assert b"/FontFile2" in (tmp_path / "one" / "up-1.pdf").read_bytes()
    assert b"<text" not in (tmp_path / "one" / "up-1.svg").read_bytes()
    capsys.readouterr()
    with pytest.raises(SystemExit) as end:
        main(["figures", str(tmp_path / "runs"), "--format", "gif"])
    assert end.value.code == 2
    assert "pdf, svg, png" in capsys.readouterr().err
