"""Damaged files end in their content or in one sentence: a few of the campaign's cases, and those that did not once."""

from __future__ import annotations

import gc
import io
import os
import resource
import struct
import subprocess
import sys
import warnings
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from campaign.fuzz import MUTATIONS, Tally, fuzz, mutated, share_of, summed
from campaign.whole_files import READERS
from featavg import InputError, read_points
from featavg.npz import read_npz
from featavg.record import read_record

CASES = 60


@pytest.mark.parametrize("name", READERS)
def test_damaged_files_are_read_or_refused_in_one_sentence(name: str) -> None:
    tally = fuzz(name, CASES)
    assert tally.wrong == {}, tally.examples
    assert tally.read + tally.refused == CASES
    assert tally.refused > CASES / 3  # the mutants are damaged indeed


def test_the_campaign_sees_a_reader_that_breaks(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(path: Path) -> object:
        return np.load(path)["x"].shape

    whole = READERS["npz data"]
    monkeypatch.setitem(READERS, "npz data", lambda folder: (whole(folder)[0], broken))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of files that NumPy left open
        assert sum(fuzz("npz data", CASES).wrong.values()) > CASES / 3
        gc.collect()


def test_the_campaign_sees_a_reader_that_takes_too_much_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = READERS["CSV data"]

    def greedy(path: Path) -> object:
        return path.read_bytes().startswith(b"a,b") or bytearray(2**30)  # zeros: only declared

    monkeypatch.setitem(READERS, "CSV data", lambda folder: (whole(folder)[0], greedy))
    assert fuzz("CSV data", CASES).wrong["MemoryError"] > 0


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(160, id="a shape of biases that does not fit"),
        pytest.param(400, id="a node whose name has two lines"),
        pytest.param(6416, id="a type that there is not"),
    ],
)
def test_an_onnx_file_that_broke_its_reader_once_is_refused(case: int) -> None:
    tally = fuzz("networks as ONNX", 1, case)
    assert (tally.refused, tally.wrong) == (1, {})


def test_a_damaged_skops_file_that_quotes_itself_is_refused_in_a_short_sentence(tmp_path: Path) -> None:
    whole, read = READERS["networks as skops"](tmp_path)
    (path,) = whole
    with zipfile.ZipFile(path) as archive:
        place = archive.getinfo("schema.json").header_offset
    length = struct.pack("<H", 3000)  # of the name of the first member, in its own header
    path.write_bytes(whole[path][: place + 26] + length + whole[path][place + 28 :])
    with pytest.raises(InputError) as caught:
        read(path)
    assert len(str(caught.value)) < 400


def test_whole_files_are_the_same_every_time(tmp_path: Path) -> None:
    for place in ("a", "b"):
        (tmp_path / place).mkdir()
    one, two = (list(READERS["networks as skops"](tmp_path / place)[0].values()) for place in ("a", "b"))
    assert one == two


def test_shares_of_a_reader_are_its_cases_in_order() -> None:
    rows = [share_of("CSV data", 30, seed) for seed in (0, 1)]
    whole, parts = fuzz("CSV data", 60), summed([Tally.read_from(row) for row in rows])
    assert (parts.read, parts.refused, parts.wrong) == (whole.read, whole.refused, whole.wrong)


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.__name__)
def test_every_mutation_changes_something_even_of_nothing(mutation: Any) -> None:
    data = bytes(range(200))
    changed = [mutation(data, np.random.default_rng(seed)) for seed in range(20)]
    assert sum(one != data for one in changed) > 15
    assert isinstance(mutation(b"", np.random.default_rng(0)), bytes)
    assert mutated(data, np.random.default_rng(3)) == mutated(data, np.random.default_rng(3))


def npz(header: str, data: bytes = b"", version: bytes = b"\x01\x00") -> bytes:
    """An archive of one array x with any header."""
    length = struct.pack("<H" if version[0] == 1 else "<I", len(header))
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", b"\x93NUMPY" + version + length + header.encode() + data)
    return file.getvalue()


def about(descr: str = "'<f8'", shape: str = "(2,)", fortran: str = "False") -> str:
    return f"{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}}}"


def test_what_numpy_wrote_is_read_the_same() -> None:
    arrays = {
        "empty": np.zeros((0, 3)),
        "scalar": np.array(7),
        "fortran": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        "swapped": np.arange(4, dtype=">i4"),
        "text": np.array(["a", "bärtig"]),
        "swapped_text": np.array(["a", "ö"]).astype(">U3"),
        "bytes": np.array([b"ab", b"c"]),
        "truth": np.array([True, False]),
        "half": np.arange(3, dtype=np.float16),
    }
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)  # type: ignore[arg-type]
    read = read_npz(file.getvalue())
    assert set(read) == set(arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(read[name], array)
        assert read[name].dtype.isnative


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (npz(about(shape="(999999999999,)")), "must hold whole arrays"),
        (npz(about(shape="(2, 3")), "damaged header"),
        (npz(about(shape="(-1,)")), "damaged header"),
        (npz(about(shape="(True,)")), "damaged header"),
        (npz(about(shape="(1,) * 40")), "damaged header"),
        (npz(about(shape=f"({'1,' * 40})"), bytes(8)), "damaged header"),
        (npz("(" * 9000), "damaged header"),
        (npz("{'descr': '<f8'}"), "damaged header"),
        (npz(about("'|O'")), "pickled objects, which could run code"),
        (npz(about("'<U0'", "(9999999999,)")), "arrays of numbers or text"),
        (npz(about("[('a', '<f8')]")), "arrays of numbers or text"),
        (npz(about("'<M8[s]'")), "arrays of numbers or text"),
        (npz(about("'no type'")), "arrays of numbers or text"),
        (npz(" " * 20_000, version=b"\x02\x00"), "a header of 20000 bytes"),
        (npz(about(), version=b"\x07\x00"), "version 1 to 3"),
        (npz(about("'<U1'", "(1,)"), b"\x00\xd8\x00\x00"), "code points that are none"),
        (npz(about("'<U1'", "(1,)"), b"\xff\xff\xff\x7f"), "code points that are none"),
        (npz(about(), bytes(16))[:-30], "a whole npz file"),
        (b"", "a whole npz file"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_headers_that_broke_numpy_or_its_users_are_refused(data: bytes, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        read_npz(data)


def png(width: int, height: int) -> bytes:
    """A tiny file that declares a huge picture."""
    chunks = [
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)),
        (b"IDAT", zlib.compress(b"")),
        (b"IEND", b""),
    ]
    packed = b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body)) for kind, body in chunks
    )
    return b"\x89PNG\r\n\x1a\n" + packed


def folder_with(place: Path, name: str, data: bytes) -> Path:
    (place / "cat").mkdir()
    (place / "dog").mkdir()
    Image.fromarray(np.zeros((2, 2), dtype=np.uint8)).save(place / "dog" / "a.png")
    (place / "cat" / name).write_bytes(data)
    return place


@pytest.mark.parametrize("side", [6_000, 100_000, 2**31 - 1])
def test_a_picture_that_only_declares_its_size_is_refused_before_memory_is_taken(tmp_path: Path, side: int) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(InputError, match=r"must fit in memory|cannot be read"):
        read_points(folder_with(tmp_path, "bomb.png", png(side, side)))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # kB


def test_a_program_in_the_clothes_of_a_picture_is_not_started(tmp_path: Path) -> None:
    """Pillow hands an EPS to Ghostscript, whatever the file is called."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("gs", "gswin64c"):
        (tools / name).write_text(f"#!/bin/sh\ntouch {tmp_path / 'started'}\n")
        (tools / name).chmod(0o755)
    eps = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 2 2\n%%EndComments\nshowpage\n%%EOF\n"
    (tmp_path / "data").mkdir()
    folder = folder_with(tmp_path / "data", "e.png", eps)
    script = (
        "import sys, featavg\nfrom PIL import Image\nImage.init()\n"  # every format that Pillow knows
        "try: featavg.read_points(sys.argv[1])\nexcept featavg.InputError as error: print(error)"
    )
    path = os.pathsep.join([str(tools), os.environ["PATH"]])
    run = [sys.executable, "-c", script, str(folder)]
    told = subprocess.check_output(run, text=True, env={**os.environ, "PATH": path})
    assert "e.png must be an image" in told
    assert not (tmp_path / "started").exists()


def test_a_bomb_of_zeros_is_refused_by_what_it_declares(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.savez_compressed(tmp_path / "zeros.npz", x=np.zeros((3000, 3000)), y=np.arange(3000) % 2)
    monkeypatch.setattr("featavg.npz.FREE_BYTES", 2**20)
    with pytest.raises(InputError, match=r"zeros.npz must not unpack to more than \d+ bytes, got 7202\d{4} declared"):
        read_points(tmp_path / "zeros.npz")


@pytest.mark.parametrize("text", ["[" * 100_000, '{"format": "featavg record", "version": 2, "npz_sha256": 1}'])
def test_a_record_of_brackets_alone_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "toy.json").write_text(text)
    with pytest.raises(InputError):
        read_record(tmp_path / "toy.json")


def test_a_record_with_a_number_beyond_every_float_is_refused(tmp_path: Path) -> None:
    whole, read = READERS["records"](tmp_path)
    (path,) = whole
    path.write_bytes(whole[path].replace(b'"expected": 1', b'"expected": 1' + b"0" * 400))
    with pytest.raises(InputError, match="no whole record"):
        read(path)
