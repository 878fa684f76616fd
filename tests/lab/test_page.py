"""The page in a real browser: it draws what it is given, asks nobody else, and what is dragged is what is computed."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from featavg import Budget
from featavg.lab import Lab, Setting, offline_page, setting_from, state

sys.path.insert(0, str(Path(__file__).parent))
from browser import CHROMIUM, Browser

SMALL = Setting(clusters=4, dim=10**6, samples=50, steps=10, neurons=4)
pytestmark = pytest.mark.skipif(not CHROMIUM, reason="no Chromium here: the lab's page was not opened in a browser")
DRAG = """(() => {{ const one = document.querySelector('input[type=range][name={name}]'); one.value = {value};
one.dispatchEvent(new Event('input', {{bubbles: true}})); }})()"""
VALUES = "[...document.querySelectorAll('#numbers dd')].map((one) => [one.dataset.name, JSON.parse(one.dataset.value)])"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("profile")) as one:
        yield one


def drag(browser: Browser, name: str, value: float) -> None:
    browser.run(DRAG.format(name=name, value=value))


def test_from_disk_it_walks_through_its_states_and_asks_nobody(browser: Browser, tmp_path: Path) -> None:
    evil = "</script><img src=x onerror=document.title='fooled'>"
    settings = [Setting(**{**SMALL.__dict__, "labels": labels}) for labels in (2, 4)]
    path = tmp_path / "lab.html"
    path.write_text(offline_page([{"title": evil, "field": "labels", "settings": settings}]), encoding="utf-8")
    browser.errors.clear()
    browser.requests.clear()
    browser.go(path.as_uri())
    before = browser.until(
        "document.querySelector('#alignment rect title') && document.querySelector('#curve').innerHTML"
    )
    assert evil in browser.run("document.querySelector('#controls').textContent")
    assert browser.run("document.title") == "featavg: the lab"
    drag(browser, "labels", 1)
    assert browser.run("document.querySelector('#curve').innerHTML") != before
    assert dict(browser.run(VALUES))["median"] == state(settings[1])["numbers"]["median"]
    assert browser.run("document.querySelector('#sentence').textContent") == state(settings[1])["sentence"]
    assert browser.run("document.documentElement.scrollWidth <= innerWidth")
    assert browser.requests == [path.as_uri()]
    assert browser.errors == []


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
        browser.until("!!document.querySelector('#numbers dd') || !document.querySelector('#trouble').hidden")
        assert browser.run("document.querySelector('#trouble').textContent") == ""
        drag(browser, "samples", 100)
        drag(browser, "labels", 10)
        drag(browser, "dim", 9)
        browser.until("shown.setting.dim === 1e9 && shown.setting.labels === 10")
        sent = setting_from({"samples": 100, "labels": 10, "dim": 10**9})
        assert dict(browser.run(VALUES)) == {
            name: value for name, value in state(sent)["numbers"].items() if name in dict(browser.run(VALUES))
        }
        drag(browser, "neurons", 4)
        browser.until("!document.querySelector('#trouble').hidden")
        assert "need a neuron each" in browser.run("document.querySelector('#trouble').textContent")
        evil = "<img src=x onerror=document.title=1>"
        browser.run(f"trouble({json.dumps(evil)})")
        assert browser.run("document.querySelector('#trouble').textContent") == evil
        assert browser.run("document.querySelectorAll('img').length") == 0
        assert all(url.startswith(lab.address) or url == "data:," for url in browser.requests)
        assert browser.errors == []
    finally:
        lab.stop()
        thread.join()


def test_everything_that_can_be_moved_has_a_name(browser: Browser) -> None:
    nameless = """[...document.querySelectorAll('input,button,svg[role=img]')].filter((one) =>
      !(one.labels && one.labels.length) && !one.getAttribute('aria-label') && !one.textContent.trim()).length"""
    assert browser.run("document.querySelectorAll('input[type=range]').length") > 0
    assert browser.run(nameless) == 0
    assert browser.run("document.documentElement.lang") == "en"
