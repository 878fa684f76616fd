"""The committed records are whole, one for each claim, and together no more than the multiple-testing rule allows."""

import json
import subprocess
from pathlib import Path

import pytest

from featavg.experiments import Registry
from featavg.record import FAMILY, read_folder, read_record
from featavg.record.provenance import CHANGES

RESULTS = Path(__file__).parents[2] / "results"
RECORDS = sorted(str(path.relative_to(RESULTS)) for path in RESULTS.rglob("*.json"))
# Hours of training per seed: its record says what three pairs of networks can say, with intervals over points.
FEWER_SEEDS = {"cifar_robustness": 3}


def test_every_claim_has_a_reference_record_over_enough_seeds():
    records, complaints = read_folder(RESULTS)
    assert not complaints
    assert {record.name for record in records} == set(Registry().names)
    assert all(len(record.seeds) >= FEWER_SEEDS.get(record.name, 5) for record in records)


def test_intervals_are_wide_enough_for_all_claims_together():
    records, _ = read_folder(RESULTS)
    assert sum(len(record.claims) for record in records) <= FAMILY


@pytest.mark.parametrize("path", RECORDS)
def test_a_reference_record_holds_what_its_drawings_want(path):
    record = read_record(RESULTS / path)
    for drawing in record.evidence.drawings:
        given = drawing.arguments(record.evidence.table)
        assert {*drawing.arrays, *drawing.options} <= set(given)


def git(*arguments):
    return subprocess.run(["git", "-C", str(RESULTS.parent), *arguments], capture_output=True, text=True)


@pytest.fixture(scope="module")
def history():
    top = git("rev-parse", "--show-toplevel")
    if top.returncode or Path(top.stdout.strip()) != RESULTS.parent.resolve():
        pytest.skip("these files are no git checkout, so there is no history to look in")
    if git("rev-parse", "--is-shallow-repository").stdout.strip() == "true":
        pytest.skip("the clone is shallow; `git fetch --unshallow` brings the history to look in")


@pytest.mark.usefixtures("history")
@pytest.mark.parametrize("path", RECORDS)
def test_the_code_that_made_a_reference_record_is_in_the_history(path):
    commit = json.loads((RESULTS / path).read_bytes())["commit"].removesuffix(CHANGES)
    assert git("merge-base", "--is-ancestor", commit, "HEAD").returncode == 0, (
        f"{path} cites {commit}, which is not in the history; run it again from a committed tree"
    )
