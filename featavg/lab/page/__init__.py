"""The page: one file with its style, its script and its states inside; the same from disk and from the server."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from featavg.files import make_folder, write_whole
from featavg.lab.setting import SLIDERS, Setting
from featavg.lab.walks import shipped_states


@dataclass(frozen=True)
class Inside:
    """The lab as a part of another page: its style, its elements, and the script that fills them."""

    style: str
    body: str
    script: str


def inside(states: bytes | None = None) -> Inside:
    """The lab that walks through `states` (those of `packed_states`, or the shipped ones), for a page of somebody else.

    >>> part = inside()
    >>> part.body.startswith("<section"), "http" in part.script.replace("http://www.w3.org", "")
    (True, False)
    """
    packed = base64.b64encode(shipped_states() if states is None else states).decode()
    return _inside({"live": False, "packed": packed})


def live_page() -> str:
    """The page that asks its server for every state."""
    sliders = [slider.about for slider in SLIDERS]
    return _page(_inside({"live": True, "setting": asdict(Setting()), "sliders": sliders}), "'self'")


def offline_page(states: bytes | None = None) -> str:
    """The page that walks through states inside it, and needs no server."""
    return _page(inside(states), "'none'")


def write_lab(path: str | os.PathLike[str]) -> Path:
    """Write `offline_page` to `path`, whole or not at all."""
    place = Path(path)
    make_folder(place.parent)
    write_whole(place, offline_page())
    return place


def policy(connect: str) -> str:
    """What the page may do, for browsers: run its own script, and ask `connect`; nothing else, nowhere else."""
    style, script = (f"'sha256-{_hash(text)}'" for text in (_part("lab.css"), _script()))
    return (
        f"default-src 'none'; style-src {style}; script-src {script}; connect-src {connect}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _inside(content: dict[str, Any]) -> Inside:
    # Inside a script element only < could end it early.
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    return Inside(_part("lab.css"), _part("lab.html").replace("%CONTENT%", text, 1), _script())


def _page(lab: Inside, connect: str) -> str:
    page = _part("index.html")
    parts = {"POLICY": policy(connect), "STYLE": lab.style, "LAB": lab.body, "SCRIPT": lab.script}
    for name, part in parts.items():
        page = page.replace(f"%{name}%", part, 1)
    return page


def _script() -> str:
    return _part("pictures.js") + _part("lab.js")


def _part(name: str) -> str:
    return resources.files(__name__).joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
