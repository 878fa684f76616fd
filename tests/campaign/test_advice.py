"""The calibration of the advice: what it calls true is true in closed form, and its counts are what they say."""

from __future__ import annotations

import numpy as np
import pytest

from campaign.advice.case import judged
from campaign.advice.kinds import KINDS
from campaign.advice.runner import summed_up
from campaign.advice.tasks import blobs, orthogonal
from campaign.advice.truth import Truth, is_right, truth_of


@pytest.mark.parametrize("kind", ["random", "shuffled columns"])
def test_what_knows_nothing_is_at_chance(kind: str) -> None:
    case = judged(kind, 200_001)
    assert case["advice"] == "at chance"
    assert case["right"] == 1


def test_the_truth_of_an_averaging_network_is_that_of_theory() -> None:
    """k orthogonal centers of length r per class: averaging is lost at r/√(2k), nearest centers at r/√2."""
    rng = np.random.default_rng(0)
    kind = KINDS["averaging"](rng)
    learn, judge = kind.task(400, rng), kind.task(400, rng)
    each = len(np.unique(judge.group)) / 2
    found = truth_of(kind.fit(learn, rng), learn, judge, structured=True)
    # Noise blurs both radii, and the coarse network of the same training is a little better than averaging.
    assert 0.7 * np.sqrt(each) < found.gain < 1.2 * np.sqrt(each)
    assert is_right("train on finer labels", found)
    assert not is_right("will not help", found)


def test_the_truth_of_a_decoupled_network_is_that_nothing_is_left_to_gain() -> None:
    rng = np.random.default_rng(1)
    kind = KINDS["decoupled"](rng)
    learn, judge = kind.task(400, rng), kind.task(400, rng)
    found = truth_of(kind.fit(learn, rng), learn, judge, structured=True)
    assert found.gain < 1.1
    assert is_right("will not help", found)
    assert not is_right("train on finer labels", found) or found.gain > 1.0


def test_noise_exchanges_labels_and_shares_are_kept() -> None:
    centers = orthogonal(4, 10, 5.0, np.random.default_rng(0))
    np.testing.assert_allclose(centers @ centers.T, 25 * np.eye(4), atol=1e-12)
    task = blobs(centers, np.array([0, 1, 0, 1]), np.array([0.7, 0.1, 0.1, 0.1]), noise=0.1)
    draw = task(20_000, np.random.default_rng(1))
    wrong = float(np.mean(draw.y != np.array([0, 1, 0, 1])[draw.group]))
    assert abs(wrong - 0.1) < 4 * np.sqrt(0.09 / 20_000)
    assert abs(np.mean(draw.group == 0) - 0.7) < 4 * np.sqrt(0.21 / 20_000)


def test_silence_is_neither_right_nor_wrong() -> None:
    true = Truth(0.4, 2.0)
    assert is_right("unsure", true) is None
    assert is_right("too few points", true) is None
    assert is_right("costs accuracy", true) is False
    assert is_right("costs accuracy", Truth(0.4, 0.0)) is True
    assert is_right("at chance", true) is False
    assert is_right("train on finer labels", Truth(0.0, 2.0)) is False  # it knows nothing: nothing else is right
    assert is_right("no finer labels", Truth(0.4, 0.0)) is True


def test_the_record_counts_right_wrong_and_silent_cases() -> None:
    facts = {"recall": 0.4, "gain": 2.0, "advice": "x", "seconds": 1.0, "truth_seconds": 1.0}
    ends = enumerate((1, 1, 1, 0, -1))
    rows = [{"kind": "trained", "seed": i, "right": end, "train_told": end != 0, **facts} for i, end in ends]
    record = summed_up([*rows, {"kind": "trained", "seed": 9, "error": "e"}], 0)
    told = {claim.text: claim for claim in record.claims}
    assert told["The advice of `diagnose` is right."].measured == 0.75
    assert told["It abstains seldom."].measured == 0.2
    assert "trained: 3 of 4 right, 1 of 5 without advice." in record.evidence.notes
    assert "Cases without train=: 0 of 1 right, 0 of 1 without advice." in record.evidence.notes
    assert told["Every case gets an answer."].measured == 1
    assert sum(note.startswith("Wrong: ") for note in record.evidence.notes) == 1
