"""The page in a real browser: it draws what it is given, asks nobody else, and what is dragged is what is computed."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

from featavg import Budget
from featavg.lab import Lab, Way, offline_page, packed_states, setting_from, state

sys.path.insert(0, str(Path(__file__).parents[1]))
from browser import CHROMIUM, Browser

pytestmark = pytest.mark.skipif(not CHROMIUM, reason="no Chromium here: the lab's page was not opened in a browser")
DRAG = """(() => {{ const one = document.querySelector('input[type=range][name={name}]'); one.value = {value};
one.dispatchEvent(new Event('input', {{bubbles: true}})); }})()"""
VALUES = (
    "[...document.querySelectorAll('#lab-numbers dd')].map((one) => [one.dataset.name, JSON.parse(one.dataset.value)])"
)

NAMELESS = """[...document.querySelectorAll('input,button,svg[role=img]')].filter((one) =>
  !(one.labels && one.labels.length) && !one.getAttribute('aria-label') && !one.textContent.trim()).length"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("profile")) as one:
        yield one


def drag(browser: Browser, name: str, value: float) -> None:
    browser.run(DRAG.format(name=name, value=value))


def test_from_disk_it_walks_through_its_states_and_asks_nobody(browser: Browser, tmp_path: Path) -> None:
    evil = "</script><img src=x onerror=document.title='fooled'>"
    way = Way(evil, {"labels": (2, 4), "samples": (50,)}, {"labels": 2, "samples": 50})
    path = tmp_path / "lab.html"
    path.write_text(offline_page(packed_states([way])), encoding="utf-8")
    browser.errors.clear()
    browser.requests.clear()
    browser.go(path.as_uri())
    before = browser.until(
        "document.querySelector('#lab-alignment rect title') && document.querySelector('#lab-curve').innerHTML"
    )
    assert evil in browser.run("document.querySelector('#lab-controls').textContent")
    assert browser.run("document.title") == "featavg: the lab"
    drag(browser, "labels", 1)
    assert browser.run("document.querySelector('#lab-curve').innerHTML") != before
    assert dict(browser.run(VALUES))["median"] == state(way.settings[1])["numbers"]["median"]
    assert browser.run("document.querySelector('#lab-sentence').textContent") == state(way.settings[1])["sentence"]
    assert browser.run("document.documentElement.scrollWidth <= innerWidth")
    assert browser.requests == [path.as_uri()]
    assert browser.errors == []
    for paper in ("light", "dark"):
        browser.run(f"document.getElementById('paper-{paper}').click()")
        assert browser.faults() == []


def test_everything_that_can_be_moved_or_seen_has_a_name(browser: Browser) -> None:
    assert browser.run("document.querySelectorAll('input[type=range]').length") > 0
    assert browser.run("document.querySelectorAll('svg[role=img]').length") > 0
    assert browser.run(NAMELESS) == 0
    assert browser.run("document.documentElement.lang") == "en"


def test_a_saved_picture_stands_alone(browser: Browser, tmp_path: Path) -> None:
    """Its colours are numbers that any program reads, since the page that names them stays behind."""
    browser.run("window.kept = ''; download = (name, type, text) => { window.kept = text; }; saveFigure('slice')")
    saved = browser.run("window.kept")
    assert saved.startswith("<svg")
    assert "var(" not in saved
    assert "color(" not in saved
    assert "rgb(" in saved
    ElementTree.fromstring(saved)


def test_a_drag_shows_the_librarys_numbers_and_the_impossible_is_said(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("featavg.lab.server.DRAG", Budget())  # a busy machine must not leave points open
    lab = Lab(port=0)
    thread = threading.Thread(target=lab.serve)
    thread.start()
    try:
        browser.errors.clear()
        browser.requests.clear()
        browser.go(lab.address)
        browser.until("!!document.querySelector('#lab-numbers dd') || !document.querySelector('#lab-trouble').hidden")
        assert browser.run("document.querySelector('#lab-trouble').textContent") == ""
        drag(browser, "samples", 100)
        drag(browser, "labels", 10)
        drag(browser, "dim", 9)
        browser.until("shown.setting.dim === 1e9 && shown.setting.labels === 10")
        sent = setting_from({"samples": 100, "labels": 10, "dim": 10**9})
        assert dict(browser.run(VALUES)) == {
            name: value for name, value in state(sent)["numbers"].items() if name in dict(browser.run(VALUES))
        }
        drag(browser, "neurons", 4)
        browser.until("!document.querySelector('#lab-trouble').hidden")
        assert "need a neuron each" in browser.run("document.querySelector('#lab-trouble').textContent")
        evil = "<img src=x onerror=document.title=1>"
        browser.run(f"trouble({json.dumps(evil)})")
        assert browser.run("document.querySelector('#lab-trouble').textContent") == evil
        assert browser.run("document.querySelectorAll('img').length") == 0
        assert browser.faults() == []
        assert browser.run(NAMELESS) == 0
        assert all(url.startswith(lab.address) or url == "data:," for url in browser.requests)
        assert browser.errors == []
    finally:
        lab.stop()
        thread.join()
