"""What the lab says is what the library says, by another way wherever there is one."""

from __future__ import annotations

import base64
import gzip
import json
import subprocess
import sys
from dataclasses import asdict, replace

import numpy as np
import pytest

import featavg as fa
from featavg.lab import SLIDERS, WAYS, Setting, Way, offline_page, packed_states, setting_from, state
from featavg.lab.page import policy
from featavg.lab.powers import PowerQuestion
from featavg.lab.run import data_of, groups, run_of
from featavg.lab.walks import shipped_states
from featavg.show.slice import slice_through

SMALL = Setting(clusters=6, dim=10**6, samples=120, steps=30, neurons=6)


def executed(setting: Setting) -> dict:
    """What the code that the page shows computes."""
    names: dict = {}
    exec(setting.code, names)
    return names


@pytest.mark.parametrize("change", [{}, {"labels": 6}, {"labels": 4, "neurons": 9}, {"correlation": 0.2}])
def test_the_code_of_a_setting_gives_the_numbers_of_its_state(change: dict) -> None:
    setting = replace(SMALL, **change)
    found, names = state(setting), executed(setting)
    assert found["numbers"]["median"] == pytest.approx(np.median(names["radius"].upper), rel=1e-9)
    assert found["numbers"]["exact"] == 200
    centers = data_of(setting).centers
    assert np.allclose(found["alignment"]["values"], fa.alignment(names["run"].final, centers), atol=1e-5)
    curve = found["curve"]
    (line,) = (one for one in curve["lines"] if one["kind"] == "exact")
    # Radii are written with few digits: a jump of the curve may lie between a radius and what is written of it.
    allowed = np.mean(np.abs(names["radius"].upper[:, None] - curve["radii"]) < 1e-4 * curve["radii"][-1], axis=0)
    assert (np.abs(line["y"] - fa.robust_accuracy(names["radius"], curve["radii"]).upper) <= allowed + 1e-5).all()


def test_lambda_is_that_of_the_decomposition() -> None:
    setting = replace(SMALL, neuron=4)
    found = state(setting)["coefficients"]
    run = run_of(setting)
    expected = fa.decompose(run, data_of(setting)).feature[:, 4].T
    assert np.allclose(found["lines"], expected, rtol=1e-5)
    assert found["steps"] == run.steps.tolist()
    assert found["kinds"] == ["other class"] * 3 + ["own label"] * 3


def test_attacks_lie_above_what_is_proved_and_powers_are_attacked_only() -> None:
    curve = {line["kind"]: np.array(line["y"]) for line in state(replace(SMALL, labels=6))["curve"]["lines"]}
    assert (curve["attack"] >= curve["exact"] - 1e-9).all()
    powers = state(replace(SMALL, power=2))
    assert {line["kind"] for line in powers["curve"]["lines"]} == {"attack"}
    assert all("upper bound" in line["name"] for line in powers["curve"]["lines"])
    assert "upper bound by attacks" in powers["sentence"]
    assert powers["numbers"]["exact"] == 0


def test_a_power_of_one_is_the_question_of_the_library_and_slopes_are_differences() -> None:
    run, data = run_of(SMALL), data_of(SMALL)
    test = data.resample(5, seed=3)
    asked = PowerQuestion(run.final, test.x, (test.y > 0).astype(int), run.final.readout)
    assert np.array_equal(asked.margins(test.x), run.final.margins(test.x, test.y))
    power = run_of(replace(SMALL, power=3))
    asked = replace(asked, network=power.final)
    margins, slopes = asked.slopes(test.x)
    step = np.random.default_rng(0).standard_normal(test.x.shape)
    moved = [asked.margins(test.x + t * step) for t in (1e-4, -1e-4)]
    assert np.allclose((moved[0] - moved[1]) / 2e-4, (slopes * step).sum(axis=1), rtol=1e-4)
    assert np.array_equal(margins, asked.margins(test.x))


def test_a_slice_holds_the_witness_on_its_boundary_and_is_the_margin_itself() -> None:
    run, data = run_of(SMALL), data_of(SMALL)
    test = data.resample(3, seed=1)
    bracket = fa.robust_radius(run.final, test.x, test.y)
    direction = -test.y[1] * (data.center_labels @ data.centers)
    cut = slice_through(bracket.question, 1, bracket.witness[1], direction, -test.x[1])
    assert np.linalg.norm(cut.witness) == pytest.approx(bracket.upper[1], rel=1e-9)
    middle = len(cut.places) // 2
    assert cut.margins[middle, middle] == pytest.approx(bracket.question.margins(test.x)[1])
    u = direction / np.linalg.norm(direction)
    along = [run.final.margins((test.x[1] + a * u)[None], test.y[1:2])[0] for a in cut.places]
    assert np.allclose(cut.margins[middle], along)
    line = np.concatenate(cut.boundary)
    step = cut.places[1] - cut.places[0]
    assert np.hypot(*(line - cut.witness).T).min() < step
    assert (np.hypot(*line.T) > bracket.lower[1] - step).all()


def test_labels_share_clusters_of_one_class() -> None:
    for clusters in (2, 5, 10, 13):
        labels = fa.sample_clusters(clusters=clusters, dim=100, samples=5, seed=0).center_labels
        for count in range(2, clusters + 1):
            found = groups(labels, count)
            assert sorted(set(found)) == list(range(count))
            assert all(len(set(labels[found == label])) == 1 for label in range(count))


def test_the_sentence_changes_with_the_state() -> None:
    said = [state(replace(SMALL, **change))["sentence"] for change in ({}, {"labels": 6}, {"steps": 1, "start": 1e4})]
    assert "holds the average" in said[0]
    assert "single features" in said[1]
    assert "does not classify" in said[2]


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"labels": 11}, "cannot carry 11 labels"),
        ({"labels": 8, "neurons": 4}, "need a neuron each"),
        ({"clusters": 40, "correlation": -0.1}, "must exceed −1/39"),
        ({"dim": 10**13}, "must be a number"),
        ({"dim": 50}, "between 100 and 1e\\+12"),
        ({"noise": float("nan")}, "must be a number"),
        ({"clusters": "<img src=x onerror=alert(1)>"}, "must be a number, got '<img"),
        ({"<b>": 1}, "a setting has clusters"),
        ([], "table of numbers"),
    ],
)
def test_what_cannot_be_is_one_sentence(values: object, sentence: str) -> None:
    with pytest.raises(fa.InputError, match=sentence):
        setting_from(values)


def test_every_corner_of_the_sliders_is_a_state_or_a_sentence() -> None:
    for slider in SLIDERS:
        for end in (slider.low, slider.high):
            value = 10**end if slider.log else end
            if slider.name in ("clusters", "samples", "neurons") and end == slider.high:
                continue  # large, not odd
            try:
                setting = setting_from({"samples": 40, "steps": 5, slider.name: value})
            except fa.InputError:
                continue
            json.dumps(state(setting), allow_nan=False)


def test_a_page_from_disk_holds_its_states_and_nothing_ends_them_early() -> None:
    way = Way(
        "</script><img src=x onerror=alert(1)>", {"clusters": (4,), "dim": (10**6,)}, {"clusters": 4, "dim": 10**6}
    )
    page = offline_page(packed_states([way]))
    assert page.count("<script") == page.count("</script>") == 2
    assert "<img" not in page
    start = page.index('id="lab-content">') + len('id="lab-content">')
    content = json.loads(page[start : page.index("</script>", start)])
    states = json.loads(gzip.decompress(base64.b64decode(content["packed"])))
    (setting,) = way.settings
    assert setting == Setting(clusters=4, dim=10**6)
    assert states["ways"][0]["states"][0]["numbers"] == state(setting)["numbers"]
    assert policy("'none'") in page


def test_the_shipped_states_are_those_of_the_ways_and_what_the_library_computes() -> None:
    found = json.loads(gzip.decompress(shipped_states()))["ways"]
    assert [way["title"] for way in found] == [way.title for way in WAYS]
    for way, given in zip(found, WAYS, strict=True):
        assert [one["setting"] for one in way["states"]] == [asdict(setting) for setting in given.settings]
        assert all(one["numbers"]["exact"] == one["numbers"]["points"] for one in way["states"])
        assert np.prod([len(field["told"]) for field in way["fields"]]) == len(way["states"])
    # One state of each way again; another processor may round the last digits differently.
    for way, number in zip(found, (8, 4, 12), strict=True):
        kept = way["states"][number]
        again = state(setting_from(kept["setting"]))
        for name, value in kept["numbers"].items():
            assert again["numbers"][name] == (pytest.approx(value, rel=1e-6) if isinstance(value, float) else value)
        assert np.allclose(again["alignment"]["values"], kept["alignment"]["values"], atol=2e-5)
        assert again["sentence"] == kept["sentence"]


def test_whoever_only_draws_does_not_wait_for_what_computes() -> None:
    script = (
        "import sys; from featavg.lab import inside; inside(); print({'numba', 'torch', 'sklearn'} & set(sys.modules))"
    )
    assert subprocess.check_output([sys.executable, "-c", script], text=True).strip() == "set()"
