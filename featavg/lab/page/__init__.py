"""The page: one file with its style, its script and its states inside; the same from disk and from the server."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import asdict, replace
from importlib import resources
from pathlib import Path
from typing import Any

from featavg.files import make_folder, write_whole
from featavg.lab.setting import SLIDERS, Setting
from featavg.lab.state import state
from featavg.progress import Progress, silent

MOMENTS = (1, 2, 3, 5, 8, 12, 20, 30, 50, 75, 100)
CLUSTERS = (2, 4, 6, 8, 10, 14, 20, 30, 40)


def live_page() -> str:
    """The page that asks its server for every state."""
    return _filled({"live": True, "setting": asdict(Setting())}, "'self'")


def walks() -> list[dict[str, Any]]:
    """Ways through settings, one number changing on each: its name, its values and the settings."""
    fine = Setting(labels=10)
    labels = range(2, 11)
    return [
        _walk("training time, 2 labels", "steps", [Setting(steps=steps) for steps in MOMENTS]),
        _walk("training time, 10 labels", "steps", [replace(fine, steps=steps) for steps in MOMENTS]),
        _walk("labels, from coarse to fine", "labels", [Setting(labels=count) for count in labels]),
        _walk("clusters, 2 labels", "clusters", [Setting(clusters=k) for k in CLUSTERS]),
        _walk("dimension, 2 labels", "dim", [Setting(dim=10**power) for power in range(2, 13)]),
    ]


def offline_page(ways: Sequence[dict[str, Any]] | None = None, progress: Progress = silent) -> str:
    """The page that walks through states computed now, and needs no server.

    >>> small = Setting(clusters=2, dim=10**6, samples=20, steps=2, neurons=2)
    >>> "<script" in offline_page([{"title": "one", "field": "steps", "settings": [small]}])
    True
    """
    given = walks() if ways is None else ways
    total, done, found = sum(len(way["settings"]) for way in given), 0, []
    for way in given:
        states = []
        for setting in way["settings"]:
            progress(done / total, way["title"])
            states.append(state(setting))
            done += 1
        found.append({"title": way["title"], "field": way["field"], "states": states})
    return _filled({"live": False, "walks": found}, "'none'")


def write_lab(path: str | os.PathLike[str], progress: Progress = silent) -> Path:
    """Write `offline_page` to `path`, whole or not at all."""
    place = Path(path)
    text = offline_page(progress=progress)
    make_folder(place.parent)
    write_whole(place, text)
    return place


def policy(connect: str) -> str:
    """What the page may do, for browsers: run its own script, and ask `connect`; nothing else, nowhere else."""
    style, script = (f"'sha256-{_hash(_part(name))}'" for name in ("lab.css", "lab.js"))
    return (
        f"default-src 'none'; style-src {style}; script-src {script}; connect-src {connect}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _walk(title: str, field: str, settings: Sequence[Setting]) -> dict[str, Any]:
    return {"title": title, "field": field, "settings": settings}


def _filled(about: dict[str, Any], connect: str) -> str:
    content = {"sliders": [slider.about for slider in SLIDERS], **about}
    # Inside a script element only < could end it early.
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    page = _part("index.html")
    parts = {"POLICY": policy(connect), "STYLE": _part("lab.css"), "CONTENT": text, "SCRIPT": _part("lab.js")}
    for name, part in parts.items():
        page = page.replace(f"%{name}%", part, 1)
    return page


def _part(name: str) -> str:
    return resources.files(__name__).joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
