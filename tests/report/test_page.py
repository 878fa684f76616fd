"""The page is one file, safe whatever the records say, and says what the records say."""

import base64
import hashlib
import re
import subprocess
import sys
from dataclasses import dataclass, replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from featavg import InputError
from featavg.experiments.paper import robustness
from featavg.record import Claim, Drawing, Evidence, Record, Result, Table, count_verdicts, read_record
from featavg.record.words import number
from featavg.report import OVER_POINTS, page, write_report
from featavg.report.story import DEFAULT, OWN, _continued
from featavg.report.verdicts import scale

EVIL = "<script>alert('&')</script>\"><img src=http://x.y/z onerror=a>"
VOID = {"meta", "br", "img", "link", "input"}


def make_record(name="toy", text="The cosine is 1/√5.", words="plain"):
    fields = {"source": words, "expected": 0.447, "tolerance": 0.02, "tolerance_reason": words, "how": words}
    claims = (
        Claim.over_seeds([0.441, 0.443, 0.442] * 4, text, published=0.44, unit=words, **fields),
        Claim.exact(9.0, "It fails.", **fields),
        Claim.exact(0.1, "It says nothing.", relation="at most", vacuous=words, **fields),
        Claim.over_seeds([0.4], "It is open.", **fields),
    )
    drawings = (
        Drawing("heatmap", {"values": "square"}, f"A square. {words}", {"title": words, "row_labels": [words, "b"]}),
        Drawing("curves", {"x": "x", "y": "x"}, f"A line. {words}", {"labels": [words]}),
    )
    evidence = Evidence(Table.of({"square": np.eye(2), "x": np.arange(3)}), drawings, (f"Note {words}",))
    config = {"dim": 3072, "words": words}
    return Record(name, f"Toy {words}", config, (0, 1, 2), claims, evidence)


def make_result(words="plain"):
    record = make_record("users", words=words)
    facts = (("", "before", "after"), (f"accuracy {words}", "0.5", words))
    return Result("users", f"It helped {words}.", facts, {"seed": 9}, record.claims, record.evidence)


class Structure(HTMLParser):
    """Collects ids and links, and fails where an element is not closed in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.links, self.tags = [], [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.tags.append(tag)
        self.ids += [values["id"]] if "id" in values else []
        self.links += [values[name] for name in ("href", "xlink:href", "src") if name in values]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def text():
    return page([make_record("alpha"), make_record("beta")])


def test_the_page_needs_no_other_file_and_no_network(text):
    assert not re.search(r"https?:|@import|url\((?!#)", text)
    structure = Structure(text)
    assert not {"script", "link", "img", "iframe", "object", "button"} & set(structure.tags)
    assert all(link.startswith(("#", "data:image/png;base64,")) for link in structure.links)


def test_ids_are_unique_and_every_link_arrives(text):
    structure = Structure(text)
    assert len(set(structure.ids)) == len(structure.ids)
    assert {link[1:] for link in structure.links if link.startswith("#")} <= set(structure.ids)
    assert set(re.findall(r"url\(#([^)]*)\)", text)) <= set(structure.ids)


def test_whatever_a_record_says_is_text():
    hostile = page([make_record(text=EVIL, words=EVIL)])
    tags = set(Structure(hostile).tags)
    assert not {"script", "img"} & tags
    assert hostile.count("&lt;script&gt;") >= 12


def test_a_check_is_told_from_the_claims_that_are_counted():
    record = make_record("alpha")
    checked = replace(record, claims=(replace(record.claims[0], check=True), *record.claims[1:]))
    text = page([checked])
    assert "3 claims in 1 experiment" in text
    assert "● check holds<" in text
    assert re.search(r"<a class='dot holds check'[^>]*title='check holds: The cosine", text)


def test_summary_and_table_show_the_numbers():
    text = page([make_record(name) for name in ("alpha", "beta", "gamma")])
    assert "12 claims in 3 experiments: 3 hold, 3 fail, 3 open, 3 vacuous." in text
    text = text[text.index('<table class="verdicts">') :] + text
    row = text[text.index("The cosine is") : text.index("</tr>", text.index("The cosine is"))]
    for cell in ("≈ 0.447", ">0.442<", "0.4", ">0.02<", ">0.44<", "● holds<"):
        assert cell in row, cell
    assert "−∞ … ∞" in text
    assert "Student-t over seeds at level 1 − 0.05/500" in text


def test_each_record_has_its_figures_captions_and_origin(text):
    section = text[text.index("<details class='chapter' id='beta'") :]
    assert section.count("<svg role=") == section.count("<figcaption>") == 2
    assert section.count("<svg class='scale") == 4  # one for each claim
    assert section.index("<figure>") < section.index("<ol class='claims'>")
    assert "featavg reproduce beta" in section
    for part in ("A square. plain", "A line. plain", "Note plain", "3072", "0, 1, 2", "numpy", "commit"):
        assert part in section, part


def test_figures_take_the_ink_of_the_page_and_keep_text_as_text(text):
    assert "#24292f" not in text
    assert "currentColor" in text
    assert re.search(r"<text[^>]*>neuron</text>", text)


def test_the_same_records_give_the_same_page(text):
    assert page([make_record("alpha"), make_record("beta")]) == text


def test_a_record_without_claims_or_drawings_is_a_section():
    bare = Record("bare", "Nothing yet", {}, (), ())
    assert "0 claims in 1 experiment: no claims." in page([bare])


def test_the_page_is_written_whole_or_refused(tmp_path):
    path = write_report([make_record()], tmp_path / "new" / "report.html")
    assert path.read_text(encoding="utf-8").endswith("</html>\n")
    assert [file.name for file in path.parent.iterdir()] == ["report.html"]
    with pytest.raises(InputError, match="cannot make the folder"):
        write_report([make_record()], path / "below" / "report.html")


def test_a_result_shows_its_verdict_facts_and_settings():
    text = page([make_result()], "What refinement changed", intervals=OVER_POINTS)
    assert "What holds, what fails" not in text  # the page is about the user's model
    assert "bootstraps over the points" in text
    section = text[text.index("<details class='chapter' id='users'") :]
    assert section.index("It helped plain.") < section.index("<td>0.5</td>") < section.index("<td>yes</td>")
    body = text[text.index("<body>") :]
    assert not re.findall("claim|tolerance|published|expected|holds", body.casefold())  # words of our own records
    assert "<dt>seed</dt><dd>9</dd>" in section
    assert "seeds used" not in section
    assert section.count("<svg role=") == 2
    assert "featavg reproduce" not in section
    assert " open>" in section[:200]
    hostile = page([make_result(EVIL)])
    assert not {"script", "img"} & set(Structure(hostile).tags)
    with pytest.raises(InputError, match="settings of the result 'users' must be JSON"):
        replace(make_result(), settings={"x": np.arange(2)})


def test_the_report_sees_only_records():
    script = "import sys, featavg.report; print([m for m in sys.modules if m.startswith('featavg.exp')])"
    assert subprocess.check_output([sys.executable, "-c", script], text=True).strip() == "[]"


def test_a_page_says_what_its_own_intervals_are():
    text = page([make_record("alpha")], intervals=OVER_POINTS)
    assert "bootstraps over the points" in text
    assert "Student-t" not in text


RESULTS = Path(__file__).parents[2] / "results"


def test_the_page_begins_with_the_story_of_the_records_that_tell_it():
    records = [read_record(RESULTS / f"{name}.json") for name in ("averaging", "decoupling", "robustness", "scaling")]
    text = page(records)
    first = text[text.index("<main>") : text.index("<section id='verdicts'>")]
    assert re.findall(r"<figure><h2>(.*?)</h2>", first) == ["What averaging is", "Why it hurts", "What helps"]
    counts = count_verdicts(claim for record in records for claim in record.claims)
    assert f"How sure are we?</strong> {counts['holds']} of {sum(counts.values())} claims hold" in first
    assert first.count("<rect") >= 200  # two matrices of ten by ten
    for record, words in ((0, "the same cosine"), (2, "half of its points are fooled")):
        measured = number(records[record].claims[0].measured)
        assert f"{words} (measured: {measured})" in first
    assert "coarse labels, exact" in first
    structure = Structure(text)
    assert len(set(structure.ids)) == len(structure.ids)
    assert {link[1:] for link in structure.links if link.startswith("#")} <= set(structure.ids)
    assert re.search(r"<details class='chapter' id='averaging' data-has='[^']*holds[^']*'><summary>", text)  # folded
    assert "<section class='story'" not in page([make_record()])


OVERSTATED = "At radius 18 a library's default PGD"


def robustness_record(default):
    """The committed record with the lines of one that is newer, or older, than the attack with default settings."""
    record = read_record(RESULTS / "robustness.json")
    lines = {"exact": "exact", "theory": "theory", "pgd": "PGD, 40 steps"}
    lines |= {"walk": "PGD, a library's default"} if default else {}  # another column stands in for it
    look = {"labels": list(lines.values())}
    drawings = tuple(
        replace(one, arrays={**one.arrays, "y": tuple(lines)}, options={**one.options, **look})
        for one in record.evidence.drawings
    )
    claims = [one for one in record.claims if not one.text.startswith(OVERSTATED)]
    fields = {"source": "s", "expected": 0.5, "tolerance": 0.0, "tolerance_reason": "r", "relation": "at least"}
    claims += [Claim.exact(0.654, f"{OVERSTATED} errs.", **fields)] if default else []
    return replace(record, claims=tuple(claims), evidence=replace(record.evidence, drawings=drawings))


@pytest.mark.parametrize("default", [False, True])
def test_the_story_has_the_default_attack_of_new_records_and_the_attack_of_old_ones(default):
    text = page([robustness_record(default)])
    first = text[text.index("<section class='story'") : text.index("<section id='verdicts'>")]
    for network in ("coarse", "fine"):
        assert (f"{network} labels, a library's default PGD" in first) is default
        assert (f"{network} labels, 40 steps PGD" in first) is not default
    assert ("at radius 18 (measured: 0.654)." in first) is default
    assert ("an attack lies above them." in first) is not default


def test_the_story_and_the_chapter_call_the_default_attack_the_same():
    labels = [one.options["labels"] for one in robustness.drawings(robustness.Config())]
    assert all({DEFAULT, OWN} <= set(found) for found in labels)
    assert any(claim.text.startswith(OVERSTATED) for claim in robustness.CLAIMS)


def test_a_curve_ends_where_it_is_not_known():
    x = np.array([2.0, 3.0])
    np.testing.assert_array_equal(_continued(np.arange(1.0, 5.0), x, np.array([1.0, 0.0])), [1, 1, 0, 0])
    np.testing.assert_array_equal(_continued(np.arange(1.0, 5.0), x, np.array([0.9, 0.2])), [np.nan, 0.9, 0.2, np.nan])


def test_search_is_one_more_script_and_only_where_there_is_much_to_search(text):
    many = page([make_record(name) for name in ("alpha", "beta", "gamma")])
    script = many[many.index("<script>") + len("<script>") : many.index("</script>")]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}';" in many
    assert many.count("<script") == 1
    assert "<search hidden>" in many  # shown by its script
    assert "<search" not in text


def test_the_filter_and_the_dots_know_every_verdict(text):
    style = text[: text.index("</style>")]
    for verdict in ("holds", "fails", "open", "vacuous"):
        assert f"id='show-{verdict}'" in text
        assert f"body:has(#show-{verdict}:checked)" in style
        assert text.count(f"<a class='dot {verdict}' data-verdict='{verdict}'") == 2


def test_a_claim_is_drawn_where_it_lies():
    def places(measured):
        fields = {"source": "s", "expected": 10.0, "tolerance": 1.0, "tolerance_reason": "r"}
        drawn = scale(Claim.exact(measured, "c", **fields))
        low, width = (float(re.search(r"<rect x='([0-9.]+)' y='2' width='([0-9.]+)'", drawn)[i]) for i in (1, 2))
        return low, low + width, float(re.search(r"cx='([0-9.]+)'", drawn)[1])

    low, high, middle = places(10.0)
    assert middle == 60
    assert (low + high) / 2 == pytest.approx(60, abs=0.1)
    assert places(11.0)[2] == pytest.approx(high, abs=0.15)
    assert places(99.0)[2] == places(13.0)[2] == 116  # beyond the end, at the end


def test_records_come_under_the_themes_of_their_chapters_and_unknown_ones_last():
    records = [make_record(name) for name in ("own", "beta", "alpha", "gamma")]
    text = page(records, themes={"gamma": EVIL, "alpha": "Second", "absent": "Third", "beta": "Second"})
    contents = text[text.index("<nav") : text.index("</nav>")]
    assert re.findall(r"href='#(\w+)' title", contents) == ["gamma", "alpha", "beta", "own"]
    order = [contents.index(part) for part in ("&lt;script&gt;", "Second", "More")]
    assert order == sorted(order)
    assert "Third" not in text
    assert [
        text.index(f"<details class='chapter' id='{name}'") for name in ("gamma", "alpha", "beta", "own")
    ] == sorted(text.index(f"<details class='chapter' id='{name}'") for name in ("gamma", "alpha", "beta", "own"))


def test_a_lab_brings_one_script_and_the_page_allows_no_other():
    @dataclass(frozen=True)
    class Part:
        style: str = ".x {}"
        body: str = "<p id='x'>lab</p>"
        script: str = "let a = 1;"

    text = page([make_record("alpha")], lab=Part())
    assert text.count("<script") == 1
    digest = base64.b64encode(hashlib.sha256(b"let a = 1;").digest()).decode()
    assert f"script-src 'sha256-{digest}'" in text
    assert "script-src 'none'" in page([make_record("alpha")])
