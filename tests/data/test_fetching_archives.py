"""Content out of its carriers: sprites, gzip, idx."""

from __future__ import annotations

import gzip
import hashlib
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from featavg.data import image_set
from featavg.data.fetching import archives
from featavg.data.fetching.archives import find, rebuild_batch
from featavg.data.idx import read_idx
from featavg.data.image_set import Content, SourceError

PIXELS = np.random.default_rng(0).integers(256, size=(4, 1024, 3), dtype=np.uint8)  # one image a row, channel last
LABELS = [7, 1, 0, 2]
# Written out independently of the code under test: label byte, then the red, green and blue planes.
OFFICIAL = b"".join(bytes([y]) + image.T.tobytes() for y, image in zip(LABELS, PIXELS, strict=True))


@pytest.fixture
def sprites(tmp_path: Path) -> Path:
    """A folder of two sprites of two images each, and their labels in one file, as the npm package has them."""
    package = tmp_path / "package"
    package.mkdir()
    for i in range(2):
        Image.fromarray(PIXELS[2 * i : 2 * i + 2]).save(package / f"data_batch_{i + 1}.png")
    (package / "train_lables.json").write_text(json.dumps(LABELS))
    return tmp_path


TINY = replace(image_set("cifar10"), labels={f"data_batch_{i + 1}": ("train_lables.json", 2 * i) for i in range(2)})
SECOND = Content("data_batch_2.bin", len(OFFICIAL) // 2, hashlib.sha256(OFFICIAL[len(OFFICIAL) // 2 :]).hexdigest())


def test_sprites_become_the_official_layout(sprites: Path) -> None:
    assert find([sprites], TINY, SECOND) == OFFICIAL[len(OFFICIAL) // 2 :]


def test_labels_of_another_batch_are_noticed(sprites: Path) -> None:
    (sprites / "package" / "train_lables.json").write_text(json.dumps(LABELS[::-1]))
    with pytest.raises(SourceError, match=r"data_batch_2.png does not hold the published content"):
        find([sprites], TINY, SECOND)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (None, "has no train_lables.json beside it"),
        ("[1, 2", "train_lables.json is corrupt"),
        ('["a", "b", "c", "d"]', "train_lables.json is corrupt"),
        ("[1, 2, 3]", "has 2 images and 1 labels"),
    ],
)
def test_missing_or_broken_labels_are_named(sprites: Path, text: str | None, complaint: str) -> None:
    labels = sprites / "package" / "train_lables.json"
    labels.unlink() if text is None else labels.write_text(text)
    with pytest.raises(SourceError, match=complaint):
        find([sprites], TINY, SECOND)


def test_a_truncated_sprite_is_refused(sprites: Path) -> None:
    sprite = sprites / "package" / "data_batch_1.png"
    sprite.write_bytes(sprite.read_bytes()[:-400])
    with pytest.raises(SourceError, match=r"data_batch_1.png is corrupt, incomplete"):
        rebuild_batch(sprite, LABELS)


def test_a_gzip_bomb_is_not_inflated(tmp_path: Path) -> None:
    (tmp_path / "x.gz").write_bytes(gzip.compress(bytes(10_000_000)))
    assert len(archives._read(tmp_path / "x.gz", 100)) == 101


def test_idx_axes_are_big_endian() -> None:
    values = np.arange(600, dtype=np.uint8).reshape(300, 1, 2)
    header = bytes([0, 0, 8, 3, 0, 0, 1, 44, 0, 0, 0, 1, 0, 0, 0, 2])
    np.testing.assert_array_equal(read_idx(header + values.tobytes()), values)
