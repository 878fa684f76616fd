"""Killed writers leave whole files: a few of the campaign's kills, and a writer that does not."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest

from campaign.kills import WORKS, killed, shared, with_read_only_home, without_room
from featavg.data import SETS

QUICK = ("classifiers", "networks", "brackets", "records", "cache")


@pytest.mark.parametrize("name", QUICK)
def test_a_killed_writer_leaves_whole_files_and_the_next_one_nothing_else(name: str) -> None:
    assert killed(name, 8) == {}


@pytest.mark.parametrize("name", QUICK)
def test_two_writers_share_a_folder(name: str) -> None:
    assert shared(name) == {}


@pytest.mark.parametrize("name", QUICK)
def test_a_full_disk_ends_in_a_sentence_and_changes_nothing(name: str) -> None:
    assert without_room(name) == {}


def test_a_read_only_home_changes_nothing() -> None:
    assert with_read_only_home("records") == {}


def test_what_a_killed_fetch_left_is_gone_after_the_next_even_if_nothing_is_missing(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    write, _ = WORKS["cache"](folder)
    write()
    whole = sorted(path.name for path in folder.iterdir())
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    (folder / f".scratch-{gone.pid}-x").mkdir()
    write()
    assert sorted(path.name for path in folder.iterdir()) == whole == ["test", "train"]
    assert folder.name not in SETS


def test_the_campaign_sees_a_writer_that_writes_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    @contextlib.contextmanager
    def in_place(path: Path) -> Iterator[IO[bytes]]:
        with open(path, "wb") as file:
            file.flush()
            yield file

    monkeypatch.setattr("featavg.model.files.whole_file", in_place, raising=False)
    monkeypatch.setattr("featavg.files.whole_file", in_place)
    assert without_room("networks") != {}
    assert "networks" in WORKS
