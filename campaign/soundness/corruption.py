"""Saved proofs, damaged at random: whatever was done to the file, it never proves more than the truth.

Bytes are damaged blindly; if the file is a zip of NumPy arrays, single arrays are also changed and packed again, so
that the damage gets past the archive's own checksums and meets the checker. Proofs are also held against networks near
the one that they are about.
"""

from __future__ import annotations

import io
import math
import warnings
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import featavg as fa
from campaign.soundness.families import Array, Generator
from campaign.soundness.problem import Problem
from campaign.soundness.truth import Truth

# What a digest does not guard.
BELIEVED = ("proof.", "lower", "upper", "witness", "infinity", "status")
OUTCOMES = ("refused", "not verified", "verified, within the truth", "above the truth", "traceback")


def outcome(path: Path, content: bytes, truth: Truth, load: Callable[[Path], Any] | None = None) -> str:
    """Write `content` to a file, load it as a bracket of one point; say what comes of it."""
    path.write_bytes(content)
    return standing(lambda: (load or load_bracket)(path), truth)


def standing(brought: Callable[[], Any], truth: Truth) -> str:
    """What a bracket of one point is worth: its own claim is verified, and then one that is certainly too large."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            bracket = brought()
            is_verified = bool(np.all(bracket.verify()))
            greater = too_large(truth)
            is_believed = greater is not None and bool(np.any(replace(bracket, **greater).verify()))
    except fa.InputError:
        return "refused"
    except Exception as error:
        return f"traceback: {type(error).__name__}: {error}"
    lowers, uppers = np.atleast_1d(bracket.lower), np.atleast_1d(bracket.upper)
    wrong = any(truth.refutes_lower(float(bound)) for bound in lowers)
    wrong |= any(truth.refutes_upper(float(bound)) for bound in uppers)
    if is_believed or (is_verified and (wrong or len(lowers) != 1)):
        return "above the truth"
    return "verified, within the truth" if is_verified else "not verified"


def too_large(truth: Truth) -> dict[str, Any] | None:
    """A lower bound just above the truth, whatever the witness; None where there is no such number."""
    claim = truth.radius
    while math.isfinite(claim) and not truth.refutes_lower(claim):
        claim = math.nextafter(claim, math.inf)
    return {"lower": np.array([claim]), "upper": np.array([math.inf])} if math.isfinite(claim) else None


def disturbed(rng: Generator, problem: Problem) -> Problem:
    """A network near that of a problem: what is proved of one is no proof about the other."""
    name = str(rng.choice(["weights", "biases", "second", "constants"]))
    values = np.array(getattr(problem, name))
    with np.errstate(all="ignore"):
        changed = values * (1.0 + float(rng.choice([1e-9, 1e-3, 0.5])) * rng.standard_normal(values.shape))
        changed = np.where(np.isfinite(changed), changed, values)
    plain = changed.tolist()
    parts: dict[str, Any] = {name: tuple(map(tuple, plain)) if changed.ndim == 2 else tuple(plain)}
    return replace(problem, **parts)


def load_bracket(path: Path) -> Any:
    """`fa.load_bracket`, looked up when it is needed."""
    package: Any = fa
    return package.load_bracket(path)


def damaged(rng: Generator, content: bytes) -> bytes:
    """Return a damaged copy of a file's content.

    >>> len(damaged(np.random.default_rng(0), bytes(100))) <= 132
    True
    """
    if zipfile.is_zipfile(io.BytesIO(content)) and rng.random() < 0.8:
        return _with_changed_array(rng, content)
    return BYTE_DAMAGES[rng.integers(len(BYTE_DAMAGES))](rng, content)


def flipped(rng: Generator, content: bytes) -> bytes:
    """A few bits turned over."""
    changed = bytearray(content)
    for _ in range(int(rng.integers(1, 9))):
        changed[rng.integers(len(changed))] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def truncated(rng: Generator, content: bytes) -> bytes:
    """The end is missing."""
    return content[: int(rng.integers(len(content)))]


def overwritten(rng: Generator, content: bytes) -> bytes:
    """A run of bytes replaced by noise, or by bytes from elsewhere in the file."""
    size = int(rng.integers(1, min(64, len(content)) + 1))
    at, source = (int(rng.integers(len(content) - size + 1)) for _ in range(2))
    run = rng.bytes(size) if rng.random() < 0.5 else content[source : source + size]
    return content[:at] + run + content[at + size :]


def shifted(rng: Generator, content: bytes) -> bytes:
    """A run of bytes taken out or put in."""
    size, at = int(rng.integers(1, 33)), int(rng.integers(len(content)))
    if rng.random() < 0.5:
        return content[:at] + content[at + size :]
    return content[:at] + rng.bytes(size) + content[at:]


BYTE_DAMAGES = (flipped, truncated, overwritten, shifted)


def _with_changed_array(rng: Generator, content: bytes) -> bytes:
    """Change one member of the archive and pack everything again."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    believed = [name for name in members if name.startswith(BELIEVED)] or list(members)
    name = str(rng.choice(believed if rng.random() < 0.9 else list(members)))
    members[name] = _changed_member(rng, members[name])
    if rng.random() < 0.02:
        del members[name]
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for member, data in members.items():
            archive.writestr(member, data)
    return packed.getvalue()


def _changed_member(rng: Generator, data: bytes) -> bytes:
    try:
        array = np.load(io.BytesIO(data), allow_pickle=False)
    except ValueError:
        return flipped(rng, data) if data else data
    if not array.size or array.dtype.kind not in "fiub":
        return flipped(rng, data)
    packed = io.BytesIO()
    np.save(packed, ARRAY_DAMAGES[rng.integers(len(ARRAY_DAMAGES))](rng, array), allow_pickle=False)
    return packed.getvalue()


def _entry_replaced(rng: Generator, array: Array) -> Array:
    """One number becomes another: its negative, a multiple, something absurd, or one from elsewhere in the array."""
    flat = array.copy().ravel()
    at = rng.integers(flat.size)
    if array.dtype.kind == "f":
        choices = [-flat[at], 2 * flat[at], flat[at] / 2, flat[at] * (1 + 1e-9), 0.0, 1e300, -1e300, np.nan, np.inf]
        flat[at] = rng.choice([*choices, flat[rng.integers(flat.size)], flat[at] + 1.0])
    elif array.dtype.kind == "b":
        flat[at] = not flat[at]
    else:
        room = np.iinfo(array.dtype)
        wanted = int(rng.choice([-1, 0, 1, 2, int(flat[at]) + 1, int(flat[at]) - 1, 1000, room.max, room.min]))
        flat[at] = min(max(wanted, room.min), room.max)
    return flat.reshape(array.shape)


def _all_scaled(rng: Generator, array: Array) -> Array:
    """Every float times one factor; other numbers in another order."""
    if array.dtype.kind != "f":
        return rng.permuted(array.ravel()).reshape(array.shape)
    with np.errstate(over="ignore"):
        return array * float(rng.choice([-1.0, 0.5, 2.0, 1.1, 1e-3, 1e3, 1e200]))


def _entry_removed(rng: Generator, array: Array) -> Array:
    """One row less, or one more."""
    if array.ndim == 0:
        return array[None]
    at = int(rng.integers(len(array)))
    return np.delete(array, at, axis=0) if rng.random() < 0.5 else np.insert(array, at, array[at], axis=0)


def _noisy(rng: Generator, array: Array) -> Array:
    """Every float replaced by noise of its own size."""
    if array.dtype.kind != "f":
        return _entry_replaced(rng, array)
    size = float(np.nanmax(np.abs(np.where(np.isfinite(array), array, 0.0)), initial=0.0)) or 1.0
    return size * rng.standard_normal(array.shape)


ARRAY_DAMAGES = (_entry_replaced, _entry_replaced, _entry_replaced, _all_scaled, _entry_removed, _noisy)
