"""Files are whole or not there: under errors, kills, links, pipes and two writers at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from featavg.errors import InputError
from featavg.files import check_place, whole_file, write_all, write_whole


def break_off(path: Path) -> None:
    with whole_file(path) as file:
        file.write(b"half")
        raise RuntimeError("broken off")


def test_a_file_is_replaced_only_when_its_block_has_ended(tmp_path: Path) -> None:
    path = tmp_path / "kept"
    write_whole(path, "before")
    with pytest.raises(RuntimeError, match="broken off"):
        break_off(path)
    assert path.read_text() == "before"
    assert os.listdir(tmp_path) == ["kept"]
    with whole_file(path) as file:
        file.write(b"after")
        assert path.read_text() == "before"
    assert path.read_text() == "after"


def test_files_that_belong_together_are_moved_in_order_and_all_or_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved: list[str] = []
    replace = os.replace
    monkeypatch.setattr(os, "replace", lambda a, b: (moved.append(Path(b).name), replace(a, b)))
    write_all({tmp_path / "first": b"1", tmp_path / "second": b"2"})
    assert moved == ["first", "second"]
    with pytest.raises(InputError, match="is a folder"):
        write_all({tmp_path: b"1", tmp_path / "first": b"new"})
    assert (tmp_path / "first").read_bytes() == b"1"


def test_a_link_stays_a_link_and_a_pipe_is_refused(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_whole(tmp_path / "link", "text")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "text"
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/null")):
        for write in (lambda place: write_whole(place, "text"), check_place):
            with pytest.raises(InputError, match="pipe or a device"):
                write(path)
    assert sorted(os.listdir(tmp_path)) == ["link", "pipe", "real"]


def test_places_that_cannot_be_written_are_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"cannot write .*file/below"):
        write_whole(tmp_path / "file" / "below", "text")
    with pytest.raises(InputError, match=r"must end in \.npz"):
        check_place(tmp_path / "model.txt", ".npz")
    check_place(tmp_path / "new" / "model.npz", ".npz")
    assert os.listdir(tmp_path / "new") == []


KILLED = """
import sys, time
from featavg.files import whole_file
with whole_file(sys.argv[1]) as file:
    file.write(b"half")
    print("writing", flush=True)
    time.sleep(60)
"""


def test_the_next_writer_removes_what_a_killed_one_left(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    writer = subprocess.Popen([sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE)
    assert writer.stdout is not None
    writer.stdout.readline()
    write_whole(path, "by another writer")  # whose file beside is still needed, so it stays
    assert len(os.listdir(tmp_path)) == 2
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    writer.stdout.close()
    time.sleep(0.05)
    assert len(os.listdir(tmp_path)) == 2
    write_whole(path, "again")
    assert os.listdir(tmp_path) == ["page.html"]
