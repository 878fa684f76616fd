"""Coefficients and weights are two ways to hold one thing: every rule takes the same path in both."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from featavg import (
    BinaryNetwork,
    GradientDescent,
    GradientFlow,
    LossBasedDescent,
    MomentumDescent,
    MulticlassNetwork,
    NormalizedDescent,
    SpectralDescent,
    sample_clusters,
    train,
    train_many,
)
from featavg.arrays import Array
from featavg.data import Dataset
from featavg.model import Activation, Layer, Network
from featavg.training import EqualBlocks
from featavg.training.engines import Groups, Work, choose_engine, gram
from featavg.training.engines.gram import gram_matrix, products_with
from featavg.training.engines.row_sums import add_rows
from featavg.training.engines.sparse_product import assemble, sparse_product, split
from featavg.training.setup import Setup

RULES: dict[str, Any] = {
    "plain": GradientDescent(steps=200, step_size=2e-3),
    "decay": GradientDescent(steps=200, step_size=2e-3, weight_decay=0.5),
    "momentum": MomentumDescent(steps=200, step_size=5e-4),
    "normalised": NormalizedDescent(steps=200, step_size=2e-3),
    "spectral": SpectralDescent(steps=200, step_size=1e-3),
    "flow": GradientFlow(time=0.3),
    "loss-based": LossBasedDescent(log_loss=-12.0),
}


@pytest.fixture(scope="module")
def data() -> Dataset:
    return sample_clusters(clusters=4, dim=300, samples=60, seed=3)


def deep(data: Dataset, seed: int, activation: Activation) -> Network:
    """Three layers, with biases everywhere."""
    rng = np.random.default_rng(seed)
    sizes = [data.x.shape[1], 6, 5, 1]
    layers = [
        Layer(rng.standard_normal((out, into)) / np.sqrt(into), 0.1 * rng.standard_normal(out))
        for into, out in pairwise(sizes)
    ]
    return Network(tuple(layers), activation=activation, coordinates=data.coordinates)


def both(network: Network, data: Dataset, rule: Any, tolerance: float = 1e-13, **options: Any) -> None:
    """Compare all saved parameters and losses of the two engines."""
    left, right = (train(network, data, rule, engine=engine, **options) for engine in ("gram", "dense"))
    assert left.coefficients is not None or "weights_1" not in left.moments
    assert right.coefficients is None
    assert (left.status, len(left)) == (right.status, len(right))
    for one, other in zip(left.final.layers, right.final.layers, strict=True):
        assert_allclose(one.weights, other.weights, rtol=0, atol=tolerance * np.abs(other.weights).max())
        assert_allclose(one.biases, other.biases, rtol=0, atol=tolerance * np.abs(other.biases).max())
    assert_allclose(left.log_losses, right.log_losses, rtol=1e-11)
    assert np.ptp(left.log_losses) > 0.01


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("kind", [BinaryNetwork, MulticlassNetwork])
def test_every_rule_walks_one_path_in_both_engines(data: Dataset, kind: Any, rule: str) -> None:
    network = kind.random(data, 2, seed=4, scale=1e-2)
    # A root of a nearly singular matrix, and steps that choose their own size, feel rounding more.
    both(network, data, RULES[rule], 1e-9 if rule in ("spectral", "loss-based") else 1e-13)


@pytest.mark.parametrize("rule", ["plain", "decay", "momentum"])
@pytest.mark.parametrize(
    "trained", [("weights", "biases", "second"), ("second",), ("weights", "second", "output_bias")]
)
def test_trained_second_layers(data: Dataset, rule: str, trained: Any) -> None:
    both(BinaryNetwork.random(data, 2, seed=4, scale=3e-2), data, RULES[rule], trained=trained)


ACTIVATIONS = [Activation(power=2), Activation(power=3), Activation(leak=0.3), Activation(power=3, normalized=True)]


@pytest.mark.parametrize("activation", ACTIVATIONS, ids=str)
@pytest.mark.parametrize("rule", ["plain", "decay", "flow"])
def test_other_activations(data: Dataset, activation: Activation, rule: str) -> None:
    network = replace(BinaryNetwork.random(data, 2, seed=4, scale=5e-2), activation=activation)
    both(network, data, RULES[rule], 1e-11, trained=("weights", "second"))


@pytest.mark.parametrize("activation", [Activation(), Activation(leak=0.3), Activation(power=2)], ids=str)
def test_three_layers(data: Dataset, activation: Activation) -> None:
    network = deep(data, 0, activation)
    everything = [f"{kind}_{number}" for number in (1, 2, 3) for kind in ("weights", "biases")]
    both(network, data, GradientDescent(steps=200, step_size=1e-3), 1e-11, trained=everything)


@pytest.mark.parametrize("options", [{"batch_size": 16}, {"average": "second half"}], ids=str)
def test_batches_and_means(data: Dataset, options: Any) -> None:
    network = BinaryNetwork.random(data, 2, seed=4, scale=1e-2)
    both(network, data, RULES["plain"], **options)
    both(network, data, RULES["momentum"], sample_weight=np.arange(1.0, 61.0), **options)


@pytest.mark.parametrize("clusters", [2, 5])
def test_without_room_for_the_gram_matrix_products_are_made_from_the_points(
    clusters: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = sample_clusters(clusters=clusters, dim=300, samples=60, seed=3)
    network = MulticlassNetwork.random(data, 2, seed=4)
    held = train(network, data, GradientDescent(steps=100), engine="gram")
    monkeypatch.setattr(gram, "LARGEST", 100)
    free = train(network, data, GradientDescent(steps=100), engine="gram")
    assert_allclose(free.coefficients, held.coefficients, rtol=0, atol=1e-13 * np.abs(held.coefficients).max())
    both(network, data, RULES["plain"], batch_size=16)


@pytest.mark.parametrize("rule", ["plain", "decay", "momentum", "normalised", "spectral", "flow", "loss-based"])
@pytest.mark.parametrize("options", [{}, {"batch_size": 8}, {"engine": "dense"}, {"average": "second half"}], ids=str)
def test_stacked_runs_are_single_runs_to_the_last_bit(rule: str, options: Any) -> None:
    if rule in ("flow", "loss-based") and options:
        return
    datas = [sample_clusters(clusters=4, dim=200, samples=40, seed=seed) for seed in range(4)]
    networks = [BinaryNetwork.random(data, 2, seed=9, scale=1e-2 * (1 + i)) for i, data in enumerate(datas)]
    for network, run, data in zip(networks, train_many(networks, datas, RULES[rule], **options), datas, strict=True):
        alone = train(network, data, RULES[rule], **options)
        assert run.status == alone.status == "finished"
        assert_array_equal(run.final.weights, alone.final.weights)
        assert_array_equal(run.final.biases, alone.final.biases)
        assert_array_equal(run.margins, alone.margins)
        assert_array_equal(run.steps, alone.steps)


def test_runs_of_different_shapes_are_stacked_apart_and_come_back_in_order() -> None:
    datas = [sample_clusters(clusters=4, dim=200, samples=30 + 10 * (i % 2), seed=i) for i in range(4)]
    networks = [MulticlassNetwork.random(data, 1 + i // 2, seed=i) for i, data in enumerate(datas)]
    for network, run, data in zip(networks, train_many(networks, datas), datas, strict=True):
        assert run.data is data
        assert_array_equal(run.final.weights, train(network, data).final.weights)


def test_large_stacked_runs_take_the_compiled_product_too() -> None:
    datas = [sample_clusters(clusters=4, samples=200, seed=seed) for seed in range(2)]
    networks = [MulticlassNetwork.random(data, 2, seed=1) for data in datas]
    for network, run, data in zip(networks, train_many(networks, datas), datas, strict=True):
        assert_array_equal(run.final.weights, train(network, data).final.weights)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 10**6),
    samples=st.integers(1, 70),
    neurons=st.integers(1, 9),
    groups=st.integers(1, 4),
    share=st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0]),
    uneven=st.booleans(),
    dtype=st.sampled_from([np.float64, np.float32]),
    compiled=st.booleans(),
)
def test_the_compiled_product_is_the_product(
    seed: int, samples: int, neurons: int, groups: int, share: float, uneven: bool, dtype: Any, compiled: bool
) -> None:
    rng = np.random.default_rng(seed)
    number = np.unique(rng.integers(groups, size=neurons), return_inverse=True)[1].astype(np.int64)
    ratio = rng.choice([0.5, 1.0, 3.1], neurons) if uneven else np.ones(neurons)
    rows = rng.standard_normal((groups, samples))[number] * ratio[:, None] * (rng.random((neurons, samples)) < share)
    points = rng.standard_normal((samples, 10)).astype(dtype)
    matrix, rows = points @ points.T, rows.astype(dtype)
    cut, put = (split, assemble) if compiled else (split.py_func, assemble.py_func)  # type: ignore[attr-defined]
    shared, own, work = cut(rows, number, ratio.astype(dtype), int(number.max()) + 1)
    assert work == np.count_nonzero(shared) + np.count_nonzero(own)
    found = put(matrix, shared, own, number, ratio.astype(dtype))
    expected = rows.astype(np.float64) @ matrix.astype(np.float64)
    bound = 40 * np.finfo(dtype).eps * (np.abs(rows) @ np.abs(matrix)).max() + 1e-300
    assert_allclose(found, expected, rtol=0, atol=bound)
    assert found.dtype == dtype
    assert_allclose(sparse_product(rows, matrix, Groups(number, ratio)), expected, rtol=0, atol=bound)


def test_equal_neurons_are_multiplied_once() -> None:
    rng = np.random.default_rng(0)
    row = rng.standard_normal(100) * (rng.random(100) < 0.5)
    rows, number = np.stack([row, row, 2.0 * row, -row]), np.array([0, 0, 0, 1])
    _, own, work = split(rows, number, np.array([1.0, 1.0, 2.0, 1.0]), 2)
    assert work == 2 * np.count_nonzero(row)
    assert not own.any()


def test_rows_are_added_four_by_four_and_one_by_one() -> None:
    matrix, total = np.arange(49.0).reshape(7, 7), np.ones(7)
    factors = np.array([1.0, 0.0, 2.0, 3.0, 4.0, 5.0, 0.0])
    for add in (add_rows, add_rows.py_func):  # type: ignore[attr-defined]
        total = np.ones(7)
        add(matrix, factors, total)
        assert_allclose(total, 1 + factors @ matrix)


def points(kind: str, dtype: Any) -> Array:
    rng = np.random.default_rng(0)
    compact = sample_clusters(clusters=4, samples=300, seed=0).x
    if kind == "subset":  # no longer a triangle
        compact = compact[rng.permutation(300)]
    elif kind == "one above":  # no longer a triangle, by one number beside the diagonal
        compact[270, 4 + 271] = 3.0
    elif kind == "zero row":
        compact = np.tril(rng.standard_normal((230, 240)), -1)
    elif kind != "compact":
        compact = rng.standard_normal({"wide": (220, 250), "tall": (250, 220), "one": (1, 3)}[kind])
    return compact.astype(dtype)


@pytest.mark.parametrize("kind", ["compact", "subset", "one above", "zero row", "wide", "tall", "one"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_gram_matrix_is_that_of_the_points(kind: str, dtype: Any) -> None:
    x = points(kind, dtype)
    found = gram_matrix(x)
    exact = x.astype(np.float64) @ x.astype(np.float64).T
    assert found.dtype == dtype
    assert_allclose(found, exact, rtol=0, atol=100 * np.finfo(dtype).eps * np.abs(exact).max())
    assert_array_equal(found, found.T)
    assert_array_equal(gram_matrix(np.stack([x, x]))[1], found)
    weights = np.random.default_rng(1).standard_normal((2, 3, x.shape[1])).astype(dtype)
    products = products_with(x, weights)
    assert products.dtype == dtype
    wide = weights.astype(np.float64) @ x.T.astype(np.float64)
    assert_allclose(products, wide, rtol=0, atol=100 * np.finfo(dtype).eps * np.abs(wide).max())
    assert_array_equal(products_with(x, weights[1]), products[1])


# Samples, axes, neurons, products, steps, bytes of a number: the engine that was measured to be faster.
MEASURED = {
    (1000, 1074, 10, 10, 1, 8): "gram",  # for its coefficients
    (1000, 784, 10, 10, 100, 8): "gram",
    (2000, 784, 10, 10, 100, 8): "dense",
    (2000, 784, 10, 10, 100, 4): "gram",
    (2000, 784, 10, 2, 100, 8): "gram",
    (2000, 784, 10, 2, 10, 8): "dense",
    (2000, 784, 50, 50, 100, 8): "dense",
    (4000, 784, 10, 2, 100, 8): "dense",
    (60_000, 784, 10, 2, 10_000, 8): "dense",
    (90, 20, 4, 2, 100, 8): "dense",
}


@pytest.mark.parametrize(("sizes", "expected"), MEASURED.items())
def test_the_engine_is_chosen_by_what_a_run_costs(sizes: Any, expected: str) -> None:
    assert choose_engine("auto", Work(*sizes), frozenset(), False, "a rule") == expected
    assert choose_engine("auto", Work(*sizes), frozenset({"coordinates"}), False, "a rule") == "dense"
    assert choose_engine("auto", Work(*sizes), frozenset(), True, "a rule") == "dense"


def test_neurons_with_parallel_columns_above_count_once() -> None:
    data = sample_clusters(4, dim=30, samples=60, coordinates="ambient", seed=0)
    setup = Setup(None, None, None, "auto", np.float64)
    with pytest.MonkeyPatch.context() as patch:
        asked: list[Work] = []
        patch.setattr("featavg.training.setup.choose_engine", lambda _, work, *rest: asked.append(work))
        for network in (BinaryNetwork.random(data, 3, seed=1), MulticlassNetwork.random(data, 3, seed=1)):
            setup.engine_for(network, data, GradientDescent(steps=7), batches=False, moved=False)
    assert asked == [Work(60, 30, 6, 2, 7, 8), Work(60, 30, 12, 4, 7, 8)]


@pytest.mark.parametrize("width", [1, 3])
def test_a_second_layer_of_equal_blocks_is_not_multiplied_by(width: int) -> None:
    rng = np.random.default_rng(0)
    second = 0.3 * np.repeat(np.eye(4), width, axis=1)
    hidden, outputs = rng.random((4 * width, 7)), rng.random((4, 7))
    blocks = EqualBlocks.of(second)
    assert blocks is not None
    np.testing.assert_allclose(blocks.up(hidden), second @ hidden)
    np.testing.assert_allclose(blocks.down(outputs), second.T @ outputs)
    assert EqualBlocks.of(second * rng.random(4 * width)) is None


def test_runs_on_one_data_set_share_its_gram_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    def counted(x: Any) -> Any:
        made.append(len(x))
        return gram_matrix(x)

    monkeypatch.setattr("featavg.training.engines.gram.gram_matrix", counted)
    datas = [sample_clusters(clusters=4, dim=900, samples=200, seed=seed) for seed in range(2)]
    chosen = [datas[i] for i in (0, 1, 0, 1)]
    networks = [BinaryNetwork.random(data, 5, seed=seed) for seed, data in enumerate(chosen)]
    rule = GradientDescent(steps=20)
    together = train_many(networks, chosen, rule)
    assert made == [200, 200]
    for network, data, run in zip(networks, chosen, together, strict=True):
        np.testing.assert_array_equal(run.final.weights, train(network, data, rule).final.weights)


@pytest.mark.parametrize("rule", ["plain", "decay", "momentum"])
@pytest.mark.parametrize("options", [{}, {"batch_size": 8, "engine": "gram"}], ids=str)
@pytest.mark.parametrize("largest", [2**30, 100])
def test_small_runs_on_a_few_data_sets_share_them_to_the_last_bit(
    rule: str, options: Any, largest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []

    def counted(x: Any) -> Any:
        made.append(x.ndim)
        return gram_matrix(x)

    monkeypatch.setattr(gram, "LARGEST", largest)
    monkeypatch.setattr(gram, "gram_matrix", counted)
    datas = [sample_clusters(clusters=4, dim=200, samples=40, seed=seed) for seed in range(3)]
    chosen = [datas[i] for i in (0, 1, 0, 2, 1, 0)]
    networks = [BinaryNetwork.random(data, 2, seed=i, scale=1e-2 * (1 + i)) for i, data in enumerate(chosen)]
    together = train_many(networks, chosen, RULES[rule], **options)
    assert made == ([] if largest == 100 else [3, 2, 2, 2])  # the stack, and its three samples
    for network, data, run in zip(networks, chosen, together, strict=True):
        alone = train(network, data, RULES[rule], **options)
        assert run.data is data
        assert_array_equal(run.final.weights, alone.final.weights)
        assert_array_equal(run.margins, alone.margins)
