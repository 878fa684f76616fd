"""Losses: slopes are the derivatives of the values, and nothing is lost far below the smallest float."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from featavg import BinaryNetwork, InputError, MulticlassNetwork, sample_clusters
from featavg.training.losses import LOSSES, loss_for

BINARY = ("logistic", "exponential")


def example(name: str, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    outputs = 3 * rng.standard_normal((40, 1 if name in BINARY else 5))
    target = rng.choice([-1, 1], 40) if name in BINARY else rng.integers(5, size=40)
    return outputs, target


@pytest.mark.parametrize("name", LOSSES)
def test_the_derivative_is_that_of_the_loss(name: Any) -> None:
    outputs, target = example(name)
    loss = LOSSES[name]
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
    assert_allclose(np.exp(LOSSES["cross-entropy"].log_mean(outputs, target)), theirs, rtol=1e-12)
    outputs, target = example("logistic")
    theirs = torch.nn.functional.soft_margin_loss(torch.tensor(outputs[:, 0]), torch.tensor(target)).item()
    assert_allclose(np.exp(LOSSES["logistic"].log_mean(outputs, target)), theirs, rtol=1e-12)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("margin", [100.0, 3000.0])
def test_a_loss_too_small_for_a_float_has_a_logarithm(name: Any, margin: float) -> None:
    if name in BINARY:
        outputs, target = np.array([[margin], [-margin]]), np.array([1, -1])
        expected = -margin
    else:
        outputs, target = np.array([[margin, 0.0, 0.0], [0.0, 0.0, margin]]), np.array([0, 2])
        expected = np.log(2) - margin
    assert_allclose(LOSSES[name].log_mean(outputs, target), expected, rtol=1e-14)
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
