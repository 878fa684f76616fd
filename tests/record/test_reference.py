"""The committed records are whole, one for each claim, and together no more than the multiple-testing rule allows."""

from pathlib import Path

from featavg.experiments import Registry
from featavg.record import FAMILY, read_folder

RESULTS = Path(__file__).parents[2] / "results"
# Hours of training a seed: its record says what three pairs of networks can say, with intervals over points.
FEWER_SEEDS = {"cifar_robustness": 3}


def test_every_claim_has_a_reference_record_over_enough_seeds():
    records, complaints = read_folder(RESULTS)
    assert not complaints
    assert {record.name for record in records} == set(Registry().names)
    assert all(len(record.seeds) >= FEWER_SEEDS.get(record.name, 5) for record in records)


def test_intervals_are_wide_enough_for_all_claims_together():
    records, _ = read_folder(RESULTS)
    assert sum(len(record.claims) for record in records) <= FAMILY
