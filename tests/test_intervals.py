"""Every interval against SciPy's, and by how often it covers the truth."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from featavg.errors import InputError
from featavg.intervals import bootstrap_ratio, clopper_pearson, normal, share_over_seeds, student_t, wilson


def test_student_t_is_scipys() -> None:
    values = np.random.default_rng(0).normal(3, 2, 7)
    expected = stats.t.interval(0.99, 6, loc=values.mean(), scale=stats.sem(values))
    np.testing.assert_allclose(student_t(values, 0.99), expected, rtol=1e-12)
    assert student_t([2.0]) == (-math.inf, math.inf)


def test_normal_is_student_t_of_many_values() -> None:
    values = np.random.default_rng(0).normal(3, 2, 100_000)
    np.testing.assert_allclose(normal(values), student_t(values, 0.95), rtol=1e-4)


@pytest.mark.parametrize(("hits", "count", "level"), [(0, 7, 0.95), (3, 10, 0.9), (10, 10, 0.99), (41, 100, 0.95)])
def test_intervals_of_a_share_are_scipys(hits: int, count: int, level: float) -> None:
    trial = stats.binomtest(hits, count)
    exact, scored = (trial.proportion_ci(level, method) for method in ("exact", "wilson"))
    np.testing.assert_allclose(clopper_pearson(hits, count, level), (exact.low, exact.high), rtol=1e-9, atol=1e-12)
    low, high = wilson(hits / count, count, level)
    np.testing.assert_allclose((low, high), (scored.low, scored.high), rtol=1e-9, atol=1e-12)


def test_clopper_pearson_never_covers_less_often_than_it_says() -> None:
    """The chance of a draw whose interval misses the share, over all draws: a sum of 21 terms, no sampling."""
    ends = [clopper_pearson(hits, 20, 0.9) for hits in range(21)]
    for share in np.linspace(0.01, 0.99, 50):
        covered = [low <= share <= high for low, high in ends]
        assert stats.binom.pmf(range(21), 20, share)[covered].sum() >= 0.9


def test_the_bootstrap_covers_a_ratio_of_means_and_holds_it() -> None:
    covered = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        below = rng.exponential(1.0, 80)
        above = 2 * below + rng.normal(0, 0.5, 80)
        ratio, (low, high) = bootstrap_ratio(above, below, np.mean, rng)
        assert ratio == above.mean() / below.mean()
        assert low <= ratio <= high
        covered += low <= 2 <= high
    assert 178 <= covered <= 199  # 190 by design; four standard deviations of a count are 12


@pytest.mark.parametrize(
    "make",
    [
        lambda: student_t([]),
        lambda: student_t([1, math.nan]),
        lambda: student_t([1, 2], 1.0),
        lambda: normal([]),
        lambda: wilson(0.5, 0),
        lambda: wilson(0.5, 9, 0.0),
        lambda: clopper_pearson(3, 2),
        lambda: clopper_pearson(0, 0),
    ],
)
def test_no_interval_from_nothing(make) -> None:
    with pytest.raises(InputError):
        make()


def test_equal_shares_prove_no_more_than_their_points_do() -> None:
    """Student's interval of equal values has no width; 200 of 200 points still allow an error rate above 0."""
    low, high = share_over_seeds([1.0] * 4, points=50, level=0.9998)
    assert (low, high) == clopper_pearson(200, 200, 0.9998)
    assert low == pytest.approx(0.0001 ** (1 / 200))


def test_shares_that_differ_between_seeds_are_as_uncertain_as_their_seeds() -> None:
    shares = [0.2, 0.8, 0.5]
    low, high = share_over_seeds(shares, points=10_000)
    outer = student_t(shares, 0.95)
    assert (low, high) == (max(0.0, outer[0]), min(1.0, outer[1]))


def test_shares_within_and_between_seeds_are_covered_as_often_as_told() -> None:
    """Beta-distributed shares of seeds, binomial points: both levels vary."""
    rng, truth, covered = np.random.default_rng(0), 0.95, 0
    for _ in range(400):
        shares = rng.binomial(40, rng.beta(19 * 5, 5, size=8)) / 40
        low, high = share_over_seeds(shares, 40)
        covered += low <= truth <= high
    assert covered >= 0.95 * 400
