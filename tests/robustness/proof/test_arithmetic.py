"""Enclosures against rationals: outward is outward, and errors are no larger than stated."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from featavg.robustness.proof import arithmetic as a
from featavg.robustness.proof.cases import combine
from featavg.robustness.proof.format import Neurons
from featavg.robustness.proof.frames import centers, fine_centers, gram_frame, reduced_frame, scale_neurons

finite = st.floats(allow_nan=False, allow_infinity=False)
moderate = st.floats(min_value=-1e100, max_value=1e100, allow_nan=False)


@given(finite)
def test_up_and_down_reach_the_next_float(value: float) -> None:
    assert a.up(value) >= math.nextafter(value, math.inf)
    assert a.down(value) <= math.nextafter(value, -math.inf)


@given(moderate, moderate)
def test_products_and_differences_are_on_the_right_side(x: float, y: float) -> None:
    product = Fraction(x) * Fraction(y)
    low, high = a.product_down(x, y), a.product_up(x, y)
    assert low == -math.inf or Fraction(low) <= product
    assert high == math.inf or Fraction(high) >= product
    least = a.difference_down(x, y)
    assert least == -math.inf or Fraction(least) <= Fraction(x) - Fraction(y)
    assert a.difference_down(x, x) == 0
    assert a.product_down(0.0, math.inf) == 0


@given(moderate, moderate)
def test_sums_are_split_exactly_and_products_up_to_subnormal_numbers(x: float, y: float) -> None:
    s, e = a.two_sum(x, y)
    assert Fraction(s) + Fraction(e) == Fraction(x) + Fraction(y)
    p, e = a.two_product(x, y)
    assert abs(Fraction(p) + Fraction(e) - Fraction(x) * Fraction(y)) <= 4 * Fraction(a.TINY)


@given(st.lists(finite, min_size=1, max_size=40))
def test_norms_are_no_smaller_than_they_are(values: list[float]) -> None:
    row = np.array([values])
    square = sum(Fraction(v) ** 2 for v in values)
    euclidean, manhattan = a.norms_up(row, euclidean=True)[0], a.norms_up(row, euclidean=False)[0]
    assert euclidean == math.inf or Fraction(float(euclidean)) ** 2 >= square
    assert manhattan == math.inf or Fraction(float(manhattan)) >= sum(abs(Fraction(v)) for v in values)
    assert square or (euclidean == 0 and manhattan == 0)
    if 1e-140 < np.abs(row).max() < 1e140:
        assert Fraction(a.norm_up(row[0], True)) ** 2 >= square
        assert euclidean <= np.linalg.norm(row) * (1 + 1e-13)


@given(st.integers(0, 1000), st.sampled_from([1e-155, 1e-8, 1.0, 1e8, 1e150]))
def test_preactivations_lie_within_their_error(seed: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=(3, 9)) * scale * 10.0 ** rng.integers(-12, 3, size=(3, 9))
    x, biases = rng.normal(size=(2, 9)), scale * rng.normal(size=3)
    scaled = scale_neurons(Neurons(weights, biases, np.ones((1, 3)), np.zeros(1)))
    for z, share in ((centers(scaled, x), 1e-13), (fine_centers(scaled, x), 1e-27)):
        for i in range(2):
            for j in range(3):
                exact = sum(Fraction(w) * Fraction(v) for w, v in zip(weights[j].tolist(), x[i].tolist(), strict=True))
                exact = (exact + Fraction(float(biases[j]))) / Fraction(2) ** int(scaled.exponent[j])
                found = Fraction(float(z.high[i, j])) + Fraction(float(z.low[i, j]))
                assert abs(found - exact) <= Fraction(float(z.error[i, j]))
                size = np.abs(scaled.weights[j]).sum() * np.abs(x[i]).max() + abs(scaled.biases[j])
                assert z.error[i, j] <= 10 * share * size


def test_frames_bound_combinations_of_weights() -> None:
    rng = np.random.default_rng(0)
    half = rng.normal(size=(4, 30))
    weights = np.concatenate([half, half + 1e-9 * rng.normal(size=half.shape)])
    scaled = scale_neurons(Neurons(weights, np.zeros(8), np.ones((1, 8)), np.zeros(1)))
    gram, reduced = gram_frame(scaled), reduced_frame(scaled)
    rows = [[Fraction(v) for v in row] for row in scaled.weights.tolist()]
    for i in range(8):
        for j in range(8):
            product = sum(p * q for p, q in zip(rows[i], rows[j], strict=True))
            error = abs(Fraction(float(gram.gram[i, j])) - product)
            assert error <= Fraction(gram.gram_error) * Fraction(float(gram.norm[i])) * Fraction(float(gram.norm[j]))
    for theta in (rng.normal(size=8), np.repeat([1.0, -1.0], 4)):
        square = sum(sum(Fraction(t) * row[i] for t, row in zip(theta, rows, strict=True)) ** 2 for i in range(30))
        bound = reduced.stretch * np.linalg.norm(theta @ reduced.vectors) + np.abs(theta) @ reduced.residual
        assert Fraction(bound * (1 + 1e-9)) ** 2 >= square
    assert reduced.stretch < 1 + 1e-13
    assert reduced.residual.max() < 1e-14


@given(st.lists(st.lists(moderate, min_size=2, max_size=2), min_size=4, max_size=4))
def test_rows_lie_within_their_spread(values: list[list[float]]) -> None:
    signs = np.array([[1, -1, 0, 0], [1, 1, -1, -1], [0, 0, 0, 1]])
    result, spread = combine(signs, np.array(values), np.zeros((4, 2)))
    for i in range(3):
        for j in range(2):
            exact = sum(int(s) * Fraction(v[j]) for s, v in zip(signs[i], values, strict=True))
            assert abs(Fraction(float(result[i, j])) - exact) <= Fraction(float(spread[i, j]))
    assert not spread[2].any()
