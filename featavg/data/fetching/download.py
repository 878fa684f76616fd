"""One file over HTTP, resumed where an earlier try broke off."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from featavg.data.image_set import Progress, SourceError

TIMEOUT = 8.0  # seconds without an answer; offline machines must hear so soon, and a live server sends something
CHUNK = 1 << 18
DISK_FULL = (errno.ENOSPC, errno.EDQUOT)


def download(url: str, target: Path, part: Path, progress: Progress | None = None) -> None:
    """Download `url` to `target`; if that breaks, what came is kept as `part` and the next call goes on from there."""
    # Taking `part` by renaming it means that two processes never write into one file.
    with suppress(FileNotFoundError):
        os.replace(part, target)
    whole = False
    try:
        _receive(url, target, progress)
        whole = True
    except (OSError, HTTPException) as error:
        if isinstance(error, OSError) and error.errno in DISK_FULL:
            raise
        raise SourceError(f"{getattr(error, 'reason', None) or error or type(error).__name__}") from None
    finally:
        if not whole and target.exists():
            os.replace(target, part)


def _receive(url: str, target: Path, progress: Progress | None) -> None:
    have = target.stat().st_size if target.exists() else 0
    try:
        response = _open(url, have)
    except HTTPError as error:
        if error.code != 416:  # 416: nothing lies beyond what we have, so that was not a part of this file
            raise
        response = _open(url, 0)
    with response:
        have = have if response.status == 206 else 0
        length = response.headers["Content-Length"]
        total = have + int(length) if length else None
        with open(target, "ab" if have else "wb") as file:
            while chunk := response.read(CHUNK):
                file.write(chunk)
                have += len(chunk)
                if progress:
                    progress(url.rpartition("/")[2], have, total)
    if total is not None and have < total:
        raise ConnectionError(f"the connection broke after {have} of {total} bytes")


def _open(url: str, start: int) -> HTTPResponse:
    request = Request(url, headers={"User-Agent": "featavg"})
    if start:
        request.add_header("Range", f"bytes={start}-")
    response: HTTPResponse = urlopen(request, timeout=TIMEOUT)
    return response
