"""Image sets as points: shapes, tasks, splits, and what is refused; digits are the real ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

from featavg.data import SETS, Dataset, coarse_task, fetch, image_set, load_images, load_pixels
from featavg.errors import InputError
from featavg.model import MulticlassNetwork


def test_digits_are_split_once_and_for_all() -> None:
    train, test = load_images("digits", "train"), load_images("digits", "test")
    assert (len(train), len(test)) == (1437, 360)
    everything = np.concatenate([train.x, test.x])
    whole = load_digits().data / 16
    np.testing.assert_array_equal(np.unique(everything, axis=0), np.unique(whole, axis=0))
    assert len(everything) == len(whole)
    share = np.bincount(test.cluster) / np.bincount(load_digits().target)
    np.testing.assert_allclose(share, 0.2, atol=0.01)  # every class is split alike
    np.testing.assert_array_equal(load_images("digits", "test").x, test.x)


def test_points_are_in_the_unit_box_and_images_in_shape() -> None:
    data = load_images("digits")
    assert data.x.dtype == np.float64
    assert (data.x.min(), data.x.max()) == (0.0, 1.0)
    assert data.images.shape == (1437, 8, 8)
    assert data.coordinates == "ambient"
    np.testing.assert_array_equal(data.images[5].ravel(), data.x[5])


@pytest.mark.parametrize(
    ("task", "positive"),
    [("parity", [0, 2, 4, 6, 8]), ("halves", [0, 1, 2, 3, 4]), ([3, 7], [3, 7]), (["3", 7], [3, 7])],
)
def test_a_task_labels_its_classes(task: str | list[int | str], positive: list[int]) -> None:
    data = load_images("digits", task=task)
    np.testing.assert_array_equal(data.y, np.where(np.isin(data.cluster, positive), 1, -1))
    np.testing.assert_array_equal(data.center_labels[data.cluster], data.y)


@pytest.mark.parametrize(
    ("task", "complaint"),
    [
        ("thirds", "task must be parity, halves or a list of the classes that are"),
        ([10], "its number 0 ... 9, got 10"),
        ([-1], "its number 0 ... 9, got -1"),
        (["ten"], "got 'ten'"),
        ([], "both coarse classes need a class, got 0 of 10"),
        (range(10), "got 10 of 10"),
    ],
)
def test_an_impossible_task_is_refused(task: str | list[int | str], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        load_images("digits", task=task)


def test_classes_go_by_name() -> None:
    labels = coarse_task(["cat", "dog"], image_set("cifar10").class_names)
    assert np.flatnonzero(labels > 0).tolist() == [3, 5]


def test_a_draw_is_without_repetition_and_by_seed() -> None:
    whole = load_images("digits")
    drawn = load_images("digits", samples=200, seed=1)
    assert len(drawn) == len(drawn.y) == len(drawn.cluster) == 200
    rows = {row.tobytes(): label for row, label in zip(whole.x, whole.cluster, strict=True)}
    assert len({row.tobytes() for row in drawn.x}) == 200
    assert all(rows[row.tobytes()] == label for row, label in zip(drawn.x, drawn.cluster, strict=True))
    np.testing.assert_array_equal(load_images("digits", samples=200, seed=1).x, drawn.x)
    assert not np.array_equal(load_images("digits", samples=200, seed=2).x, drawn.x)


@pytest.mark.parametrize("samples", [0, 361])
def test_more_than_there_are_cannot_be_drawn(samples: int) -> None:
    with pytest.raises(InputError, match=f"samples must lie in 1 ... 360, the test part of digits, got {samples}"):
        load_images("digits", "test", samples=samples)


def test_a_small_draw_keeps_all_classes_of_the_task() -> None:
    few: Dataset = load_images("digits", samples=3)
    assert MulticlassNetwork.random(few).second.shape[0] == 10  # though three points have at most three classes


def test_unknown_names_and_parts_are_refused() -> None:
    with pytest.raises(InputError, match="image sets are cifar10, digits, fashion-mnist, mnist; got 'svhn'"):
        load_images("svhn")
    with pytest.raises(InputError, match="part must be train or test, got 'valid'"):
        load_pixels("digits", "valid")  # type: ignore[arg-type]


def test_without_download_the_command_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FEATAVG_CACHE", str(tmp_path))
    with pytest.raises(InputError, match=r"mnist is not in .*; run `featavg data fetch mnist` first"):
        load_images("mnist", download=False)


def test_the_catalogue_is_consistent() -> None:
    for known in map(image_set, SETS):
        assert len(known.class_names) == 10
        assert len({content.sha256 for content in known.contents}) == len(known.contents)
        assert all(len(content.sha256) == 64 for content in known.contents)
        assert all(address.endswith("/") for address in known.mirrors)
    assert image_set("mnist").size == 70_000 * 785 + 48
    assert image_set("cifar10").size == 60_000 * 3073


def test_names_to_fetch_are_checked() -> None:
    with pytest.raises(InputError, match="image sets are cifar10, digits, fashion-mnist, mnist; got 'imagenet'"):
        fetch("imagenet")
    with pytest.raises(InputError, match="digits comes with scikit-learn"):
        fetch("digits")
