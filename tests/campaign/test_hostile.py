"""What the campaign asks: every family, every read-out, reproducible to the last bit."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from campaign.soundness.families import FAMILIES, Draft
from campaign.soundness.hostile import hostile_problem
from campaign.soundness.larger import larger_problem
from campaign.soundness.problem import READOUTS, Problem, read, written
from campaign.soundness.rationals import fooled, in_box


@pytest.fixture(scope="module")
def problems() -> list[Problem]:
    return [hostile_problem(0, number) for number in range(700)]


def test_json_keeps_problems_to_the_last_bit(problems: list[Problem]) -> None:
    odd = Problem(
        "x", ((0.1, 5e-324),), (-0.0,), ((1e308,),), (1 / 3,), (1.0, 2.0), -1, box=((-math.inf, 0.0), (3.0, math.inf))
    )
    for problem in [odd, *problems[:100], larger_problem(0, 1)]:
        assert read(written(problem)) == problem
        assert written(read(written(problem))) == written(problem)


def test_a_number_has_one_problem_and_seeds_differ() -> None:
    assert hostile_problem(4, 17) == hostile_problem(4, 17)
    assert hostile_problem(4, 17) != hostile_problem(5, 17)
    assert larger_problem(4, 17) == larger_problem(4, 17)


def test_everything_that_is_promised_is_drawn(problems: list[Problem]) -> None:
    assert set(FAMILIES) == {p.family for p in problems}
    assert set(READOUTS) == {p.readout for p in problems}
    assert {p.norm for p in problems} == {"l2", "linf"}
    assert {len(p.x) for p in problems} == {1, 2, 3}
    assert {len(p.weights) for p in problems} == set(range(1, 7))
    assert {len(p.second) for p in problems} >= {1, 2, 3, 12}
    boxes = [p.box for p in problems if p.box]
    assert sum(any(map(math.isinf, (*low, *high))) for low, high in boxes) > 30
    assert sum(len(set(low)) > 1 for low, _ in boxes) > 30
    on_a_face = [p for p in problems if p.box and any(x in ends for x, *ends in zip(p.x, *p.box, strict=True))]
    assert len(on_a_face) > 20
    scales = np.log10([abs(w) for p in problems for row in p.weights for w in row if w])
    assert scales.min() < -100
    assert scales.max() > 100


def test_points_lie_in_their_boxes_and_all_numbers_are_finite(problems: list[Problem]) -> None:
    for problem in problems:
        assert in_box(problem, problem.x)
        numbers = (problem.weights, problem.biases, problem.second, problem.constants, problem.x)
        assert all(np.isfinite(np.array(entry)).all() for entry in numbers)
        assert problem.class_labels is None or set(problem.class_labels) == {-1, 1}


def test_most_points_are_classified_rightly_and_some_are_not(problems: list[Problem]) -> None:
    rows = [p for p in problems if p.readout != "summed-probabilities"]
    wrong = Counter(fooled(p, p.x) for p in rows)
    assert 0.02 < wrong[True] / len(rows) < 0.2


def bent_drafts(family: str, count: int = 60) -> list[Draft]:
    drafts = []
    for seed in range(count):
        rng = np.random.default_rng(seed)
        arrays = (rng.standard_normal(shape) for shape in ((4, 2), (4,), (3, 4), (3,), (2,)))
        drafts.append(Draft(*arrays))
        FAMILIES[family](rng, drafts[-1])
    return drafts


def smallest_and_largest(arrays: list[np.ndarray]) -> tuple[float, float]:
    sizes = np.abs(np.concatenate([array.ravel() for array in arrays]))
    return float(sizes[sizes > 0].min()), float(sizes.max())


def test_near_parallel_neurons_are_near_and_not_the_same() -> None:
    for draft in bent_drafts("near_parallel"):
        units = draft.weights / np.linalg.norm(draft.weights, axis=1, keepdims=True)
        sines = np.abs(units[1:, 0] * units[0, 1] - units[1:, 1] * units[0, 0])
        assert sines.max() < 1e-4
        assert not np.array_equal(draft.weights[1], draft.weights[0])


def test_cancelling_pairs_cancel() -> None:
    ratios = [draft.second[:, 1] / draft.second[:, 0] for draft in bent_drafts("cancelling")]
    assert {float(round(entry, 9)) for ratio in ratios for entry in ratio} == {-1.0, -0.5}


def test_scales_span_three_hundred_decades() -> None:
    for family in ("scaled_neurons", "scaled_layers"):
        drafts = bent_drafts(family)
        for arrays in ([draft.weights for draft in drafts], [draft.second for draft in drafts]):
            low, high = smallest_and_largest(arrays)
            assert low < 1e-120
            assert high > 1e120
    low, high = smallest_and_largest([draft.weights for draft in bent_drafts("scaled_entries")])
    assert low < 1e-7
    assert high > 1e7


def test_the_other_families_are_what_they_are_called() -> None:
    assert all((np.round(draft.weights) == draft.weights).all() for draft in bent_drafts("lattice"))
    copies = [np.linalg.matrix_rank(np.c_[draft.weights, draft.biases]) for draft in bent_drafts("duplicated")]
    assert np.mean(np.array(copies) < 3) > 0.5
    assert all(not draft.biases.any() and not draft.constants.any() for draft in bent_drafts("unbiased"))
    assert min(np.abs(draft.x).max() for draft in bent_drafts("far_away")) > 50
    kinks = [np.abs(draft.weights @ draft.x + draft.biases).max() for draft in bent_drafts("tiny_kinks")]
    assert max(kinks) < 2e-5
    for draft in bent_drafts("positive"):
        assert (np.sign(draft.second) == np.sign(draft.constants)[:, None]).all()
    for draft in bent_drafts("touching"):
        assert (draft.weights[0] == -draft.weights[-1]).all()
        assert (draft.second[0, [0, -1]] == 1.0).all()
    off = [draft for draft in bent_drafts("dead") if (draft.biases < -9).any()]
    constant = [draft for draft in bent_drafts("dead") if (draft.weights == 0).all(axis=1).any()]
    assert len(off) > 20
    assert len(constant) > 20
