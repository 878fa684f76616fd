from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from featavg.errors import InputError
from featavg.figures import curves
from featavg.intervals import wilson
from featavg.robustness.accuracy import (
    accuracy_lines,
    is_robust,
    overstatement,
    radius_quantile,
    robust_accuracy,
    robust_curve,
)
from featavg.robustness.bracket import RadiusBracket
from featavg.robustness.question import ask

LINEAR = ([[1.0], [-1.0]], [0.0, 0.0], [[1.0, -1.0]], [0.0])
ends = st.lists(
    st.tuples(st.floats(0, 50), st.one_of(st.floats(0, 50), st.just(np.inf))).map(lambda p: (min(p), max(p))),
    min_size=1,
    max_size=30,
)


def bracket(lower, upper):
    lower, upper = np.asarray(lower, float), np.asarray(upper, float)
    question = ask(LINEAR, upper[:, None].clip(max=1e9), np.ones(len(lower), int))
    return RadiusBracket(lower, upper, np.full((len(lower), 1), np.nan), ("open",) * len(lower), question)


def exact(radii):
    return bracket(radii, radii)


def test_a_point_of_radius_delta_is_fooled_at_delta():
    found = robust_accuracy(exact([1.0, 2.0, 2.0, 3.0]), [0.0, 1.0, 2.0 - 1e-12, 2.0, 3.0])
    assert found.lower.tolist() == found.upper.tolist() == [1.0, 0.75, 0.75, 0.25, 0.0]


def test_a_wrong_point_survives_nothing_and_an_infinite_radius_everything():
    found = robust_accuracy(exact([0.0, np.inf]), [0.0, 1e300])
    assert found.lower.tolist() == found.upper.tolist() == [0.5, 0.5]


def test_open_brackets_give_a_band():
    found = robust_accuracy(bracket([1.0, 0.0, 3.0], [2.0, np.inf, 3.0]), [0.5, 1.5, 2.5, 3.5])
    assert found.lower == pytest.approx([2 / 3, 1 / 3, 1 / 3, 0])
    assert found.upper == pytest.approx([1, 1, 2 / 3, 1 / 3])


def test_one_radius_may_be_a_number():
    assert robust_accuracy(exact([1.0]), 0.5).lower.tolist() == [1.0]


@given(ends)
def test_curves_fall_and_the_band_holds_the_truth(pairs):
    lower, upper = np.array(pairs).T
    truth = np.where(np.isfinite(upper), (lower + upper) / 2, lower + 1)
    curve = robust_curve(bracket(lower, upper))
    assert np.all(np.diff(curve.lower) <= 0)
    assert np.all(np.diff(curve.upper) <= 0)
    inside = np.array([(truth > r).mean() for r in curve.radii])
    assert np.all(curve.lower <= inside + 1e-12)
    assert np.all(inside <= curve.upper + 1e-12)


@given(ends, st.floats(0, 60))
def test_the_curve_is_constant_between_its_radii(pairs, size):
    radius = bracket(*np.array(pairs).T)
    curve = robust_curve(radius)
    before = np.searchsorted(curve.radii, size, side="right") - 1
    direct = robust_accuracy(radius, [size])
    assert (curve.lower[before], curve.upper[before]) == (direct.lower[0], direct.upper[0])


def test_delta_robust_is_true_false_or_unknown():
    radius = bracket([3.0] * 8 + [0.0] + [1.0], [3.0] * 8 + [np.inf] + [1.0])
    assert is_robust(radius, 2.0, failing=0.2) is True
    assert is_robust(radius, 2.0, failing=0.1) is None
    assert is_robust(radius, 2.0, failing=0.05) is False
    assert is_robust(exact([1.0] * 3 + [3.0] * 7), 2.0, failing=0.7 - 0.4) is True  # 0.29999999999999993 in binary


@pytest.mark.parametrize("count", [10, 300])
@pytest.mark.parametrize("hits", [0, 3, 10])
def test_wilson_is_scipys(count, hits):
    low, high = wilson(np.array([hits / count]), count, 0.9)
    expected = binomtest(hits, count).proportion_ci(0.9, method="wilson")
    assert (low[0], high[0]) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_the_interval_spans_band_and_sampling():
    found = robust_accuracy(bracket([0.0, 2.0], [np.inf, 2.0]), [1.0])
    low, high = found.interval()
    assert low[0] < found.lower[0] <= found.upper[0] <= high[0]


def test_the_median_has_its_order_statistics():
    radii = np.arange(1.0, 102.0)
    median = radius_quantile(exact(radii))
    assert median.lower == median.upper == 51.0
    inside = [binomtest(51, 101).statistic, median.low, median.high]
    assert inside[1] == pytest.approx(41, abs=1)
    assert inside[2] == pytest.approx(61, abs=1)


def test_quantiles_of_open_and_infinite_radii():
    radius = bracket([0.0, 1.0, 2.0, 3.0], [1.0, 1.0, np.inf, np.inf])
    median = radius_quantile(radius, 0.5)
    assert (median.lower, median.upper) == (1.0, 1.0)
    upper = radius_quantile(radius, 0.75)
    assert (upper.lower, upper.upper, upper.high) == (2.0, np.inf, np.inf)


def test_the_quantile_interval_covers_the_truth_as_often_as_it_says():
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(300):
        found = radius_quantile(exact(rng.random(60)), 0.5, confidence=0.9)
        covered += found.low <= 0.5 <= found.high
    assert 0.87 <= covered / 300 <= 0.99  # at least 0.9 by construction; 3 standard errors of 300 draws are 0.05


def test_overstatement_is_the_gap_to_the_truth():
    attack, truth = bracket([0, 0, 0], [2.0, 5.0, np.inf]), bracket([1.0, 3.0, 4.0], [1.0, 3.0, 4.5])
    gap = overstatement(attack, truth, [1.5, 3.5, 4.2])
    assert gap.lower == pytest.approx([1 / 3, 1 / 3, 1 / 3])
    assert gap.upper == pytest.approx([1 / 3, 1 / 3, 2 / 3])


def test_lines_show_what_each_method_knows_and_can_be_drawn():
    attack = replace(bracket([0, 0], [1.0, 3.0]), status=("attack only",) * 2)
    proof = replace(bracket([0.5, 2.5], [np.inf, np.inf]), status=("certificate only",) * 2)
    lines = accuracy_lines(
        {"attack": attack, "proof": proof, "open": bracket([0.5, 2.5], [1.0, 3.0])}, [0.75, 2.0, 2.75]
    )
    assert lines.line.tolist() == [[1.0, 0.5, 0.5], [0.5, 0.5, 0.0], [0.75, 0.5, 0.25]]
    assert lines.lower[:2].tolist() == lines.upper[:2].tolist() == lines.line[:2].tolist()
    assert (lines.upper - lines.lower)[2].tolist() == [0.5, 0.0, 0.5]
    figure = curves(
        lines.radii, lines.line, lower=lines.lower, upper=lines.upper, labels=lines.labels, caption="Three methods."
    )
    assert [line.get_label() for line in figure.axes[0].get_lines()] == ["attack", "proof", "open"]


def test_bad_input_is_one_sentence():
    good = exact([1.0])
    for call, words in (
        (lambda: robust_accuracy(good, [-1.0]), "negative"),
        (lambda: robust_accuracy(good, [np.nan]), "finite"),
        (lambda: robust_accuracy(bracket([], []), [1.0]), "at least one point"),
        (lambda: accuracy_lines({}, [1.0]), "at least one"),
        (lambda: is_robust(good, 1.0, failing=2.0), "failing"),
        (lambda: radius_quantile(good, 0.0), "share"),
        (lambda: radius_quantile(good, 0.5, confidence=1.0), "confidence"),
        (lambda: overstatement(good, exact([1.0, 2.0]), [1.0]), "same points"),
        (lambda: wilson(np.array([0.5]), 0), "no points"),
    ):
        with pytest.raises(InputError, match=words):
            call()
