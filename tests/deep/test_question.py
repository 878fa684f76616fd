import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from featavg.deep import as_torch, ask_deep
from featavg.errors import InputError
from featavg.robustness.question import ask
from tests.deep.random_networks import random_network

READOUTS = ("sign", "argmax", "summed-probabilities", "maximum", "summed-logits")


def both(readout, seed=0, **options):
    """The same question to a network of ours and to the same network in torch."""
    rng = np.random.default_rng(seed)
    network = random_network(1 if readout == "sign" else 5, seed)
    x = rng.uniform(0, 1, (30, 6))
    y = rng.integers(5, size=30) if readout == "argmax" else rng.choice([-1, 1], 30)
    labels = None if readout == "sign" else network.class_labels
    module = as_torch(network, torch.float64)
    deep = ask_deep(module, x, y, readout=readout, class_labels=labels, precision="float64", **options)
    return ask(network, x, y, readout=readout, **options), deep


@pytest.mark.parametrize("readout", READOUTS)
@pytest.mark.parametrize("norm", ["l2", "linf"])
def test_read_outs_agree_with_the_two_layer_room(readout, norm):
    ours, deep = both(readout, norm=norm, box=(0.0, 1.0))
    points = np.random.default_rng(1).uniform(0, 1, (30, 6))
    assert deep.margins(points) == pytest.approx(ours.margins(points), rel=1e-9, abs=1e-12)
    assert np.array_equal(deep.fooled(points), ours.fooled(points))
    assert deep.distances(points) == pytest.approx(ours.distances(points))


@pytest.mark.parametrize("readout", READOUTS)
@pytest.mark.parametrize("batch", [7, 250])
def test_slopes_agree_with_the_two_layer_room_and_keep_the_precision(readout, batch):
    ours, deep = both(readout)
    points = np.random.default_rng(2).uniform(0, 1, (30, 6))
    for question, accuracy in ((replace(deep, batch=batch), 1e-9), (ask_single(deep), 1e-4)):
        for found, wanted in zip(question.slopes(points), ours.slopes(points), strict=True):
            assert found == pytest.approx(wanted, rel=accuracy, abs=accuracy)
        assert question.slopes(points)[1].dtype == question.precision


def ask_single(question):
    return replace(question, module=copy.deepcopy(question.module).float(), precision="float32")


def test_a_module_that_writes_into_its_input_does_not_change_the_points():
    module = nn.Sequential(nn.ReLU(inplace=True), nn.Linear(2, 2))
    points = np.array([[-0.5, 0.5]])
    ask_deep(module, points, [0], box=None, precision="float64").fooled(points)
    assert points.tolist() == [[-0.5, 0.5]]


def test_a_tie_is_fooled_for_both_labels():
    dead = nn.Linear(3, 2).requires_grad_(False)
    dead.weight.zero_(), dead.bias.zero_()
    for y in (0, 1):
        assert ask_deep(dead, np.full((1, 3), 0.5), [y]).fooled([[0.5] * 3]).all()


def test_the_module_that_is_asked_is_a_frozen_copy():
    module = nn.Sequential(nn.Linear(2, 3), nn.Dropout(0.5), nn.Linear(3, 2)).train()
    question = ask_deep(module, [[0.1, 0.2]], [0])
    before = question.margins(question.x)
    with torch.no_grad():
        module[0].weight.zero_()
    assert question.margins(question.x) == before
    assert module.training
    assert not question.module.training
    assert all(parameter.requires_grad for parameter in module.parameters())


def test_bytes_and_pixels_ask_the_same():
    image = torch.randint(0, 256, (2, 1, 3, 3), dtype=torch.uint8)
    module = nn.Sequential(nn.Flatten(), nn.Linear(9, 2))
    one, other = (ask_deep(module, x, [0, 1]) for x in (image, image.double() / 255))
    assert np.array_equal(one.x, other.x)
    assert one.shape == (1, 3, 3)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"readout": "sum"}, "readout must be one of argmax, summed-probabilities"),
        ({"readout": "maximum"}, "maximum needs class_labels"),
        ({"readout": "maximum", "class_labels": [1, 1, 1]}, "both -1 and"),
        ({"norm": "l1"}, "norm must be l2 or linf"),
        ({"precision": "half"}, "float32 or float64"),
        ({"box": (0.0, 0.3)}, "every pixel must lie in the box"),
        ({"y": [0, 3]}, r"labels among \[0, 1, 2\]"),
        ({"batch": 0}, "batch must be at least 1"),
    ],
)
def test_bad_questions_are_refused(options, words):
    options = {"y": [0, 1], **options}
    with pytest.raises(InputError, match=words):
        ask_deep(nn.Linear(2, 3), [[0.1, 0.5], [0.0, 1.0]], **options)


def test_one_output_has_one_read_out():
    with pytest.raises(InputError, match="one output has the read-out sign"):
        ask_deep(nn.Linear(2, 1), [[0.1, 0.5]], [1], readout="maximum")
