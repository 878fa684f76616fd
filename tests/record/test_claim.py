"""The verdict follows from the numbers alone, by the rule at the head of featavg/record/claim.py."""

import math

import numpy as np
import pytest

from featavg import InputError
from featavg.intervals import student_t
from featavg.record import FAMILY, LEVEL, Claim, count_verdicts
from featavg.record.claim import at_level


def claim(low, high, relation="near", *, expected=10.0, tolerance=1.0, **fields):
    measured = 0.0 if math.isinf(low) else (low + high) / 2
    return Claim(
        "Text.",
        "Theorem 1",
        expected,
        measured,
        (low, high),
        tolerance,
        "reason",
        relation=relation,
        **fields,
    )


@pytest.mark.parametrize(
    ("low", "high", "near", "at_least", "at_most"),
    [
        (9.5, 10.5, "holds", "holds", "holds"),
        (9.0, 11.0, "holds", "holds", "holds"),  # the border belongs to the region
        (8.0, 9.0, "open", "open", "holds"),
        (11.0, 12.0, "open", "holds", "open"),
        (8.5, 9.5, "open", "open", "holds"),
        (10.5, 11.5, "open", "holds", "open"),
        (8.0, 12.0, "open", "open", "open"),
        (7.0, 8.9, "fails", "fails", "holds"),
        (11.1, 12.0, "fails", "holds", "fails"),
        (-math.inf, math.inf, "open", "open", "open"),
    ],
)
def test_the_interval_against_the_accepted_region_gives_the_verdict(low, high, near, at_least, at_most):
    assert claim(low, high, "near").verdict == near
    assert claim(low, high, "at least").verdict == at_least
    assert claim(low, high, "at most").verdict == at_most


def test_vacuous_is_only_what_holds():
    assert claim(1, 2, "at most", vacuous="the constant is 10⁶").verdict == "vacuous"
    assert claim(20, 21, "at most", vacuous="the constant is 10⁶").verdict == "fails"
    assert claim(10, 12, "at most", vacuous="the constant is 10⁶").verdict == "open"


def test_the_level_corrects_for_the_whole_family_of_claims():
    assert pytest.approx(0.05 / FAMILY) == 1 - LEVEL
    fields = {"source": "s", "expected": 0.3, "tolerance": 0.1, "tolerance_reason": "r"}
    made = Claim.over_seeds([1, 2, 3, 4, 5], "Five.", **fields)
    assert made.interval == student_t([1, 2, 3, 4, 5], LEVEL)
    low, high = student_t([1, 2, 3, 4, 5], 0.95)
    assert made.interval[0] < low < high < made.interval[1]


def test_one_seed_settles_nothing_and_equal_seeds_settle_it():
    fields = {"source": "s", "expected": 0.3, "tolerance": 0.1, "tolerance_reason": "r"}
    assert Claim.over_seeds([0.3], "One.", **fields).verdict == "open"
    same = Claim.over_seeds([0.1 + 0.2] * 7, "Same.", **fields)
    assert same.verdict == "holds"
    assert Claim.exact(0.5, "Exact.", **fields).verdict == "fails"


def test_numpy_scalars_become_plain_floats():
    made = Claim.exact(np.float64(2), "Two.", source="s", expected=np.int64(2), tolerance=0, tolerance_reason="r")
    assert (type(made.measured), type(made.expected), type(made.interval[0])) == (float, float, float)


def test_counting_keeps_the_order_of_verdicts():
    counts = count_verdicts([claim(9.5, 10.5), claim(20, 21), claim(9.5, 10.5)])
    assert list(counts.items()) == [("holds", 2), ("fails", 1), ("open", 0), ("vacuous", 0)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"measured": math.nan}, "measured of the claim 'Text.' must be a finite number"),
        ({"published": math.inf}, "published of the claim"),
        ({"interval": (3.0, 4.0)}, "must hold 10"),
        ({"interval": (math.nan, math.nan)}, "must hold 10"),
        ({"tolerance": -1.0}, "must not be negative"),
        ({"tolerance_reason": " "}, "reason for its tolerance"),
        ({"relation": "about"}, "near, at least, at most"),
    ],
)
def test_a_claim_without_evidence_is_refused(change, message):
    whole = {"text": "Text.", "source": "s", "expected": 10, "measured": 10, "interval": (9, 11)}
    with pytest.raises(InputError, match=message):
        Claim(**{**whole, "tolerance": 1, "tolerance_reason": "r", **change})


def test_claims_of_a_smaller_family_are_widened_to_what_a_new_run_would_get():
    values, fields = [1.0, 2.0, 4.0, 5.0], {"source": "s", "expected": 3, "tolerance": 1, "tolerance_reason": "r"}
    low, high = student_t(values, 1 - 0.05 / 250)
    old = Claim("Text.", "s", 3.0, 3.0, (low, high), 1.0, "r")
    assert at_level(old, 4, 250).interval == pytest.approx(Claim.over_seeds(values, "Text.", **fields).interval)
    assert at_level(old, 4, FAMILY) is old


def test_checks_are_told_and_not_counted():
    assert count_verdicts([claim(9.5, 10.5), claim(9.5, 10.5, check=True)])["holds"] == 1
    shares = Claim.over_seeds(
        [1.0, 1.0], "Shares.", points=10, source="s", expected=1, tolerance=0, tolerance_reason="r", relation="at least"
    )
    assert shares.verdict == "open"
    assert "20 points" in shares.interval_of
