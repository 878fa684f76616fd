"""Small networks whose digits cancel are decided in rationals, and their witnesses are float64 points."""

from __future__ import annotations

import math

import numpy as np
import pytest

import featavg as fa
from campaign.soundness.hostile import hostile_problem
from campaign.soundness.product import question, radius_bracket
from campaign.soundness.rationals import distance, fooled
from campaign.soundness.truth import Truth, exact_radius
from featavg.robustness.proof.format import part
from featavg.robustness.search.exactly import exactly
from featavg.robustness.search.lattice import on_lattice


def test_the_nearest_fooled_point_is_that_of_the_rational_oracle() -> None:
    finite = 0
    for number in range(80):
        posed = hostile_problem(9, number)
        if posed.readout == "summed-probabilities":
            continue
        problem, truth = question(posed).checkable(), exact_radius(posed)
        found = exactly(problem, 0, math.inf, math.inf)
        assert found is not None
        assert (found.delta is None) == (truth.high is None), posed
        if found.delta is not None and found.cell is not None and truth.high != 0:
            size = sum(d * d for d in found.delta) if posed.norm == "l2" else max(map(abs, found.delta))
            assert (size.numerator, size.denominator) == (truth.high.p, truth.high.q), posed
            upper, witness = on_lattice(part(problem, np.array([0])), found.cell, found.delta)
            finite += 1
            if math.isfinite(upper):
                assert fooled(posed, witness.tolist())
                far = distance(posed, witness.tolist())
                assert not Truth(posed.norm, far, far).refutes_upper(upper)
    assert finite > 30


def test_nothing_nearer_than_the_limit_is_proved_as_far_as_the_limit() -> None:
    problem = question(hostile_problem(9, 0)).checkable()
    radius = exact_radius(hostile_problem(9, 0)).radius
    found = exactly(problem, 0, 0.5 * radius, math.inf)
    assert found is not None
    assert found.delta is None
    assert exactly(problem, 0, math.inf, -math.inf) is None  # no time at all


@pytest.mark.parametrize("number", [2, 44, 89, 136, 309, 1248])
def test_hostile_problems_that_floats_leave_open_are_closed(number: int) -> None:
    posed = hostile_problem(101, number)
    bracket, truth = radius_bracket(posed), exact_radius(posed)
    assert bracket.status == ("exact",)
    assert not truth.refutes_lower(float(bracket.lower[0]))
    assert not truth.refutes_upper(float(bracket.upper[0]))
    assert bracket.verify().all()
    assert bracket.verify(audit=True).all()


def test_certificates_in_rationals_are_saved_and_sliced(tmp_path) -> None:
    posed = hostile_problem(101, 44)
    bracket = fa.robust_radius(
        (np.array(posed.weights), np.array(posed.biases), np.array(posed.second), np.array(posed.constants)),
        [posed.x, posed.x],
        [posed.y] * 2,
    )
    assert bracket.certificates
    bracket.save(tmp_path / "bracket.npz")
    assert fa.load_bracket(tmp_path / "bracket.npz")[1].verify().tolist() == [True]
