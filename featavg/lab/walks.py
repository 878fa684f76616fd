"""Ways through settings whose states are shipped: the lab from disk, and inside a report, without a server.

`python -m featavg.lab.walks` computes the states again, about a minute, and writes them beside this file.
"""

from __future__ import annotations

import gzip
import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from featavg.files import write_whole
from featavg.lab.setting import SLIDERS, Setting
from featavg.progress import Progress, silent

FILE = "states.json.gz"
MOMENTS = (1, 2, 3, 5, 10, 20, 30, 50, 100)
CLUSTERS = (4, 6, 8, 10, 14, 20, 30, 40)
DIMS = tuple(10**power for power in range(2, 13))
COARSE, FINE = "2", "one per cluster"


@dataclass(frozen=True)
class Way:
    """Settings along a few fields: every combination of their values, the last field moving first."""

    title: str
    values: Mapping[str, Sequence[int | str]]
    first: Mapping[str, int | str]  # where one begins

    @property
    def settings(self) -> list[Setting]:
        """In order."""
        return [
            _setting(dict(zip(self.values, each, strict=True))) for each in itertools.product(*self.values.values())
        ]

    def about(self, states: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """As the page takes it."""
        texts = {slider.name: slider.text for slider in SLIDERS}
        fields = [
            {
                "name": name,
                "text": texts[name],
                "told": [f"{value:.0e}" if isinstance(value, int) and value >= 1e5 else str(value) for value in values],
                "first": values.index(self.first[name]),
            }
            for name, values in self.values.items()
        ]
        return {"title": self.title, "fields": fields, "states": list(states)}


WAYS = (
    Way(
        "training time and labels",
        {"labels": range(2, 11), "steps": MOMENTS},
        {"labels": 2, "steps": 100},
    ),
    Way("number of clusters", {"labels": (COARSE, FINE), "clusters": CLUSTERS}, {"labels": COARSE, "clusters": 10}),
    Way("dimension", {"labels": (COARSE, FINE), "dim": DIMS}, {"labels": COARSE, "dim": 10**12}),
)


def packed_states(ways: Sequence[Way] = WAYS, progress: Progress = silent) -> bytes:
    """Compute the states of ways, as compressed JSON.

    >>> way = Way("one", {"samples": (20,), "steps": (1, 2)}, {"samples": 20, "steps": 2})
    >>> [one["setting"]["steps"] for one in json.loads(gzip.decompress(packed_states([way])))["ways"][0]["states"]]
    [1, 2]
    """
    from featavg.lab.states import state  # which computes, and whoever only draws must not wait for

    total, done, found = sum(len(way.settings) for way in ways), 0, []
    for way in ways:
        states = []
        for setting in way.settings:
            progress(done / total, way.title)
            states.append({**state(setting), "seconds": 0.0})  # how long it took is no part of what it is
            done += 1
        found.append(way.about(states))
    text = json.dumps({"ways": found}, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return gzip.compress(text.encode(), mtime=0)


def shipped_states() -> bytes:
    """The states of `WAYS` that come with the package."""
    return resources.files("featavg.lab").joinpath(FILE).read_bytes()


def _setting(values: Mapping[str, Any]) -> Setting:
    """The paper's setting with other values, and with a neuron for every label that they ask for."""
    given = dict(values)
    clusters = int(given.get("clusters", Setting.clusters))
    labels = {COARSE: 2, FINE: clusters}.get(given.pop("labels", COARSE), values.get("labels", 2))
    return Setting(labels=labels, neurons=max(Setting.neurons, labels), **given)


if __name__ == "__main__":
    write_whole(Path(__file__).with_name(FILE), packed_states())
