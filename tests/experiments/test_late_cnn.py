"""The moments of the talks' convolutional network, against what PyTorch itself finds."""

import numpy as np
import pytest
import torch
from torch.func import functional_call

from featavg.experiments.images.pairs import Images
from featavg.experiments.implicit_bias.late_cnn import Config, Moment, reached, start


@pytest.fixture
def moment() -> Moment:
    bars = torch.zeros(6, 1, 28, 28, dtype=torch.uint8)
    for i in range(6):
        bars[i, :, 4 * i : 4 * i + 4] = 255
    return start(Config(hidden=64), Images(bars, np.arange(6), np.ones(6, dtype=np.int64)), seed=0)


def test_loss_gradient_and_margins_are_those_of_torch(moment: Moment) -> None:
    parameters = {name: p.detach().clone().requires_grad_() for name, p in moment.parameters.items()}
    outputs = functional_call(moment.module, parameters, (moment.x,))
    log_loss = torch.nn.functional.cross_entropy(outputs, torch.from_numpy(moment.target), reduction="sum").log()
    assert moment.log_loss == pytest.approx(log_loss.item(), rel=1e-6)
    for one, other in zip(
        moment.log_gradient.values(), torch.autograd.grad(log_loss, list(parameters.values())), strict=True
    ):
        assert torch.allclose(one, other, rtol=1e-3, atol=1e-5 * float(other.abs().max()))
    rivals = outputs.detach().clone()
    rivals[range(6), range(6)] = -torch.inf
    margins = outputs.detach()[range(6), range(6)] - rivals.max(dim=1).values
    np.testing.assert_allclose(moment.margins, margins.numpy(), rtol=1e-5, atol=1e-5)


def test_outputs_are_of_degree_four_so_that_the_margin_does_not_know_their_scale(moment: Moment) -> None:
    twice = moment.move(moment.parameters, 1.0)
    torch.testing.assert_close(twice.outputs, 16 * moment.outputs)
    assert twice.margin_by_layers == pytest.approx(moment.margin_by_layers, rel=1e-5)


def test_steps_go_down_to_each_loss(moment: Moment) -> None:
    goals, told = (0.9, 0.5), []
    rows = list(reached(moment, goals, lambda share, _: told.append(share)))
    assert [at.log_loss <= goal * np.log(10) for (_, at), goal in zip(rows, goals, strict=True)] == [True, True]
    assert told == sorted(told)
