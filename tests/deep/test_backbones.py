import subprocess
import sys

import numpy as np
import pytest
import torch
from torch import nn

from featavg.deep import ResNet18, SmallCNN, channels_first, parameter_count
from featavg.deep.images import as_images, as_pixels, outputs_of
from featavg.errors import InputError

BACKBONES = {
    "resnet": lambda **kw: ResNet18(7, width=4, **kw),
    "cnn": lambda **kw: SmallCNN(7, shape=(3, 10, 12), hidden=16, **kw),
}


@pytest.fixture
def images():
    return torch.rand(5, 3, 10, 12, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("width", [16, 64])
def test_resnet18_has_the_known_number_of_parameters(width):
    # He et al.'s CIFAR variant with a 3x3 stem: 11,173,962 at width 64, and a sixteenth of the convolutions at 16.
    assert parameter_count(ResNet18(10, width=width)) == {64: 11_173_962, 16: 701_466}[width]


def test_the_mnist_cnn_has_the_layers_of_the_talks():
    convolutions = 25 * 32 + 32 + 9 * 32 * 64 + 64
    assert parameter_count(SmallCNN(10)) == convolutions + (7 * 7 * 64 + 1) * 1024 + 1025 * 10


@pytest.mark.parametrize("build", BACKBONES.values(), ids=BACKBONES)
def test_the_head_on_the_features_is_the_network(build, images):
    module = build(seed=1).eval()
    features = module.features(images)
    assert features.shape[1] == module.head.in_features
    assert torch.equal(module.head(features), module(images))
    assert module(images).shape == (5, 7)


@pytest.mark.parametrize("build", BACKBONES.values(), ids=BACKBONES)
def test_normalisation_is_inside_so_that_inputs_are_pixels(build, images):
    mean, std = (0.1, 0.2, 0.3), (0.5, 0.25, 2.0)
    inside, plain = build(mean=mean, std=std, seed=1).eval(), build(seed=1).eval()
    shift, scale = (torch.tensor(v).reshape(1, 3, 1, 1) for v in (mean, std))
    assert torch.allclose(inside(images), plain((images - shift) / scale), atol=1e-5)
    assert not torch.allclose(inside(images), plain(images), atol=1e-3)


@pytest.mark.parametrize("build", BACKBONES.values(), ids=BACKBONES)
def test_channels_last_images_give_the_same_outputs(build, images):
    module = build(seed=1).eval()
    assert torch.allclose(module(images.contiguous(memory_format=torch.channels_last)), module(images), atol=1e-5)


def test_the_seed_decides_the_start_and_leaves_the_global_generator_alone():
    torch.manual_seed(3)
    expected = torch.rand(3)
    torch.manual_seed(3)
    first, again, other = (ResNet18(2, width=2, seed=seed).head.weight for seed in (0, 0, 1))
    assert torch.equal(torch.rand(3), expected)
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_images_of_another_kind_are_refused(images):
    with pytest.raises(InputError, match=r"shape \(sample, 3, height, width\), got \(5, 1, 10, 12\)"):
        ResNet18(2, width=2)(images[:, :1])
    with pytest.raises(InputError, match="mean must be 3 numbers"):
        ResNet18(2, width=2, mean=(0.5,))
    with pytest.raises(InputError, match="width must be at least 1"):
        ResNet18(2, width=0)
    with pytest.raises(InputError, match="uint8"):
        as_images(np.zeros((2, 3), dtype=np.int64))
    with pytest.raises(InputError, match="finite"):
        as_images(np.full((2, 3), np.nan))
    with pytest.raises(InputError, match="3 or 4 axes"):
        channels_first(np.zeros((2, 3)))
    with pytest.raises(InputError, match="method features"):
        outputs_of(nn.Linear(2, 2), torch.zeros(1, 2), features=True)


def test_bytes_become_pixels_and_channels_come_first():
    picture = np.arange(2 * 3 * 4 * 3, dtype=np.uint8).reshape(2, 3, 4, 3)
    tensor = channels_first(picture)
    assert tensor.dtype == torch.uint8
    assert tensor[1, 2, 0, 3] == picture[1, 0, 3, 2]
    assert as_pixels(tensor).max() == pytest.approx(71 / 255)
    assert torch.equal(as_pixels(tensor.float()), tensor.float())


def test_evaluation_leaves_the_mode_of_a_module_as_it_was(images):
    module = BACKBONES["resnet"]().train()
    outputs_of(module, images, batch=2)
    assert module.training


def test_without_torch_one_sentence_names_the_extra():
    code = "import sys; sys.modules['torch'] = None; import featavg.deep"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "InputError: deep networks need torch, which is missing; pip install 'featavg[deep]'" in done.stderr
