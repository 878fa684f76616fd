"""Who waits is told how far it is, on stderr, and nobody else is."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import featavg as fa
from featavg.progress import Progress, on_screen


def last_lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    shown = capsys.readouterr()
    assert shown.out == ""
    return [line.strip() for line in shown.err.replace("\n", "\r").split("\r") if line.strip()]


def test_radii_say_how_many_are_done_if_asked(capsys: pytest.CaptureFixture[str]) -> None:
    data = fa.sample_clusters(clusters=4, dim=100, samples=10, seed=0)
    network = fa.averaging_network(data)
    quiet = fa.robust_radius(network, data.x, data.y)
    assert last_lines(capsys) == []
    told = fa.robust_radius(network, data.x, data.y, progress=True)
    assert last_lines(capsys)[-1] == "100% 10 of 10 points"
    assert np.array_equal(told.upper, quiet.upper)


def test_a_fit_says_what_it_tries_if_asked(capsys: pytest.CaptureFixture[str]) -> None:
    data = fa.sample_clusters(clusters=4, dim=100, samples=60, seed=0)
    quiet = fa.SubclassClassifier((1, 2), max_steps=10, random_state=0).fit(data.x, data.y)
    assert last_lines(capsys) == []
    told = fa.SubclassClassifier((1, 2), max_steps=10, random_state=0).fit(data.x, data.y, verbose=True)
    lines = last_lines(capsys)
    assert lines[0].startswith("0% 1 sub-class per class, part 1 held out")
    assert lines[-1] == f"100% {len(quiet.class_of_)} sub-classes in all"
    assert np.array_equal(told.predict(data.x), quiet.predict(data.x))


def test_a_line_on_the_screen_is_written_over_and_ends(capsys: pytest.CaptureFixture[str]) -> None:
    tell = on_screen()
    for number in range(1000):
        tell(number / 1000, "x" * 200)
    tell(1.0, "done")
    shown = capsys.readouterr().err
    assert shown.endswith("\n")
    assert shown.count("\r") < 20  # not a line for each
    assert max(map(len, shown.split("\r"))) < 80


def told_by(work: Callable[[Progress], object]) -> list[str]:
    """What is worked on, in order; no share is smaller than the one before."""
    told: list[tuple[float, str]] = []
    work(lambda share, what: told.append((share, what)))
    shares = [share for share, _ in told]
    assert shares == sorted(shares)
    assert 0 <= shares[0] <= shares[-1] <= 1
    return [what for _, what in told]


def test_refinement_says_which_choice_is_tried() -> None:
    data = fa.sample_clusters(clusters=4, dim=30, samples=100, seed=0, coordinates="ambient")
    what = told_by(lambda tell: fa.refine_points(data.x, data.y, n_subclasses=(1, 2), progress=tell))
    for split in (1, 2, 3):
        for count in ("1 sub-class", "2 sub-classes"):
            assert f"split {split} of 3, {count} per class, part 1 held out" in what
        assert f"split {split} of 3, training on the labels as they are" in what
    assert what[-1] == "done"


def test_a_diagnosis_says_which_choice_is_tried() -> None:
    data = fa.sample_clusters(clusters=4, dim=30, samples=100, seed=0, coordinates="ambient")
    what = told_by(lambda tell: fa.diagnose(fa.averaging_network(data), data.x, data.y, progress=tell))
    assert "finer labels, split 1 of 3, 1 sub-class per class, part 1 held out" in what
    assert any(one.startswith("coarse labels, split 3 of 3") for one in what)
