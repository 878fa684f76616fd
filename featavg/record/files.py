"""Records on disk: NAME.json to read, NAME.npz for the arrays; both whole, or the record is not there.

The JSON is put in place last and holds the hash of the npz: a record is complete if and only if its JSON is there and
the hash fits. The same arrays always give the same bytes, so a diff of committed records shows the science moving.

Version 2 stores the axes of every column, and coordinates as arrays `coords/AXIS`. Version 1 knew no axes: its arrays
are read as columns with axes of their own, and its drawings take them as they are.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from featavg.errors import InputError, reason
from featavg.files import make_folder, write_all
from featavg.npz import pack_npz, read_npz
from featavg.record.claim import FAMILY, Claim, at_level
from featavg.record.provenance import Provenance
from featavg.record.record import Drawing, Evidence, Record
from featavg.record.table import Column, Table

FORMAT = "featavg record"
VERSION = 2
COORDS = "coords/"
FIRST_FAMILY = 250  # how many claims the intervals of records were made for that do not say it


def write_record(record: Record, folder: str | os.PathLike[str]) -> Path:
    """Write NAME.npz, then NAME.json into `folder`, and return the path of the JSON.

    >>> import tempfile
    >>> claim = Claim.exact(2.0, "Two is two.", source="Peano", expected=2, tolerance=0, tolerance_reason="exact")
    >>> record = Record("two", "Two is two", config={}, seeds=(0,), claims=(claim,))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     read_record(write_record(record, folder)).claims == record.claims
    True
    """
    folder = Path(folder)
    packed = _pack(record.evidence.table)
    text = json.dumps(_as_json(record, packed), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    path = folder / f"{record.name}.json"
    make_folder(folder)
    write_all({path.with_suffix(".npz"): packed, path: text.encode()})
    return path


def read_record(path: str | os.PathLike[str]) -> Record:
    """Read a record that `write_record` wrote, refusing what is damaged, incomplete or of another version."""
    path = Path(path)
    content = _read_json(path)
    packed = _read_npz(path.with_suffix(".npz"), content.get("npz_sha256"))
    try:
        return Record(
            claims=tuple(_claim(item, content) for item in content["claims"]),
            seeds=content["seeds"],
            evidence=_evidence(content, packed),
            **{name: content[name] for name in ("name", "title", "config")},
        )
    except Exception as error:  # a damaged record can break anywhere, with errors of any type
        raise InputError(f"{path} is no whole record ({reason(error)}); run its claim again") from None


def read_folder(folder: str | os.PathLike[str]) -> tuple[list[Record], list[str]]:
    """Read every record in `folder`, by name; with them, one sentence for each that could not be read."""
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(f"no folder of records at {folder}; make one with `featavg reproduce -o {folder}`")
    records, complaints = [], []
    for path in sorted(folder.glob("*.json")):
        try:
            records.append(read_record(path))
        except InputError as error:
            complaints.append(str(error))
    return records, complaints


def claim_as_json(claim: Claim) -> dict[str, Any]:
    """Return the claim as JSON values with its verdict; an end of the interval at infinity is null."""
    ends = [end if math.isfinite(end) else None for end in claim.interval]
    return {**asdict(claim), "interval": ends, "verdict": claim.verdict}


def _as_json(record: Record, packed: bytes) -> dict[str, Any]:
    evidence = record.evidence
    columns = evidence.table.columns.items()
    return {
        "format": FORMAT,
        "version": VERSION,
        **{name: getattr(record, name) for name in ("name", "title", "config", "seeds")},
        "notes": evidence.notes,
        **{name: getattr(evidence.provenance, name) for name in ("seconds", "versions", "commit", "code")},
        "family": FAMILY,
        "claims": [claim_as_json(claim) for claim in record.claims],
        "drawings": [asdict(drawing) for drawing in evidence.drawings],
        "columns": {name: {"axes": c.axes, "text": c.text, "unit": c.unit, "points": c.points} for name, c in columns},
        "npz_sha256": hashlib.sha256(packed).hexdigest(),
    }


def _evidence(content: Mapping[str, Any], packed: bytes) -> Evidence:
    arrays = read_npz(packed)
    coords = {name.removeprefix(COORDS): arrays.pop(name) for name in list(arrays) if name.startswith(COORDS)}
    if content["version"] == 1:
        table = Table.of(arrays)
    else:
        table = Table({name: Column(arrays[name], **about) for name, about in content["columns"].items()}, coords)
    drawings = tuple(Drawing(**item) for item in content["drawings"])
    provenance = Provenance(content["versions"], content["commit"], content["seconds"], content.get("code", ""))
    return Evidence(table, drawings, content["notes"], provenance)


def _claim(item: Mapping[str, Any], content: Mapping[str, Any]) -> Claim:
    low, high = item["interval"]
    ends = (-math.inf if low is None else low, math.inf if high is None else high)
    # The verdict in the file is for human readers; it is computed anew from the numbers.
    names = {field.name for field in fields(Claim)} - {"interval"}
    claim = Claim(interval=ends, **{name: item[name] for name in names if name in item})
    return at_level(claim, len(content["seeds"]), content.get("family", FIRST_FAMILY))


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise InputError(f"no record at {path}; make it with `featavg reproduce`") from None
    except OSError as error:
        raise InputError(f"cannot read the record {path} ({error.strerror})") from None
    except (ValueError, RecursionError):
        raise InputError(f"{path} is cut short or no record; run its claim again") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise InputError(f"{path} is no featavg record; give a file or folder that `featavg reproduce` wrote")
    if (found := content.get("version")) not in (1, VERSION):
        raise InputError(f"{path} is a record of version {found}, this featavg reads 1 and {VERSION}; run it again")
    return content


def _read_npz(path: Path, expected_hash: object) -> bytes:
    try:
        packed = path.read_bytes()
    except OSError:
        raise InputError(f"the arrays {path} of a record are missing; copy them too or run its claim again") from None
    if hashlib.sha256(packed).hexdigest() != expected_hash:
        raise InputError(f"the arrays {path} are cut short or of another run than their JSON; run the claim again")
    return packed


def _pack(table: Table) -> bytes:
    arrays = {name: column.values for name, column in table.columns.items()}
    arrays |= {f"{COORDS}{axis}": values for axis, values in table.coords.items()}
    return pack_npz(arrays)
