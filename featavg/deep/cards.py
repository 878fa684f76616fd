"""Model cards: what a file of weights is, from what it was made, and how good it is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from featavg.deep.backbones import parameter_count
from featavg.deep.fit import Fitted
from featavg.deep.recipe import Recipe


@dataclass(frozen=True)
class ModelCard:
    """A small dict that travels with the weights, as JSON in the file and as a page beside it."""

    name: str
    architecture: str  # how to build the module again
    parameters: int
    data: str
    recipe: dict[str, Any]
    results: dict[str, float]  # epochs, minutes, accuracies
    licence: str = "MIT"
    notes: tuple[str, ...] = field(default=())
    sha256: str = ""  # of the file, known only after it is written

    def as_dict(self) -> dict[str, Any]:
        """The card as plain values; without a hash, since the file cannot hold its own."""
        return {key: value for key, value in asdict(self).items() if key != "sha256" or value}

    def to_json(self) -> str:
        """The card as JSON."""
        return json.dumps(self.as_dict(), indent=2) + "\n"

    def markdown(self) -> str:
        """The card as a page."""
        rows = {"architecture": self.architecture, "parameters": f"{self.parameters:,}", "data": self.data}
        rows |= {"licence": self.licence} | ({"SHA-256": self.sha256} if self.sha256 else {})
        parts = [f"# {self.name}", _table(rows), "## Results", _table(self.results), "## Recipe", _table(self.recipe)]
        if self.notes:
            parts += ["## Notes", "\n".join(f"- {note}" for note in self.notes)]
        return "\n\n".join(parts) + "\n"


def card_of(
    fitted: Fitted[Any],
    recipe: Recipe,
    *,
    name: str,
    architecture: str,
    data: str,
    notes: tuple[str, ...] = (),
) -> ModelCard:
    """The card of a finished run."""
    last = fitted.log[-1]
    measured = {"epochs": float(last.epoch), "minutes": round(last.seconds / 60, 1)}
    if last.validation is not None:
        measured["validation accuracy"] = last.validation
    count = parameter_count(fitted.module)
    return ModelCard(name, architecture, count, data, asdict(recipe), measured, notes=notes)


def _table(rows: Mapping[str, Any]) -> str:
    lines = [f"| {key} | {str(value).replace('|', chr(92) + '|')} |" for key, value in rows.items()]
    return "\n".join(["| | |", "|---|---|", *lines])
