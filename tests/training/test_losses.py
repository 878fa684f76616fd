"""Losses: slopes are the derivatives of the values, and nothing is lost far below the smallest float."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from featavg import BinaryNetwork, InputError, MulticlassNetwork, sample_clusters
from featavg.training import (
    LOSSES,
    CrossEntropy,
    Exponential,
    GroupedCrossEntropy,
    Logistic,
    Loss,
    SmoothedCrossEntropy,
    Squared,
    loss_for,
)

BINARY = ("logistic", "exponential")


def example(name: str, seed: int = 0) -> tuple[Any, Any]:
    rng, binary = np.random.default_rng(seed), name in (*BINARY, "squared")
    outputs = 3 * rng.standard_normal((40, 1 if binary else 5))
    target = rng.choice([-1, 1], 40) if binary else rng.integers(5, size=40)
    return outputs, target


MEMBERS: dict[str, Loss] = {
    **LOSSES,
    "squared": Squared(),
    "smoothed": SmoothedCrossEntropy(share=0.3),
    "grouped": GroupedCrossEntropy(class_of=np.array([0, 1, 2, 3, 4, 4, 1])),
}


def outputs_for(name: str) -> tuple[Any, Any]:
    outputs, target = example(name)
    return (np.concatenate([outputs, outputs[:, :2] + 0.5], axis=1), target) if name == "grouped" else (outputs, target)


@pytest.mark.parametrize("name", MEMBERS)
def test_the_derivative_is_that_of_the_loss(name: Any) -> None:
    outputs, target = outputs_for(name)
    loss = MEMBERS[name]
    slope = np.empty_like(outputs)
    for j in range(outputs.shape[1]):
        shift = np.zeros_like(outputs)
        shift[:, j] = 1e-6
        up, down = (np.exp(loss.log_losses(outputs + way * shift, target)) for way in (1, -1))
        slope[:, j] = (up - down) / 2e-6
    assert_allclose(loss.derivative(outputs, target), slope, rtol=1e-6, atol=1e-8)


def test_values_are_those_of_torch() -> None:
    outputs, target = example("cross-entropy")
    theirs = torch.nn.functional.cross_entropy(torch.tensor(outputs), torch.tensor(target)).item()
    assert_allclose(np.exp(LOSSES["cross-entropy"].log_total(outputs, target)), theirs, rtol=1e-12)
    outputs, target = example("logistic")
    theirs = torch.nn.functional.soft_margin_loss(torch.tensor(outputs[:, 0]), torch.tensor(target)).item()
    assert_allclose(np.exp(LOSSES["logistic"].log_total(outputs, target)), theirs, rtol=1e-12)


def test_the_squared_loss_is_the_squared_distance_of_output_and_label() -> None:
    outputs, target = example("squared")
    assert_allclose(np.exp(Squared().log_total(outputs, target)), np.mean((outputs[:, 0] - target) ** 2) / 2)
    assert Squared().log_losses(np.array([[-1.0]]), np.array([-1])) == -np.inf


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("margin", [100.0, 3000.0])
def test_a_loss_too_small_for_a_float_has_a_logarithm(name: Any, margin: float) -> None:
    if name in BINARY:
        outputs, target = np.array([[margin], [-margin]]), np.array([1, -1])
        expected = -margin
    else:
        outputs, target = np.array([[margin, 0.0, 0.0], [0.0, 0.0, margin]]), np.array([0, 2])
        expected = np.log(2) - margin
    assert_allclose(LOSSES[name].log_total(outputs, target), expected, rtol=1e-14)
    assert_allclose(LOSSES[name].margins(outputs, target), margin)


def test_a_tiny_miss_keeps_its_digits() -> None:
    """1 − p_y is summed from the others: at p_y = 1 − 2e-20 the difference would be 0."""
    outputs, target = np.array([[46.0, 0.0, 0.0]]), np.array([0])
    slope = LOSSES["cross-entropy"].derivative(outputs, target)
    assert_allclose(slope[0], np.exp(-46) * np.array([-2, 1, 1]), rtol=1e-12)


@pytest.mark.parametrize("name", LOSSES)
def test_float32_outputs_give_float32_slopes(name: Any) -> None:
    outputs, target = example(name)
    assert LOSSES[name].derivative(outputs.astype(np.float32), target).dtype == np.float32


def test_each_network_has_its_own_loss_and_refuses_others() -> None:
    data = sample_clusters(clusters=4, samples=10)
    assert loss_for(BinaryNetwork.random(data), None) is LOSSES["logistic"]
    assert loss_for(BinaryNetwork.random(data), "exponential") is LOSSES["exponential"]
    assert loss_for(MulticlassNetwork.random(data), None) is LOSSES["cross-entropy"]
    with pytest.raises(InputError, match="a network of 4 outputs is trained with cross-entropy loss, got 'logistic'"):
        loss_for(MulticlassNetwork.random(data), "logistic")
    with pytest.raises(InputError, match="got 'hinge'"):
        loss_for(BinaryNetwork.random(data), "hinge")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", MEMBERS)
@pytest.mark.parametrize("scale", [-2.0, 3.0])
def test_a_scaled_derivative_is_the_derivative_divided(name: Any, scale: float) -> None:
    outputs, target = outputs_for(name)
    plain = MEMBERS[name].derivative(outputs, target)
    assert_allclose(MEMBERS[name].derivative(outputs, target, scale), plain * np.exp(-scale), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("loss", [Logistic(), Exponential(), CrossEntropy()], ids=str)
def test_at_a_loss_of_1e_minus_3000_the_derivative_keeps_its_digits(loss: Any) -> None:
    margin = 3000 * np.log(10)
    outputs = np.array([[margin], [margin + 1]]) if isinstance(loss, (Logistic, Exponential)) else None
    outputs = np.array([[margin, 0.0], [margin + 1, 0.0]]) if outputs is None else outputs
    target = np.array([1, 1]) if outputs.shape[1] == 1 else np.array([0, 0])
    slope = loss.derivative(outputs, target, loss.log_total(outputs, target))
    assert_allclose(np.abs(slope[:, 0]), 2 * np.array([1, np.exp(-1)]) / (1 + np.exp(-1)), rtol=1e-9)


def test_the_sum_is_n_times_the_mean() -> None:
    outputs, target = example("logistic")
    mean, total = Logistic().log_total(outputs, target), Logistic(reduction="sum").log_total(outputs, target)
    assert total - mean == pytest.approx(np.log(40))
    with pytest.raises(InputError, match="the reduction of a loss must be mean or sum, got 'median'"):
        Logistic(reduction="median")  # type: ignore[arg-type]


@pytest.mark.parametrize("loss", [Logistic(), Exponential()], ids=str)
@pytest.mark.parametrize("margin", [-3.0, 0.5, 20.0, 40.0, 5000.0])
def test_the_inverse_gives_the_margin_of_a_loss(loss: Any, margin: float) -> None:
    log_loss = loss.log_losses(np.array([[margin]]), np.array([1]))
    assert_allclose(loss.log_inverse(log_loss), margin, rtol=1e-7)
    with pytest.raises(InputError, match="no function of the margin alone"):
        CrossEntropy().log_inverse(-3.0)


def test_values_of_smoothed_and_pooled_losses_are_those_of_torch() -> None:
    outputs, target = example("cross-entropy")
    theirs = torch.nn.functional.cross_entropy(torch.tensor(outputs), torch.tensor(target), label_smoothing=0.3).item()
    assert_allclose(np.exp(MEMBERS["smoothed"].log_total(outputs, target)), theirs, rtol=1e-12)
    outputs, target = outputs_for("grouped")
    shares = torch.softmax(torch.tensor(outputs), dim=1).numpy()
    own = np.array([shares[i, np.array([0, 1, 2, 3, 4, 4, 1]) == t].sum() for i, t in enumerate(target)])
    assert_allclose(MEMBERS["grouped"].log_losses(outputs, target), np.log(-np.log(own)), rtol=1e-9)
    with pytest.raises(InputError, match="class_of must name the class of each of 5 outputs, got 7"):
        MEMBERS["grouped"].check(5)
