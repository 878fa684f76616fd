"""A record: everything one experiment found, and everything needed to draw it and to run it again."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from featavg.errors import InputError
from featavg.record.claim import Claim
from featavg.record.provenance import current_commit, current_versions


@dataclass(frozen=True)
class Drawing:
    """A figure in words: which function of `featavg.figures`, which arrays of the record, which options.

    So a record read from disk is drawn without the experiment that made it.
    """

    kind: str  # name of a function in featavg.figures
    arrays: Mapping[str, str]  # argument of that function -> name of an array in the record
    caption: str  # says what one sees
    options: Mapping[str, Any] = field(default_factory=dict)  # the other arguments, as JSON values

    def __post_init__(self) -> None:
        if not self.caption.strip():
            raise InputError(f"a drawing needs a caption that says what one sees, got none for {self.kind!r}")
        object.__setattr__(self, "arrays", dict(self.arrays))
        object.__setattr__(self, "options", plain_json(self.options, f"options of the drawing {self.caption!r}"))


@dataclass(frozen=True, eq=False)
class Record:
    """What `run(config)` of an experiment returns; `write_record` and `read_record` keep it on disk.

    >>> claim = Claim.exact(2.0, "Two is two.", source="Peano", expected=2, tolerance=0, tolerance_reason="exact")
    >>> record = Record("two", "Two is two", config={"seeds": 1}, seeds=(0,), claims=(claim,), arrays={"x": [1, 2]})
    >>> record.arrays["x"].sum(), record.versions["featavg"]
    (np.int64(3), '...')
    """

    name: str  # also the name of its files
    title: str
    config: Mapping[str, Any]  # JSON values
    seeds: tuple[int, ...]
    claims: tuple[Claim, ...]
    arrays: Mapping[str, Any] = field(default_factory=dict)  # name -> ndarray
    drawings: tuple[Drawing, ...] = ()
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    versions: Mapping[str, str] = field(default_factory=current_versions)
    commit: str = field(default_factory=current_commit)

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z][a-z0-9_]*", self.name):
            raise InputError(f"a record's name must be lower-case letters, digits and _, got {self.name!r}")
        object.__setattr__(self, "config", plain_json(self.config, f"config of the record {self.name!r}"))
        object.__setattr__(self, "seeds", tuple(int(seed) for seed in self.seeds))
        for name in ("claims", "drawings", "notes"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        arrays = {name: np.asarray(values) for name, values in self.arrays.items()}
        object.__setattr__(self, "arrays", arrays)
        if unfit := [name for name, values in arrays.items() if values.dtype.hasobject]:
            raise InputError(f"arrays of a record must be plain numbers or text, got objects in {unfit[0]!r}")
        wanted = {name for drawing in self.drawings for name in drawing.arrays.values()}
        if missing := sorted(wanted - set(arrays)):
            raise InputError(f"record {self.name!r} draws the array {missing[0]!r}, which it does not hold")
        if len({claim.text for claim in self.claims}) < len(self.claims):
            raise InputError(f"two claims of the record {self.name!r} have the same text; tell them apart")


def plain_json(values: Mapping[str, Any], name: str) -> dict[str, Any]:
    """As it will come back from disk: tuples become lists, and what JSON cannot hold is refused now."""
    try:
        return dict(json.loads(json.dumps(dict(values), allow_nan=False)))
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be JSON values ({error}); pass plain numbers, text and lists") from None
