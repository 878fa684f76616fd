"""npz files, read and written: plain arrays, no more memory than a file gives reason to, and nothing is executed.

NumPy's own reader runs the header through a tokenizer and allocates what the header declares. Here every declared size
is checked against the bytes that are there before anything is allocated, and whatever is wrong with a file, the end is
one sentence.
"""

from __future__ import annotations

import ast
import io
import math
import os
import struct
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from featavg.errors import InputError, reason

Arrays = dict[str, NDArray[Any]]
KINDS = "biufUS"  # bool, integers, floats, text, bytes: nothing that holds Python objects or has fields
LONGEST_HEADER = 10_000  # bytes; NumPy's own limit
MOST_AXES = 32
# A file may unpack to this, or to a hundred times its size if that is more. Deflate reaches a thousand times.
FREE_BYTES = 2**30
MOST_EXPANSION = 100
CHUNK = 2**20


def read_npz(
    source: str | os.PathLike[str] | bytes, needed: Sequence[str] = (), optional: Sequence[str] | None = None
) -> Arrays:
    """The arrays of an npz file, or of its bytes, by name.

    Args:
        source: path or bytes.
        needed: names without which it is refused.
        optional: other names to read where they are there; all of them by default.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savez(folder + "/two.npz", x=np.eye(2), y=["cat", "dog"], z=3)
    ...     sorted(read_npz(folder + "/two.npz", ["x"], ["y"]))
    ['x', 'y']
    """
    name = "this" if isinstance(source, bytes) else Path(source).name
    try:
        file: Any = io.BytesIO(source) if isinstance(source, bytes) else source
        size = len(source) if isinstance(source, bytes) else Path(source).stat().st_size
        with zipfile.ZipFile(file) as archive:
            members = _members(archive, size)
            if missing := [wanted for wanted in needed if wanted not in members]:
                raise InputError(
                    f"must hold an array {missing[0]!r}, got {', '.join(members) or 'none'}; rename it or say which"
                )
            wanted = members if optional is None else {*needed, *optional}
            return {found: _read(archive, member) for found, member in members.items() if found in wanted}
    except InputError as error:
        raise InputError(f"{name} {error}") from None
    except Exception as error:  # damaged bytes can break zip and inflate anywhere, with errors of any type
        told = f"{name} must be a whole npz file, got one that is not ({reason(error)}); write it again"
        raise InputError(told) from None


def pack_npz(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """The bytes of an npz file, without the time of day in it, which `numpy.savez` would store.

    >>> read_npz(pack_npz({"x": np.arange(3)}))["x"]
    array([0, 1, 2])
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(arrays):
            entry = io.BytesIO()
            np.lib.format.write_array(entry, arrays[name], allow_pickle=False)
            info = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
            archive.writestr(info, entry.getvalue(), zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def _members(archive: zipfile.ZipFile, size: int) -> dict[str, zipfile.ZipInfo]:
    members = {member.filename.removesuffix(".npy"): member for member in archive.infolist()}
    if len(members) < len(archive.infolist()):
        raise InputError("must hold each array once, got one twice; write it again with numpy.savez")
    declared, most = sum(member.file_size for member in members.values()), max(FREE_BYTES, MOST_EXPANSION * size)
    if declared > most:
        raise InputError(f"must not unpack to more than {most} bytes, got {declared} declared; save fewer numbers")
    return members


def _read(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> NDArray[Any]:
    with archive.open(member) as file:
        kind, shape, fortran, header = _header(file)
        length = math.prod(shape) * kind.itemsize
        if header + length != member.file_size:
            raise InputError(
                f"must hold whole arrays, got {member.filename} of {length} bytes in {member.file_size - header}; "
                "write it again"
            )
        array = np.empty(math.prod(shape), dtype=kind)
        _fill(file, array.view(np.uint8))
    array = array.astype(kind.newbyteorder("="), copy=False)
    if kind.kind == "U":
        _check_text(array)
    return array.reshape(shape, order="F" if fortran else "C")


def _fill(file: IO[bytes], buffer: NDArray[np.uint8]) -> None:
    place = 0
    while place < len(buffer):
        chunk = file.read(min(CHUNK, len(buffer) - place))
        if not chunk:
            raise EOFError(f"{len(buffer) - place} bytes are missing")
        buffer[place : place + len(chunk)] = np.frombuffer(chunk, dtype=np.uint8)
        place += len(chunk)
    # Reading beyond the end makes zip compare its checksum.
    file.read(1)


def _header(file: IO[bytes]) -> tuple[np.dtype[Any], tuple[int, ...], bool, int]:
    """Type, shape, order and length of the header of an npy file."""
    start = file.read(8)
    if start[:6] != b"\x93NUMPY" or start[6:] not in (b"\x01\x00", b"\x02\x00", b"\x03\x00"):
        raise InputError("must hold npy arrays of version 1 to 3; write it again with numpy.savez")
    code = "<H" if start[6] == 1 else "<I"
    (length,) = struct.unpack(code, file.read(struct.calcsize(code)))
    if length > LONGEST_HEADER:
        raise InputError(f"must hold plain arrays, got a header of {length} bytes; save numbers or strings")
    text = file.read(length).decode("latin1" if start[6] < 3 else "utf-8")
    return *_declared(text), len(start) + struct.calcsize(code) + length


def _declared(text: str) -> tuple[np.dtype[Any], tuple[int, ...], bool]:
    try:
        about = ast.literal_eval(text.strip())
        descr, fortran, shape = about["descr"], about["fortran_order"], about["shape"]
    except Exception:  # Python's parser fails on damaged text in many ways
        raise InputError("must hold npy arrays, got one with a damaged header; write it again") from None
    plain = isinstance(shape, tuple) and all(type(n) is int and n >= 0 for n in shape) and len(shape) <= MOST_AXES
    if not plain or not isinstance(fortran, bool):
        raise InputError("must hold npy arrays, got one with a damaged header; write it again")
    return _plain_type(descr), shape, fortran


def _plain_type(descr: Any) -> np.dtype[Any]:
    try:
        kind = np.dtype(descr) if isinstance(descr, str) else None
    except Exception:  # as many ways to be no type as there are strings
        kind = None
    if kind is not None and kind.kind in KINDS and kind.itemsize:
        return kind
    if kind is not None and kind.hasobject:
        raise InputError("must hold plain arrays, got pickled objects, which could run code; save numbers or strings")
    raise InputError(f"must hold arrays of numbers or text, got the type {str(descr)[:40]!r}; convert it first")


def _check_text(array: NDArray[Any]) -> None:
    """Refuse code points that are no characters: a string of them cannot be printed."""
    codes = array.view(np.uint32)
    if codes.size and (codes.max() > 0x10FFFF or ((codes >= 0xD800) & (codes <= 0xDFFF)).any()):
        raise InputError("must hold text of characters, got code points that are none; write it again")
