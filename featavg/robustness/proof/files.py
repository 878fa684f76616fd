"""Brackets on disk: one npz file of plain arrays, which no reader can be made to execute or to be swamped by.

Version 2. All arrays are little-endian, in C order; text is UTF-8 in an array of bytes.

    about                                   JSON: format, version, decision, norm, statuses, reasons, flags, digest
    weights biases outputs constants        the network, float64: (neuron, axis), (neuron,), (output, neuron), (output,)
    x labels                                the points, float64 (point, axis), and their labels, int64 (point,)
    class_of                                the group of every output, int64 (output,)
    low high                                the box, float64 (axis,), if there is one
    target                                  the only rival that counts, int64 (point,), if there is one
    lower upper witness                     what was proved and shown, float64: (point,), (point,), (point, axis)
    status                                  int8 (point,): a position in the list of statuses
    proof.point ... proof.theta             the proofs, as in format.py
    infinity                                certificates in rationals, as in certificates.py

The digest is the SHA-256 of network, decision, norm, box, points, labels and targets.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import warnings
import zipfile
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from featavg.errors import InputError, reason
from featavg.robustness.proof.certificates import Branch, Certificate, Leaf, Rationals
from featavg.robustness.proof.format import TYPES, Decision, Floats, Neurons, Problem, Proofs, well_formed
from featavg.robustness.proof.prepared import require_sound

FORMAT, VERSION = "featavg radius bracket", 2
# What a file may unpack to, by default.
MOST_BYTES = 2**31
OPTIONAL = ("low", "high", "target")
ARRAYS: dict[str, tuple[str, int]] = {  # type, number of axes
    "about": ("|u1", 1),
    "weights": ("<f8", 2),
    "biases": ("<f8", 1),
    "outputs": ("<f8", 2),
    "constants": ("<f8", 1),
    "x": ("<f8", 2),
    "labels": ("<i8", 1),
    "class_of": ("<i8", 1),
    "low": ("<f8", 1),
    "high": ("<f8", 1),
    "target": ("<i8", 1),
    "lower": ("<f8", 1),
    "upper": ("<f8", 1),
    "witness": ("<f8", 2),
    "status": ("|i1", 1),
    "infinity": ("|u1", 1),
    **{f"proof.{name}": (np.dtype(kind).newbyteorder("<").str, 1) for name, kind in TYPES.items()},
}


class Stored(NamedTuple):
    """What a file holds."""

    problem: Problem
    lower: Floats  # (point,)
    upper: Floats  # (point,)
    witness: Floats  # (point, axis)
    statuses: tuple[str, ...]  # (point,)
    reasons: tuple[str, ...]  # (point,)
    flags: tuple[str, ...]
    proofs: Proofs
    certificates: tuple[Certificate, ...]


def digest(problem: Problem) -> str:
    """SHA-256 of everything that is asked: network, decision, norm, box, points, labels and targets."""
    total = hashlib.sha256(f"{problem.decision.kind} {problem.norm}".encode())
    for name, array in _asked(problem).items():
        plain = np.ascontiguousarray(array, dtype=ARRAYS[name][0])
        total.update(f" {name} {plain.shape} ".encode())
        total.update(plain.tobytes())
    return total.hexdigest()


def _asked(problem: Problem) -> dict[str, Any]:
    arrays = {**problem.neurons._asdict(), "x": problem.x, "labels": problem.labels}
    arrays["class_of"] = problem.decision.class_of
    return arrays | {name: getattr(problem, name) for name in OPTIONAL if getattr(problem, name) is not None}


def write_stored(stored: Stored, file: str | os.PathLike[str] | IO[bytes]) -> None:
    """Write to a place, or to a file that is open."""
    names, codes = np.unique(np.array(stored.statuses, dtype=str), return_inverse=True)
    texts, reasons = np.unique(np.array(stored.reasons, dtype=str), return_inverse=True)
    about = {
        "format": FORMAT,
        "version": VERSION,
        "decision": stored.problem.decision.kind,
        "norm": stored.problem.norm,
        "statuses": names.tolist(),
        "reasons": [texts.tolist(), reasons.tolist()],
        "flags": list(stored.flags),
        "digest": digest(stored.problem),
    }
    arrays = _asked(stored.problem) | {name: getattr(stored, name) for name in ("lower", "upper", "witness")}
    arrays |= {f"proof.{name}": array for name, array in stored.proofs._asdict().items()}
    arrays |= {"status": codes, "about": _bytes(json.dumps(about)), "infinity": _bytes(to_text(stored.certificates))}
    plain = {name: np.ascontiguousarray(array, dtype=ARRAYS[name][0]) for name, array in arrays.items()}
    np.savez_compressed(file, **plain)  # type: ignore[arg-type]


def read_stored(path: str | os.PathLike[str], most_bytes: int = MOST_BYTES) -> Stored:
    """Read what `write_stored` wrote; any other file ends in an InputError, before it can fill the memory."""
    place = Path(path)
    if not place.is_file():
        raise InputError(f"no bracket file at {place}; check the path")
    try:
        with zipfile.ZipFile(place) as archive:
            arrays = _arrays(archive, most_bytes)
        stored, told = _stored(arrays)
    except InputError as error:
        raise InputError(f"{place} is no bracket file: {error}") from None
    except Exception as error:  # a damaged file can break its reader anywhere, with errors of any type
        raise InputError(f"{place} is damaged or no bracket file ({reason(error)}); copy it again") from None
    if digest(stored.problem) != told:
        raise InputError(f"{place} is damaged: its network, points and labels are not those of its digest")
    return stored


def _arrays(archive: zipfile.ZipFile, most_bytes: int) -> dict[str, Any]:
    """Every array whose header says what it may be, once all declared sizes are known to be small enough."""
    members = archive.infolist()
    names = [member.filename.removesuffix(".npy") for member in members]
    missing = sorted(set(ARRAYS) - set(OPTIONAL) - set(names))
    if missing or set(names) - set(ARRAYS) or len(set(names)) < len(names):
        raise InputError(f"it should hold the arrays of version {VERSION}, missing are {missing[:3]}")
    declared = sum(member.file_size for member in members)
    if declared > most_bytes:
        raise InputError(f"it unpacks to {declared} bytes, more than the {most_bytes} allowed")
    arrays = {}
    for name, member in zip(names, members, strict=True):
        with archive.open(member) as file:
            arrays[name] = _array(file, name, member.file_size)
    return arrays


def _array(file: IO[bytes], name: str, size: int) -> Any:
    kind, axes = ARRAYS[name]
    if np.lib.format.read_magic(file) != (1, 0):
        raise InputError(f"the array {name} should be of npy version 1.0")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a header that NumPy can only read with tricks is damaged
        shape, fortran, found = np.lib.format.read_array_header_1_0(file, max_header_size=1000)
    if found != np.dtype(kind) or len(shape) != axes or fortran:
        raise InputError(f"the array {name} should be of type {kind} with {axes} axes in C order")
    length = math.prod(shape) * found.itemsize
    if length > size:
        raise InputError(f"the array {name} declares {length} bytes, but has {size}")
    data = file.read(length + 1)
    if len(data) != length:
        raise InputError(f"the array {name} should have {length} bytes")
    return np.frombuffer(data, dtype=found).reshape(shape).astype(found.newbyteorder("="))


def _stored(arrays: Mapping[str, Any]) -> tuple[Stored, str]:
    about = json.loads(arrays["about"].tobytes())
    if about["format"] != FORMAT or about["version"] != VERSION:
        raise InputError(f"it should be a {FORMAT} of version {VERSION}, got {about['format']} {about['version']}")
    neurons = Neurons(*(arrays[name] for name in Neurons._fields))
    decision = Decision(about["decision"], arrays["class_of"])
    optional = [arrays.get(name) for name in OPTIONAL]
    problem = Problem(neurons, arrays["x"], arrays["labels"], decision, about["norm"], *optional)
    require_sound(problem)
    points = len(problem.x)
    lengths = {len(arrays[name]) for name in ("lower", "upper", "status", "witness")}
    if lengths != {points} or arrays["witness"].shape != problem.x.shape:
        raise InputError("bounds, statuses and witnesses should be one per point")
    texts, positions = about["reasons"]
    proofs = Proofs(*(arrays[f"proof.{name}"] for name in Proofs._fields))
    if not well_formed(proofs):
        raise InputError("the arrays of the proofs do not fit together")
    stored = Stored(
        problem,
        arrays["lower"],
        arrays["upper"],
        arrays["witness"],
        tuple(str(about["statuses"][code]) for code in arrays["status"].tolist()),
        tuple(str(texts[k]) for k in positions),
        tuple(str(flag) for flag in about["flags"]),
        proofs,
        tuple(from_text(arrays["infinity"].tobytes().decode())),
    )
    if len(stored.reasons) != points:
        raise InputError("there should be one reason per point")
    return stored, str(about["digest"])


def _bytes(text: str) -> Any:
    return np.frombuffer(text.encode(), dtype=np.uint8)


def to_text(certificates: Sequence[Certificate]) -> str:
    """JSON, with rationals as pairs of hexadecimal integers."""

    def rationals(values: Rationals) -> dict[str, list[str]]:
        return {str(k): [hex(v.numerator), hex(v.denominator)] for k, v in values.items()}

    def plain(tree: Branch | Leaf) -> list[Any]:
        if isinstance(tree, Leaf):
            return [rationals(tree.mix), rationals(tree.theta)]
        return [tree.neuron, plain(tree.off), plain(tree.on)]

    return json.dumps([[each.label, each.rival, plain(each.tree)] for each in certificates])


def from_text(text: str) -> list[Certificate]:
    """Read what `to_text` wrote; InputError if it is not that."""

    def rationals(values: Any) -> dict[int, Fraction]:
        return {int(k): Fraction(int(n, 16), int(d, 16)) for k, (n, d) in dict(values).items()}

    def tree(value: Any) -> Branch | Leaf:
        if len(value) == 3:
            return Branch(int(value[0]), tree(value[1]), tree(value[2]))
        mix, theta = value
        return Leaf(rationals(mix), rationals(theta))

    try:
        return [Certificate(int(label), int(rival), tree(value)) for label, rival, value in json.loads(text)]
    except (TypeError, ValueError, AttributeError, ZeroDivisionError, RecursionError) as error:
        reason = type(error).__name__
        raise InputError(f"the certificates in rationals are damaged ({reason}); copy the file again") from None
