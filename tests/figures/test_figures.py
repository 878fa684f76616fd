"""Figures show the arrays they were given, keep their caption, and leave no trace in the process."""

import itertools
import subprocess
import sys

import numpy as np
import pytest
from matplotlib.collections import QuadMesh

from featavg import InputError
from featavg.figures import curves, dots, draw, heatmap, images, scaling
from featavg.record import Drawing, Table

BLOCKS = np.kron(np.eye(2), np.full((5, 5), 0.44)) - 0.03


def examples():
    yield heatmap(BLOCKS, caption="c", row_blocks=[5], column_blocks=[5], title="Neurons average their class")
    yield heatmap(
        np.eye(3),
        caption="c",
        row_labels=["airplane", "automobile", "bird"],
        column_labels=["a " * 9] * 3,
        title="A title " * 9,
    )
    time = np.arange(50.0)
    lines = np.outer(np.arange(1, 13), time)
    yield curves(
        time,
        lines,
        caption="c",
        labels=[f"cluster {number}" for number in range(12)],
        lower=lines * 0.9,
        upper=lines * 1.1,
        levels=[(100, "theory"), (101, "a bound with a rather long name " * 3)],
        marks=[(17.5, "√(d/k)")],
        x_label="step",
        y_label="λ",
        title="All features grow",
    )
    k = np.array([2.0, 4.0, 8.0])
    yield scaling(k, k**-0.5, lower=k**-0.5 * 0.9, upper=k**-0.5 * 1.1, theory=k**-0.5, caption="c")
    yield dots([0.0, 9.0], lower=[-1.0, 8], upper=[np.inf, 10], labels=["one", "two " * 8], caption="c", limits=(-3, 3))
    yield images(
        np.zeros((2, 3, 8, 8, 3)),
        caption="c",
        rows=["coarse labels, a long name", "fine"],
        columns=["original", "what the attack added, 10 times", "result"],
        title="Adversarial examples",
    )


@pytest.mark.parametrize("number", range(6))
def test_no_text_is_cut_off_by_the_edge(number):
    figure = list(examples())[number]
    figure.draw_without_rendering()
    drawn, paper = figure.get_tightbbox(), figure.bbox_inches.padded(0.01)
    assert paper.x0 <= drawn.x0 <= drawn.x1 <= paper.x1
    assert paper.y0 <= drawn.y0 <= drawn.y1 <= paper.y1


def test_names_below_a_heatmap_do_not_touch():
    figure = heatmap(np.random.default_rng(0).normal(size=(40, 27)), caption="c")
    figure.draw_without_rendering()
    boxes = [label.get_window_extent() for label in figure.axes[0].get_xticklabels()]
    assert len(boxes) > 5
    # A third of a letter apart at least, or two numbers are read as one.
    assert min(right.x0 - left.x1 for left, right in itertools.pairwise(boxes)) > 0.03 * figure.dpi


def test_heatmap_is_centred_at_zero_and_writes_its_numbers():
    figure = heatmap(BLOCKS, caption="Two blocks.", row_blocks=[5])
    (mesh,) = figure.axes[0].findobj(QuadMesh)
    assert mesh.norm.vmin == -mesh.norm.vmax
    assert [text.get_text() for text in figure.axes[0].texts[4:6]] == ["0.41", "−0.03"]
    assert figure.get_label() == "Two blocks."
    assert not len(heatmap(np.eye(40), caption="c").axes[0].texts)


def test_curves_draw_each_line_with_its_band_and_the_published_points():
    figure = curves(
        [0, 1],
        [[1.0, 2.0], [3.0, 4.0]],
        caption="c",
        labels=["a", "b"],
        lower=[[0.0, 1], [2, 3]],
        upper=[[2.0, 3], [4, 5]],
        published_x=[0.5],
        published_y=[[1.4], [3.4]],
        published_labels=["a, published", "b, published"],
        log_x=False,
        log_y=True,
    )
    lines = figure.axes[0].get_lines()
    np.testing.assert_array_equal(lines[1].get_ydata(), [3, 4])
    assert lines[1].get_color() == lines[3].get_color() != lines[0].get_color()
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["a", "b", "a, published", "b, published"]
    assert len(figure.axes[0].collections) == 2
    assert figure.axes[0].get_yscale() == "log"


def test_dots_beyond_the_limits_become_arrows():
    figure = dots([0.0, 9.0, -9.0], lower=[0, 8, -10], upper=[0, 10, -8], labels="abc", caption="c", limits=(-3, 3))
    assert [line.get_marker() for line in figure.axes[0].get_lines()] == ["o", ">", "<"]


def test_images_keep_their_places_and_their_pixels():
    grid = np.random.default_rng(0).random((2, 3, 4, 5, 1))
    figure = images(grid, caption="c", rows=["a", "b"], columns=["x", "y", "z"])
    (axes,) = figure.axes
    shown = [image.get_array() for image in axes.get_images()]
    np.testing.assert_array_equal(np.reshape(shown, (2, 3, 4, 5)), grid[..., 0])
    left, right, bottom, top = np.array([image.get_extent() for image in axes.get_images()]).reshape(2, 3, 4).T
    assert (right[:-1] < left[1:]).all()
    assert (bottom[:, 0] < top[:, 1]).all()  # downwards
    places = {text.get_text(): text.get_position() for text in axes.texts}
    assert places["x"][0] < places["y"][0] < places["z"][0]
    assert [left[0, 0] < places[name][0] < right[0, 0] for name in "xyz"] == [True, False, False]
    assert [top[0, 0] < places[name][1] < bottom[0, 0] for name in "ab"] == [True, False]
    assert axes.get_images()[0].get_clim() == (0.0, 1.0)


def test_draw_is_the_same_as_calling_the_function():
    drawing = Drawing("heatmap", {"values": "cosines"}, "Alike.", options={"row_blocks": [5], "limit": 1.0})
    drawn = draw(drawing, Table.of({"cosines": BLOCKS}))
    (mesh,) = drawn.axes[0].findobj(QuadMesh)
    np.testing.assert_array_equal(mesh.get_array(), BLOCKS)
    assert (mesh.norm.vmax, drawn.get_label()) == (1.0, "Alike.")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: draw(Drawing("pie", {}, "c"), Table()), "one of curves, dots, heatmap, images, scaling"),
        (lambda: draw(Drawing("curves", {"x": "x", "y": "x"}, "c", {"colour": 1}), Table.of({"x": [1, 2]})), "colour"),
        (lambda: curves([0, 1, 2], [1.0, 2.0], caption="c"), "x must have shape"),
        (lambda: curves([0, 1], [1.0, 2.0], caption="c", labels=["a", "b"]), "labels must be 1 texts"),
        (lambda: curves([], [], caption="c"), "not empty"),
        (lambda: heatmap([[np.nan]], caption="c"), "must be finite"),
        (lambda: images(np.full((1, 1, 2, 2), np.nan), caption="c"), "must lie in"),
        (lambda: images(np.full((1, 1, 2, 2), 2.0), caption="c"), "must lie in"),
        (lambda: images(np.zeros((1, 1, 2, 2, 4)), caption="c"), "3 colours last"),
        (lambda: scaling([0, 1], [1.0, 2.0], caption="c"), "above 0"),
        (lambda: dots([1.0], lower=[0, 1], upper=[2], labels=["a"], caption="c"), "lower must be 1 numbers"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_importing_and_drawing_leave_pyplot_and_its_settings_alone():
    script = (
        "import sys, matplotlib; before = matplotlib.rcParams.copy()\n"
        "from featavg.figures import heatmap; heatmap([[1.0]], caption='c').draw_without_rendering()\n"
        "print('matplotlib.pyplot' in sys.modules, before == matplotlib.rcParams.copy())"
    )
    assert subprocess.check_output([sys.executable, "-c", script], text=True).split() == ["False", "True"]


def test_numbers_at_a_logarithmic_axis_are_plain_and_take_no_more_room_than_they_need() -> None:
    figure = curves([1.0, 2.0], [0.04, 0.3], caption="Less than a decade.", log_y=True, y_label="angle")
    axes = figure.axes[0]
    shown = [label.get_text() for label in axes.get_yticklabels()]
    assert {"0.05", "0.1", "0.2"} <= set(shown)
    assert axes.get_position().x0 * figure.get_figwidth() < 1.0  # inches


def test_a_dashed_line_shows_the_one_that_it_lies_on() -> None:
    figure = curves([0, 1], [[0.0, 1.0], [0.0, 1.0]], caption="Two.", labels=["seen", "law"], dashed=["law"])
    assert [line.get_linestyle() for line in figure.axes[0].get_lines()] == ["-", "--"]
