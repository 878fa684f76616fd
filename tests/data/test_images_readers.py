"""A user's own data: npz, CSV, folders of images; and one sentence for everything that is wrong with them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from featavg.data import dataset, read_points
from featavg.data.readers import images
from featavg.errors import InputError


def picture(path: Path, value: int = 0, size: tuple[int, int] = (3, 2), mode: str = "L") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new(mode, size, value if mode == "L" else (value, 0, 0)).save(path)


def text(path: Path, body: str) -> Path:
    path.write_text(body, encoding="utf-8")
    return path


def test_npz_round_trip(tmp_path: Path) -> None:
    x, y, fine = np.arange(8.0).reshape(4, 2), np.array([3, 7, 3, 7]), np.array(["a", "b", "c", "b"])
    np.savez(tmp_path / "d.npz", x=x, y=y, sublabels=fine)
    data = read_points(tmp_path / "d.npz")
    np.testing.assert_array_equal(data.x, x)
    np.testing.assert_array_equal(data.labels.codes, [0, 1, 0, 1])
    np.testing.assert_array_equal(data.y, y)  # as a scikit-learn model knows them
    assert data.fine_names == ("a", "b", "c")
    np.testing.assert_array_equal(data.known_fine().codes, [0, 1, 2, 1])


def test_npz_names_can_be_chosen_and_images_are_scaled(tmp_path: Path) -> None:
    np.savez(tmp_path / "d.npz", x=np.full((2, 3, 4), 255, dtype=np.uint8), kind=["a", "b"])
    data = read_points(tmp_path / "d.npz", label="kind")
    assert data.shape == (3, 4)
    np.testing.assert_array_equal(data.x, np.ones((2, 12)))
    assert data.fine is None
    assert data.fine_names == ()


@pytest.mark.parametrize(
    ("arrays", "complaint"),
    [
        ({"x": np.eye(2)}, "d.npz must hold an array 'y', got x"),
        ({"y": [1, 2]}, "d.npz must hold an array 'x', got y"),
        ({"x": np.eye(2), "y": [1, 2, 3]}, r"labels must be one for each of 2 points, got shape \(3,\)"),
        ({"x": np.eye(2), "y": [0.5, 1.5]}, "labels must be strings or whole numbers, got fractions"),
        ({"x": np.eye(2), "y": ["a", "a"]}, "labels must hold at least 2 classes, got only 'a'"),
        ({"x": np.eye(2), "y": ["a", ""]}, "labels must be given for every point, got 1 empty"),
        ({"x": np.array([[np.nan], [1]]), "y": [1, 2]}, "x must be finite, got 1 NaN"),
        ({"x": np.zeros(2), "y": [1, 2]}, r"x in d.npz must be \(sample, axis\) or images"),
        ({"x": np.eye(2), "y": [1, 2], "sublabels": [1]}, "sub-labels must be one for each of 2 points"),
        (
            {"x": np.array([[1, "a"]], dtype=object), "y": [1]},
            "d.npz must hold plain arrays, got pickled objects, which",
        ),
        ({"x": np.zeros((0, 2)), "y": np.zeros(0)}, "data must hold at least one point"),
    ],
)
def test_a_wrong_npz_is_refused(tmp_path: Path, arrays: dict[str, object], complaint: str) -> None:
    np.savez(tmp_path / "d.npz", **arrays)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=complaint):
        read_points(tmp_path / "d.npz")


@pytest.mark.parametrize("damage", ["cut", "flip", "npy"])
def test_a_damaged_npz_is_refused(tmp_path: Path, damage: str) -> None:
    np.savez_compressed(tmp_path / "d.npz", x=np.eye(9), y=np.arange(9))
    data = bytearray((tmp_path / "d.npz").read_bytes())
    if damage == "flip":
        data[40:90] = bytes(50)  # inside the compressed stream
    (tmp_path / "d.npz").write_bytes(data[:300] if damage == "cut" else data)
    if damage == "npy":
        with open(tmp_path / "d.npz", "wb") as file:
            np.save(file, np.eye(2))
    with pytest.raises(InputError, match=r"d.npz must be a whole npz file, got one that is not"):
        read_points(tmp_path / "d.npz")


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_csv_with_label_columns(tmp_path: Path, delimiter: str) -> None:
    rows = [
        ["even", "a", "digit", "b"],
        ["no", "1", "10", "2.5"],
        ["yes", "-3e2", "2", '"4"'],
        [],
        ["no", "0", "9", "0"],
    ]
    path = text(tmp_path / "d.csv", "\ufeff" + "\n".join(delimiter.join(row) for row in rows))
    data = read_points(path, label="even", sublabel="digit")
    np.testing.assert_array_equal(data.x, [[1, 2.5], [-300, 4], [0, 0]])
    assert data.class_names == ("no", "yes")
    assert data.fine_names == ("2", "9", "10")  # numbers sort as numbers
    np.testing.assert_array_equal(data.between("yes").y, [-1, 1, -1])


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ("a,b\n1,2\n", "d.csv must have one column 'label', got 0 among a, b; name the column of labels"),
        ("label,label,a\nx,y,1\n", "d.csv must have one column 'label', got 2"),
        ("label\nx\n", "d.csv must have columns of numbers beside its labels"),
        ("label,a\n", "d.csv must have a row for each point below its header, got none"),
        ("", "must have one column 'label', got 0"),
        ("label,a\nx,1\ny,two\n", "line 3 of d.csv must have a number in column 'a', got 'two'; fill it in"),
        ("label,a\nx,1\ny,\n", "line 3 of d.csv must have a number in column 'a', got ''"),
        ("label,a\nx,1\n\ny,1,5\n", "line 4 of d.csv must have 2 cells as the header, got 3"),
        ("label,a\nx,1\ny\n", "line 3 of d.csv must have 2 cells"),
        ("label,a\nx,1\ny,nan\n", "x must be finite, got 1 NaN"),
        ("label,a\nx,1\n,2\n", "labels must be given for every point, got 1 empty"),
        ("label,a\nx,1\ny,1_0\n", "d.csv must have plain decimal numbers"),
    ],
)
def test_a_wrong_csv_is_refused(tmp_path: Path, body: str, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        read_points(text(tmp_path / "d.csv", body))


@pytest.mark.parametrize("body", [b"lab\xffel,a\nx,1\n", b"label,a\nx\xff,1\n"])
def test_a_csv_in_another_encoding_is_refused(tmp_path: Path, body: bytes) -> None:
    (tmp_path / "d.csv").write_bytes(body)
    with pytest.raises(InputError, match=r"d.csv must be text in UTF-8"):
        read_points(tmp_path / "d.csv")


def test_a_folder_of_classes(tmp_path: Path) -> None:
    picture(tmp_path / "cat" / "1.png", 255)
    picture(tmp_path / "dog" / "1.PNG", 0)
    text(tmp_path / "dog" / "notes.txt", "not an image")
    data = read_points(tmp_path)
    assert data.class_names == ("cat", "dog")
    assert data.shape == (2, 3)
    np.testing.assert_array_equal(data.x, [np.ones(6), np.zeros(6)])
    with pytest.raises(InputError, match="needs a fine label for every point, got coarse labels only"):
        _ = data.cluster


def test_a_folder_of_sub_classes_that_share_names(tmp_path: Path) -> None:
    for names in ("cat/young", "cat/old", "dog/young"):
        picture(tmp_path / names / "1.png", mode="RGB")
    picture(tmp_path / "dog" / "young" / "grey.png", 51)
    data = read_points(tmp_path)
    assert data.shape == (2, 3, 3)
    np.testing.assert_allclose(data.x[-1], 0.2)  # grey beside colour: three equal channels
    assert data.fine_names == ("cat/old", "cat/young", "dog/young")
    np.testing.assert_array_equal(data.labels.signs, [-1, -1, 1, 1])
    np.testing.assert_array_equal(data.center_labels, ["cat", "cat", "dog"])


def test_images_of_two_sizes_are_refused(tmp_path: Path) -> None:
    picture(tmp_path / "cat" / "1.png")
    picture(tmp_path / "dog" / "2.png", size=(5, 4))
    with pytest.raises(InputError, match=r"one size, got 3 x 2 in .*1.png and 5 x 4 in .*2.png; resize them"):
        read_points(tmp_path)


def test_more_images_than_memory_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "LARGEST", 11)
    picture(tmp_path / "cat" / "1.png")
    picture(tmp_path / "dog" / "2.png")
    with pytest.raises(InputError, match=r"must fit in memory together, got 3 x 2 pixels in .*1.png"):
        read_points(tmp_path)


def test_wrong_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="must hold a folder of images for each class"):
        read_points(tmp_path)
    picture(tmp_path / "cat" / "1.png")
    with pytest.raises(InputError, match="leave the column of labels out"):
        read_points(tmp_path, label="kind")
    picture(tmp_path / "dog" / "pug" / "1.png")
    with pytest.raises(InputError, match="all in class folders or all in sub-class folders"):
        read_points(tmp_path)


def test_unreadable_images_are_named(tmp_path: Path) -> None:
    (tmp_path / "cat").mkdir()
    text(tmp_path / "cat" / "1.png", "no image")
    with pytest.raises(InputError, match=r"1.png must be an image, got one that cannot be read"):
        read_points(tmp_path)
    Image.fromarray(np.zeros((2, 2), dtype=np.uint16)).save(tmp_path / "cat" / "1.png")
    with pytest.raises(InputError, match="images must have 8 bits a channel, got mode I;16"):
        read_points(tmp_path)


def test_wrong_paths_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no data at"):
        read_points(tmp_path / "nothing.npz")
    with pytest.raises(InputError, match=r"must be an .npz, a .csv or a folder of images by class, got d.txt"):
        read_points(text(tmp_path / "d.txt", ""))


def test_a_binary_view_needs_two_sides() -> None:
    data = dataset(np.eye(3), ["a", "b", "c"], [0, 1, 2])
    with pytest.raises(InputError, match="a binary task needs 2 classes, got 3; say which is"):
        _ = data.labels.signs
    with pytest.raises(InputError, match=r"positive must be one of the classes \['a', 'b', 'c'\], got 'd'"):
        data.between("d")
    np.testing.assert_array_equal(data.between("b").y, [-1, 1, -1])
