"""Downloads: whole, broken, resumed, refused; all against a server on the loopback address."""

from __future__ import annotations

import gzip
import hashlib
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from featavg.data.fetching import download as downloading
from featavg.data.fetching import fetch
from featavg.data.fetching.download import download
from featavg.data.idx import decode
from featavg.data.image_set import Content, ImageSet, Package, SourceError
from featavg.errors import InputError

BODY = np.random.default_rng(0).bytes(100_000)


class Server(ThreadingHTTPServer):
    """Serves `files`; breaks off after `break_after` bytes of each answer; `ranges` says whether it can resume."""

    files: dict[str, bytes]
    break_after: int | None = None
    ranges = True
    asked: list[tuple[str, str | None]]

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        name, wanted = self.path.lstrip("/"), self.headers["Range"]
        self.server.asked.append((name, wanted))
        body = self.server.files.get(name)
        if body is None:
            self.send_error(404)
            return
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and self.server.ranges else 0
        if start >= len(body):
            self.send_error(416)
            return
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(body) - start))
        self.end_headers()
        self.wfile.write(body[start:][: self.server.break_after])

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(("127.0.0.1", 0), Handler) as running:
        running.files, running.asked = {"data.gz": BODY}, []
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def test_a_download_reports_its_bytes(server: Server, tmp_path: Path) -> None:
    seen: list[tuple[str, int, int | None]] = []
    download(server.address + "data.gz", tmp_path / "data", tmp_path / "part", lambda *step: seen.append(step))
    assert (tmp_path / "data").read_bytes() == BODY
    assert seen[-1] == ("data.gz", len(BODY), len(BODY))


@pytest.mark.parametrize("ranges", [True, False])
def test_a_broken_download_is_resumed(server: Server, tmp_path: Path, ranges: bool) -> None:
    target, part = tmp_path / "data", tmp_path / "part"
    server.break_after, server.ranges = 70_000, ranges
    with pytest.raises(SourceError, match="the connection broke after 70000 of 100000 bytes"):
        download(server.address + "data.gz", target, part)
    assert not target.exists()
    assert part.stat().st_size == 70_000
    server.break_after = None
    download(server.address + "data.gz", target, part)
    assert target.read_bytes() == BODY  # a server that cannot resume sends all of it, from the start
    assert not part.exists()
    assert server.asked[-1] == ("data.gz", "bytes=70000-")


def test_ctrl_c_keeps_what_came(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(downloading, "CHUNK", 30_000)

    def interrupt(what: str, done: int, total: int | None) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        download(server.address + "data.gz", tmp_path / "data", tmp_path / "part", interrupt)
    assert not (tmp_path / "data").exists()
    assert (tmp_path / "part").read_bytes() == BODY[:30_000]


def test_a_part_longer_than_the_file_is_thrown_away(server: Server, tmp_path: Path) -> None:
    (tmp_path / "part").write_bytes(BODY + b"more")
    download(server.address + "data.gz", tmp_path / "data", tmp_path / "part")
    assert (tmp_path / "data").read_bytes() == BODY


def test_a_missing_file_says_so(server: Server, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="Not Found"):
        download(server.address + "nothing.gz", tmp_path / "data", tmp_path / "part")
    assert list(tmp_path.iterdir()) == []


def test_a_silent_server_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(downloading, "TIMEOUT", 0.2)
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as silent, pytest.raises(SourceError, match="timed out"):
        # It listens and never answers.
        download(f"http://127.0.0.1:{silent.server_address[1]}/x", tmp_path / "data", tmp_path / "part")


@pytest.fixture
def mirrored(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, add_set: Callable[[ImageSet], None]
) -> Server:
    """A set of one file behind a dead mirror and a live one, with no package client."""
    known = Content("data", len(BODY), hashlib.sha256(BODY).hexdigest())
    other = Content("labels", 3, hashlib.sha256(b"abc").hexdigest())
    server.files = {"data.gz": gzip.compress(BODY), "labels.gz": gzip.compress(b"abc")}
    made = ImageSet(
        name="one",
        shape=(1,),
        class_names=("a",),
        decode=decode,
        train=(known, other),
        test=(),
        mirrors=("http://127.0.0.1:9/", server.address),
        archives=("data.gz", "labels.gz"),
        package=Package("npm", "one@1"),
    )
    add_set(made)
    monkeypatch.setenv("FEATAVG_CACHE", str(tmp_path))
    monkeypatch.delenv("FEATAVG_DATA", raising=False)
    monkeypatch.setenv("PATH", "")
    return server


def test_the_next_mirror_is_asked(mirrored: Server, tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "old.gz.part").touch()  # of no use once all is there
    fetch("one")
    assert (tmp_path / "one" / "data").read_bytes() == BODY
    assert sorted(path.name for path in (tmp_path / "one").iterdir()) == ["data", "labels"]


def test_fetching_again_goes_on_where_it_broke(mirrored: Server, tmp_path: Path) -> None:
    del mirrored.files["labels.gz"]
    mirrored.break_after = 60_000
    with pytest.raises(InputError, match="the connection broke after 60000 of"):
        fetch("one")
    assert [path.name for path in (tmp_path / "one").iterdir()] == ["data.gz.part"]
    mirrored.break_after = None
    with pytest.raises(InputError, match="Not Found"):
        fetch("one")
    assert mirrored.asked[-2:] == [("data.gz", "bytes=60000-"), ("labels.gz", None)]
    mirrored.files["labels.gz"] = gzip.compress(b"abc")
    fetch("one")
    assert mirrored.asked[-1] == ("labels.gz", None)  # the file that was whole is not asked for again


def test_a_wrong_download_is_not_resumed_from(mirrored: Server, tmp_path: Path) -> None:
    mirrored.files["data.gz"] = gzip.compress(BODY[::-1])
    with pytest.raises(InputError, match=r"data.gz does not hold the published content"):
        fetch("one")
    assert list((tmp_path / "one").iterdir()) == []
    mirrored.files["data.gz"] = gzip.compress(BODY)
    fetch("one")
    assert mirrored.asked[-2] == ("data.gz", None)
