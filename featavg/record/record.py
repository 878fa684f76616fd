"""What was found: a record of claims, run over seeds, or the result of one run on somebody's own data."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from featavg.errors import InputError
from featavg.record.claim import Claim
from featavg.record.evidence import Evidence, plain_json


@dataclass(frozen=True, eq=False)
class Record:
    """What the run of an experiment found; `write_record` and `read_record` keep it on disk.

    >>> claim = Claim.exact(2.0, "Two is two.", source="Peano", expected=2, tolerance=0, tolerance_reason="exact")
    >>> record = Record("two", "Two is two", config={"seeds": 1}, seeds=(0,), claims=(claim,))
    >>> record.claims[0].verdict, record.evidence.provenance.versions["featavg"]
    ('holds', '...')
    """

    name: str  # also the name of its files
    title: str
    config: Mapping[str, Any]  # JSON values
    seeds: tuple[int, ...]
    claims: tuple[Claim, ...]
    evidence: Evidence = field(default_factory=Evidence)

    def __post_init__(self) -> None:
        _check_name(self.name)
        object.__setattr__(self, "config", plain_json(self.config, f"config of the record {self.name!r}"))
        object.__setattr__(self, "seeds", tuple(int(seed) for seed in self.seeds))
        object.__setattr__(self, "claims", tuple(self.claims))
        if len({claim.text for claim in self.claims}) < len(self.claims):
            raise InputError(f"two claims of the record {self.name!r} have the same text; tell them apart")

    def to_frame(self) -> Any:
        """A pandas table of the claims, one row each; `evidence.table.to_frame` has what was measured."""
        from featavg.record.verdicts import verdict_rows  # which is about records

        try:
            pandas = import_module("pandas")
        except ImportError:
            raise InputError("a frame needs pandas, which is not installed; `pip install pandas`") from None
        return pandas.DataFrame(verdict_rows([self]))


@dataclass(frozen=True, eq=False)
class Result:
    """What one run on a user's own data found: a verdict in words, the facts it rests on, and their evidence."""

    name: str
    verdict: str
    facts: tuple[tuple[str, ...], ...]  # rows of a name and its values, as text
    settings: Mapping[str, Any]  # what the user chose, as JSON values
    claims: tuple[Claim, ...] = ()  # what was tested on the way; intervals are over points
    evidence: Evidence = field(default_factory=Evidence)

    def __post_init__(self) -> None:
        _check_name(self.name)
        object.__setattr__(self, "facts", tuple(tuple(row) for row in self.facts))
        object.__setattr__(self, "settings", plain_json(self.settings, f"settings of the result {self.name!r}"))
        object.__setattr__(self, "claims", tuple(self.claims))

    @property
    def title(self) -> str:
        """The verdict stands above everything."""
        return self.verdict


def _check_name(name: str) -> None:
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise InputError(f"a record's name must be lower-case letters, digits and _, got {name!r}")
