"""Data by name or path: tasks of every set, what was read in words, and what looks wrong with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from featavg.data import dataset, describe, image_set, is_cached, open_data, remarks, sublabels_of
from featavg.errors import InputError


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which sets are asked for their files; each has two images of every class."""
    asked: list[str] = []

    def contents(known: Any, wanted: Any, *_: Any) -> list[bytes]:
        asked.append(known.name)
        labels = np.arange(20, dtype=np.uint8) % 10
        pixels = np.zeros((20, *known.shape), dtype=np.uint8)
        if known.name == "cifar10":
            return [np.column_stack([labels, pixels.reshape(20, -1)]).tobytes()]
        return [
            bytes([0, 0, 8, values.ndim]) + np.array(values.shape, dtype=">u4").tobytes() + values.tobytes()
            for values in (pixels, labels)
        ]

    monkeypatch.setattr("featavg.data.images.contents_of", contents)
    return asked


@pytest.mark.parametrize("name", ["mnist", "fashion-mnist", "cifar10"])
def test_classes_are_named_by_number_on_every_set(name: str, offline: list[str]) -> None:
    data = open_data(name, task="0,3,8", sublabels="class")
    positive = [image_set(name).class_names[number] for number in (0, 3, 8)]
    np.testing.assert_array_equal(data.y == 1, np.isin(sublabels_of(data), positive))
    assert open_data(name, task="3").y.tolist().count(1) == 2
    assert offline == [name, name]


@pytest.mark.parametrize("name", ["digits", "fashion-mnist", "cifar10"])
@pytest.mark.parametrize("task", ["0,3,10", "thirds", "0,,3", "-1,2", "0,1,2,3,4,5,6,7,8,9"])
def test_a_task_is_checked_before_anything_is_fetched(name: str, task: str, offline: list[str]) -> None:
    with pytest.raises(InputError, match=r"class|task"):
        open_data(name, task=task)
    assert offline == []


def test_digits_are_a_set_like_any_other() -> None:
    assert is_cached("digits")
    assert image_set("digits").brightest == 16
    assert open_data("digits").x.max() == 1.0


def write(path: Path, text: str) -> str:
    path.write_text(text)
    return str(path)


def test_what_was_read_is_told(tmp_path: Path) -> None:
    header = "id;u;v;w;z;kind\n"
    rows = "".join(f"{100 + i};{i % 3};{i % 2};0.5;{i % 4};{'ab'[i % 3 == 0]}\n" for i in range(12))
    path = write(tmp_path / "points.csv", header + rows)
    data = open_data(path, "kind", drop=["id"])
    assert describe(data, ["id"]) == "read 12 rows, 4 columns (u, v, w, …), classes a 8, b 4; ignored id"
    assert remarks(data) == []
    assert [told.split()[1] for told in remarks(open_data(path, "kind"))] == ["id"]
    assert "with 2 sub-labels" in describe(dataset(np.eye(2), [0, 1], ["p", "q"]))
    assert describe(dataset(np.eye(20), np.arange(20))).endswith("20 classes of 1 to 1 rows")


def test_numbers_of_rows_are_told_from_features() -> None:
    rng = np.random.default_rng(0)
    count = 40
    columns = {
        "row": rng.permutation(count),  # without gaps, in any order
        "patient_id": rng.permutation(10**6)[:count],
        "year": np.sort(rng.permutation(10**6)[:count]),  # in order: suspicious, and told
        "age": rng.integers(20, 90, count),  # repeats
        "weight": rng.normal(70, 5, count),
        "charge": rng.permutation(10**6)[:count],  # whole and different, and nothing else
    }
    data = dataset(np.column_stack(list(columns.values())), np.arange(count) % 2, feature_names=list(columns))
    assert [told.split()[1] for told in remarks(data)] == ["row", "patient_id", "year"]


def test_folders_of_parts_and_bright_pixels_are_noticed(tmp_path: Path) -> None:
    for part in ("train", "test"):
        (tmp_path / part).mkdir()
        Image.fromarray(np.zeros((2, 2), dtype=np.uint8)).save(tmp_path / part / "a.png")
    (told,) = remarks(open_data(str(tmp_path)))
    assert "called test and train, as parts of one data set are" in told
    bright = dataset(np.full((2, 4), 200.0), [0, 1], shape=(2, 2))
    assert "go from 200 to 200, not from 0 to 1" in remarks(bright)[0]


def test_bytes_without_an_image_shape_are_noticed_and_other_whole_numbers_are_not(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    pixels = np.zeros((40, 6, 6))
    pixels[:, 1:-1, 1:-1] = rng.integers(0, 256, size=(40, 4, 4))  # a frame that is always black, as in MNIST
    np.savez(tmp_path / "d.npz", x=pixels.reshape(40, -1), y=np.arange(40) % 2)
    (told,) = remarks(open_data(str(tmp_path / "d.npz")))
    assert told.startswith("the values look like pixels that go from 0 to 25")
    ages = rng.integers(0, 90, size=(40, 36))
    ages[:, 0] = rng.integers(100, 250, size=40)  # one column of cholesterol makes no image
    assert remarks(dataset(ages, np.arange(40) % 2)) == []


@pytest.mark.parametrize(
    ("cell", "remedy"),
    [("", "leave the column out (--drop u)"), ("1,5", "write decimals with a point"), ("M", "(--label u)?")],
)
def test_a_cell_that_is_no_number_is_told_with_what_helps(tmp_path: Path, cell: str, remedy: str) -> None:
    with pytest.raises(InputError) as caught:
        open_data(write(tmp_path / "d.csv", f"label;u\na;1\nb;{cell}\n"))
    assert remedy in str(caught.value)
    with pytest.raises(InputError, match=r"first in column 'u'; fill them in, or leave the column out \(--drop u\)"):
        open_data(write(tmp_path / "d.csv", "label;u\na;1\nb;nan\n"))
    with pytest.raises(InputError, match="one column 'nothing', got 0 among label, u; name one that is there"):
        open_data(write(tmp_path / "d.csv", "label;u\na;1\nb;2\n"), drop=["nothing"])


def test_names_of_columns_can_be_copied_to_a_shell_and_the_last_one_is_shown(tmp_path: Path) -> None:
    wide = ["mean area", *"abcdefgh", "kind"]
    table = ",".join(wide) + "\n" + ",".join(["", *"12345678", "x"]) + "\n"
    with pytest.raises(InputError, match=r"among mean area, a, b, c, d, e, f, \.\.\., kind; name the column of labels"):
        open_data(write(tmp_path / "d.csv", table))
    with pytest.raises(InputError, match=r"leave the column out \(--drop 'mean area'\)$"):
        open_data(write(tmp_path / "d.csv", table), label="kind")
