"""The report in a real browser, from disk: it asks nobody, its lab walks, its filter filters, everybody can read it."""

from __future__ import annotations

import base64
import gzip
import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from featavg.lab import Way, inside, packed_states
from featavg.record import read_record
from featavg.report import write_report

sys.path.insert(0, str(Path(__file__).parents[1]))
from browser import CHROMIUM, Browser

pytestmark = pytest.mark.skipif(not CHROMIUM, reason="no Chromium here: the report was not opened in a browser")
RESULTS = Path(__file__).parents[2] / "results"
NAMES = ("averaging", "decoupling", "robustness", "scaling")
EVIL = "<img src=x onerror=document.title='fooled'>"
WAY = Way(EVIL, {"labels": (2, 4), "samples": (20, 40)}, {"labels": 2, "samples": 40})
SHOWN = (
    "[...document.querySelectorAll('#lab-numbers dd')].map((one) => [one.dataset.name, JSON.parse(one.dataset.value)])"
)
DOTS = "[...document.querySelectorAll('.chart .dot')]"
VISIBLE = f"{DOTS}.filter((one) => one.checkVisibility()).map((one) => one.dataset.verdict)"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("profile")) as one:
        yield one


@pytest.fixture(scope="module")
def states() -> bytes:
    return packed_states([WAY])


@pytest.fixture(scope="module")
def page(states: bytes, tmp_path_factory: pytest.TempPathFactory) -> Path:
    records = [read_record(RESULTS / f"{name}.json") for name in NAMES]
    records[0] = replace(records[0], title=EVIL)
    path = tmp_path_factory.mktemp("report") / "report.html"
    return write_report(records, path, themes={"averaging": EVIL}, lab=inside(states))


@pytest.fixture
def opened(browser: Browser, page: Path) -> Browser:
    browser.errors.clear()
    browser.requests.clear()
    browser.go(page.as_uri())
    browser.until("document.querySelector('#lab-alignment rect title') !== null")
    return browser


def drag(browser: Browser, name: str, value: int) -> None:
    browser.run(
        f"(() => {{ const one = document.getElementById('lab-range-{name}'); one.value = {value}; "
        "one.dispatchEvent(new Event('input', {bubbles: true})); })()"
    )


def test_it_opens_from_disk_without_an_error_and_asks_nobody(opened: Browser, page: Path) -> None:
    outside = [url for url in opened.requests if not url.startswith("data:")]
    assert outside == [page.as_uri()]
    assert opened.errors == []
    assert opened.run("document.title") == "featavg: Feature averaging, claim by claim"
    assert EVIL in opened.run("document.querySelector('main').textContent")
    assert EVIL in opened.run("document.querySelector('#lab-controls').textContent")
    assert opened.run("document.documentElement.scrollWidth <= innerWidth")


def test_sliders_show_the_states_that_python_computed(opened: Browser, states: bytes) -> None:
    way = json.loads(gzip.decompress(states))["ways"][0]
    before = opened.run("document.querySelector('#lab-curve').innerHTML")
    for place, (labels, samples) in ((1, (0, 1)), (2, (1, 0)), (3, (1, 1))):
        drag(opened, "labels", labels)
        drag(opened, "samples", samples)
        shown = dict(opened.run(SHOWN))
        assert shown == {name: value for name, value in way["states"][place]["numbers"].items() if name in shown}
        assert opened.run("document.querySelector('#lab-sentence').textContent") == way["states"][place]["sentence"]
    assert opened.run("document.querySelector('#lab-curve').innerHTML") != before


def test_the_radius_that_is_looked_at_moves_through_the_curve_and_the_slice(opened: Browser, states: bytes) -> None:
    first = json.loads(gzip.decompress(states))["ways"][0]["states"][1]  # where the walk begins
    for index in (0, 20, 80):
        drag(opened, "radius", index)
        told = opened.run("document.querySelector('#lab-curve').textContent")
        for line in first["curve"]["lines"]:
            assert f"{line['name']}: {line['y'][index]:.2f}" in told
        drawn = opened.run("document.querySelector('#lab-curve line.radius').getAttribute('x1')")
        assert float(drawn) == pytest.approx(58 + index / 80 * (440 - 58 - 12), abs=0.1)  # left edge, width of the axes
    drag(opened, "radius", 8)
    ends = first["slice"]["places"][-1]
    circle = float(opened.run("document.querySelector('#lab-slice circle.radius').getAttribute('r')"))
    assert circle == pytest.approx(first["curve"]["radii"][8] / ends * (300 - 44 - 10) / 2, rel=1e-6)


def test_the_filter_leaves_one_verdict_and_the_paper_turns(opened: Browser) -> None:
    assert len(set(opened.run(VISIBLE))) > 1
    opened.run("document.getElementById('show-fails').click()")
    assert set(opened.run(VISIBLE)) == {"fails"}
    background = "getComputedStyle(document.body).backgroundColor"
    opened.run("document.getElementById('paper-light').click()")
    light = opened.run(background)
    opened.run("document.getElementById('paper-dark').click()")
    assert opened.run(background) != light


def press(browser: Browser, key: str, code: int, text: str = "") -> None:
    for kind in ("keyDown", "keyUp"):
        browser.ask("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, text=text)


def test_words_leave_the_claims_and_chapters_that_have_them(opened: Browser) -> None:
    visible = f"{DOTS}.filter((one) => one.checkVisibility()).map((one) => one.title)"
    chapters = "[...document.querySelectorAll('.chapter')].filter((one) => one.checkVisibility()).map((one) => one.id)"
    everything, names = opened.run(visible), opened.run(chapters)
    for _ in range(20):  # the contents come first
        press(opened, "Tab", 9)
        if opened.run("document.activeElement.matches('search input')"):
            break
    assert opened.run("document.activeElement.labels[0].textContent").strip() == "Search"
    opened.ask("Input.insertText", text="million NEAREST-center")  # of a tolerance's reason
    (only,) = opened.run(visible)
    assert only.endswith("The decoupled network is nearly as robust as any classifier can be.")
    assert opened.run(chapters) == ["drag", "robustness", "numbers"]
    assert opened.run("document.querySelector('search output').textContent") == "1 claim in 1 chapter"
    press(opened, "Enter", 13, "\r")
    assert opened.run(visible) == [only]
    opened.run("document.querySelector('search input').select()")
    opened.ask("Input.insertText", text="nowhere to be found")
    assert opened.run(visible) == []
    assert opened.run("document.querySelector('search output').textContent") == "0 claims in 0 chapters"
    assert opened.run("[...document.querySelectorAll('#verdicts h3')].every((one) => !one.checkVisibility())")
    press(opened, "Escape", 27)
    assert opened.run(visible) == everything
    assert opened.run(chapters) == names
    assert opened.errors == []


def test_a_link_opens_the_chapter_it_leads_to(opened: Browser) -> None:
    assert not opened.run("document.getElementById('scaling').open")
    opened.run("document.querySelector('nav a[href=\"#scaling\"]').click()")
    opened.until("document.getElementById('scaling').open")


@pytest.mark.parametrize("paper", ["light", "dark"])
def test_no_serious_fault_for_people_who_see_or_move_otherwise(opened: Browser, paper: str) -> None:
    opened.run(f"document.getElementById('paper-{paper}').click()")
    opened.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert opened.faults() == []


def test_on_a_phone_nothing_is_wider_than_the_screen(opened: Browser) -> None:
    opened.ask("Emulation.setDeviceMetricsOverride", width=390, height=844, deviceScaleFactor=1, mobile=True)
    try:
        assert opened.run("document.documentElement.scrollWidth") <= 390
    finally:
        opened.ask("Emulation.clearDeviceMetricsOverride")


def test_printed_it_is_light_unfolded_and_without_what_only_moves(opened: Browser) -> None:
    opened.run("document.getElementById('paper-dark').click()")
    opened.ask("Emulation.setEmulatedMedia", media="print")
    try:
        for moving in ("#drag", ".choices", "search", "nav"):
            assert not opened.run(f"document.querySelector('{moving}').checkVisibility()")
        assert opened.run("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert not opened.run("document.querySelector('#robustness .claims details').checkVisibility()")
        assert opened.run("document.querySelector('#robustness .claims').checkVisibility()")
        sheet = base64.b64decode(opened.ask("Page.printToPDF")["data"])
        assert sheet.startswith(b"%PDF")
    finally:
        opened.ask("Emulation.setEmulatedMedia", media="")
