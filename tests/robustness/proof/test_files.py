"""Bracket files: what is written is read, and nothing else is."""

from __future__ import annotations

import io
import json
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from featavg.errors import InputError
from featavg.robustness.proof import check, witness_distance
from featavg.robustness.proof.certificates import Certificate, Leaf
from featavg.robustness.proof.files import Stored, digest, read_stored, write_stored
from tests.robustness.proof.problems import KINDS, random_problem
from tests.robustness.proof.provers import random_proofs


def stored_of(kind: str = "argmax", box: str = "both", seed: int = 0) -> Stored:
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, kind, "l2", box, points=3)
    proofs = random_proofs(problem, rng, 1.0)
    witness = np.where(rng.random((3, 1)) < 0.5, np.nan, problem.x)
    lower, upper = check(problem, proofs), witness_distance(problem, witness)
    status, reasons = ("exact", "open", "failed"), ("", "the budget ended", "")
    return Stored(
        problem, lower, upper, witness, status, reasons, ("flag",), proofs, (Certificate(1, 0, Leaf({}, {})),)
    )


def same(one: Any, other: Any) -> bool:
    if isinstance(one, tuple) and hasattr(one, "_fields"):
        return all(same(a, b) for a, b in zip(one, other, strict=True))
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    return bool(one == other)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("box", ["none", "one-sided"])
def test_a_file_holds_what_was_written(tmp_path: Path, kind: str, box: str) -> None:
    stored = stored_of(kind, box)
    write_stored(stored, tmp_path / "a.npz")
    assert same(read_stored(tmp_path / "a.npz"), stored)
    assert [path.name for path in tmp_path.iterdir()] == ["a.npz"]


def test_the_digest_tells_problems_apart() -> None:
    problem = stored_of().problem
    changed = [
        problem._replace(x=problem.x + 1e-12),
        problem._replace(labels=np.roll(problem.labels, 1)),
        problem._replace(norm="linf"),
        problem._replace(low=None, high=None),
        problem._replace(neurons=problem.neurons._replace(constants=problem.neurons.constants + 1)),
        problem._replace(decision=problem.decision._replace(kind="logits")),
        problem._replace(target=problem.labels),
    ]
    digests = {digest(each) for each in [problem, *changed]}
    assert len(digests) == 1 + len(changed) - (np.array_equal(problem.labels, np.roll(problem.labels, 1)))


def rewritten(path: Path, change: dict[str, Any]) -> None:
    """The same file with some members replaced (bytes or arrays) or dropped (None)."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    for name, value in change.items():
        if value is None:
            members.pop(name + ".npy")
        elif isinstance(value, bytes):
            members[name + ".npy"] = value
        else:
            file = io.BytesIO()
            np.save(file, value, allow_pickle=True)
            members[name + ".npy"] = file.getvalue()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, value in members.items():
            archive.writestr(name, value)


def about(**change: Any) -> Any:
    text = {"format": "featavg radius bracket", "version": 1, "decision": "argmax", "norm": "l2", "statuses": ["a"]}
    text |= {"reasons": [[""], [0, 0, 0]], "flags": [], "digest": "", **change}
    return np.frombuffer(json.dumps(text).encode(), dtype=np.uint8)


def header(shape: str) -> bytes:
    text = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


@pytest.mark.parametrize(
    "change",
    [
        {"x": None},
        {"extra": np.zeros(3)},
        {"x": np.zeros((3, 2), dtype=np.float32)},
        {"x": np.zeros(3)},
        {"x": np.full((3, 2), np.nan)},
        {"x": np.array([{"a": 1}], dtype=object)},
        {"x": np.asfortranarray(np.ones((3, 2)))},
        {"weights": np.ones((9, 9))},
        {"lower": np.zeros(2)},
        {"status": np.full(3, 100, dtype=np.int8)},
        {"status": np.zeros(9, dtype=np.int8)},
        {"labels": np.full(3, 77)},
        {"proof.depth": np.zeros(1, dtype=np.int32)},
        {"infinity": np.frombuffer(b"[[", dtype=np.uint8)},
        {"infinity": np.frombuffer(b"\xff\xfe", dtype=np.uint8)},
        {"about": np.frombuffer(b"no json", dtype=np.uint8)},
        {"about": np.frombuffer(b"[1]", dtype=np.uint8)},
        {"about": about(version=2)},
        {"about": about(norm="l7")},
        {"about": about(decision="dice")},
        {"about": about()},
        {"about": about(reasons=[[], [1]])},
        {"lower": b"junk"},
        {"lower": header("(999999999999,)")},
        {"lower": header("(-1,)")},
        {"lower": header("(3, 4" * 100)},
    ],
    ids=str,
)
def test_other_files_are_refused_in_one_sentence(tmp_path: Path, change: dict[str, Any]) -> None:
    path = tmp_path / "a.npz"
    write_stored(stored_of(), path)
    rewritten(path, change)
    with pytest.raises(InputError) as error:
        read_stored(path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "array",
    [np.ones((3, 2), dtype=np.float32), np.ones(3), np.array([{}], dtype=object), np.asfortranarray(np.eye(3, 2))],
)
def test_the_header_of_an_array_is_read_before_its_data(tmp_path: Path, array: Any) -> None:
    write_stored(stored_of(), tmp_path / "a.npz")
    rewritten(tmp_path / "a.npz", {"x": array})
    with pytest.raises(InputError, match="the array x should be of type <f8 with 2 axes in C order"):
        read_stored(tmp_path / "a.npz")


def test_changed_points_do_not_fit_the_digest(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    stored = stored_of()
    write_stored(stored, path)
    rewritten(path, {"lower": stored.lower * 0})
    assert not read_stored(path).lower.any()  # bounds are checked by verification, not by the digest
    rewritten(path, {"constants": stored.problem.neurons.constants + 1e-9})
    with pytest.raises(InputError, match="digest"):
        read_stored(path)


def test_a_file_that_would_fill_the_memory_is_refused_before_it_does(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    write_stored(stored_of(), path)
    with pytest.raises(InputError, match="bytes"):
        read_stored(path, most_bytes=100)
    rewritten(path, {"x": np.zeros((1000, 1000))})
    assert path.stat().st_size < 100_000
    with pytest.raises(InputError, match="bytes"):
        read_stored(path, most_bytes=1_000_000)


def test_truncated_and_flipped_files_are_refused_or_the_same(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    stored = stored_of()
    write_stored(stored, path)
    data, rng = path.read_bytes(), np.random.default_rng(0)
    for size in (0, 1, 30, len(data) // 2, len(data) - 1):
        path.write_bytes(data[:size])
        with pytest.raises(InputError):
            read_stored(path)
    for _ in range(100):
        flipped = bytearray(data)
        flipped[rng.integers(len(data))] ^= 1 << rng.integers(8)
        path.write_bytes(flipped)
        with suppress(InputError):
            assert same(read_stored(path), stored)  # a date, say, was hit


def test_places_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no bracket file at"):
        read_stored(tmp_path / "a.npz")
    with pytest.raises(InputError, match="no bracket file at"):
        read_stored(tmp_path)
