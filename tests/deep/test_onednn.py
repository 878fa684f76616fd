"""Narrow strided convolutions are trained without oneDNN, whose kernel for AVX2 would write past its memory."""

import os
import subprocess
import sys

import pytest
import torch
from torch import nn

from featavg.deep import Recipe, ResNet18, SmallCNN, fit
from featavg.deep.efficientnet import EfficientNetLite0
from featavg.deep.onednn import overruns_memory, safe_backward

# What oneDNN would do on a processor with AVX2 and no AVX-512; glibc looks for bytes overwritten behind each block.
WATCHED = {"ONEDNN_MAX_CPU_ISA": "AVX2", "MALLOC_CHECK_": "3", "LD_PRELOAD": "libc_malloc_debug.so.0"}
PROGRAM = """
import torch
from torch import nn
from featavg.deep import Recipe, ResNet18, ask_deep, fit
from featavg.robustness import MinimalNorm

class Bare(nn.Module):
    def __init__(self):
        super().__init__()
        self.kernel = nn.Parameter(torch.randn(4, 2, 1, 1))
    def forward(self, x):
        return nn.functional.conv2d(x, self.kernel, stride=2)

torch.set_num_threads(1)
torch.manual_seed(0)
x = torch.rand(640, 2, 8, 8)
y = torch.arange(640) % 2
for layer in (nn.Conv2d(2, 4, 1, stride=2, bias=False), Bare()):
    module = nn.Sequential(layer, nn.Flatten(), nn.Linear(64, 2))
    fit(module, x, y, Recipe(epochs=3, batch_size=64))
    MinimalNorm(steps=10).on(ask_deep(module, x[:64], y[:64]))
fit(ResNet18(2, width=4, channels=2), x, y, Recipe(epochs=1, batch_size=64))
print("done")
"""


def watched(program):
    return subprocess.run([sys.executable, "-c", program], env=os.environ | WATCHED, capture_output=True, text=True)


def test_a_narrow_module_is_trained_and_attacked_within_its_memory():
    ended = watched(PROGRAM)
    assert (ended.returncode, ended.stdout) == (0, "done\n"), ended.stderr


class Kernel(nn.Module):
    def __init__(self, *shape):
        super().__init__()
        self.kernel = nn.Parameter(torch.zeros(shape))


@pytest.mark.parametrize(
    ("layer", "expected"),
    [
        (nn.Conv2d(2, 4, 1, stride=2), True),
        (nn.Conv2d(7, 64, 1, stride=(1, 3)), True),
        (nn.Conv2d(8, 4, 1, stride=2), False),
        (nn.Conv2d(16, 16, 1, stride=2, groups=4), True),
        (nn.Conv2d(2, 4, 1), False),
        (nn.Conv2d(2, 4, 3, stride=2), False),
        (nn.ConvTranspose2d(2, 4, 1, stride=2), True),
        (nn.ConvTranspose2d(2, 8, 1, stride=2), False),
        (nn.Linear(2, 4), False),
        (nn.LazyLinear(4), False),
        (Kernel(4, 2, 1, 1), True),  # a bare weight does not tell its stride
        (Kernel(4, 8, 1, 1), False),
        (Kernel(4, 2, 3, 3), False),
        (nn.utils.parametrizations.weight_norm(nn.Conv2d(2, 4, 1, stride=2)), True),
    ],
)
def test_layers_that_overrun_are_told_from_others(layer, expected):
    assert overruns_memory(nn.Sequential(nn.ReLU(), nn.Sequential(layer))) is expected


def test_networks_of_usual_width_keep_onednn():
    for wide in (ResNet18(width=8), ResNet18(width=16), SmallCNN(), EfficientNetLite0()):
        assert not overruns_memory(wide)


def test_a_narrow_residual_block_is_one_with_a_strided_shortcut_and_keeps_onednn():
    network = ResNet18(2, width=4, channels=1).double().eval()
    assert not overruns_memory(network)
    block = network.stages[1][0]
    maps = torch.rand(2, 4, 6, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    pointwise, norm = block.shortcut
    passed = norm(nn.functional.conv2d(maps, pointwise.weight, stride=2))
    inner = block.bn2(block.conv2(torch.relu(block.bn1(block.conv1(maps)))))
    assert torch.allclose(block(maps), torch.relu(inner + passed), rtol=0, atol=1e-12)


def test_onednn_is_off_in_the_backward_pass_alone_and_comes_back():
    narrow, seen = nn.Conv2d(2, 4, 1, stride=2), []
    module = nn.Sequential(narrow, nn.Flatten(), nn.Linear(16, 2))
    narrow.register_forward_hook(lambda *_: seen.append(("forward", torch.backends.mkldnn.enabled)))
    narrow.weight.register_hook(lambda _: seen.append(("backward", torch.backends.mkldnn.enabled)))
    fit(module, torch.rand(8, 2, 4, 4), torch.arange(8) % 2, Recipe(epochs=1, batch_size=8))
    assert seen[-2:] == [("forward", True), ("backward", False)]
    assert torch.backends.mkldnn.enabled
    with pytest.raises(KeyError), safe_backward(module):
        raise KeyError
    assert torch.backends.mkldnn.enabled


def test_gradients_without_onednn_are_those_of_float64():
    narrow = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 8, 1, stride=2), nn.ReLU())
    module = nn.Sequential(narrow, nn.Flatten(), nn.Linear(128, 2)).double()  # oneDNN has no part in float64
    assert overruns_memory(module)
    images = torch.rand(8, 1, 8, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    expected = torch.autograd.grad(module(images).square().sum(), list(module.parameters()))
    module.float()
    with safe_backward(module):
        found = torch.autograd.grad(module(images.float()).square().sum(), list(module.parameters()))
    for one, other in zip(found, expected, strict=True):
        assert torch.allclose(one.double(), other, atol=1e-3 * float(other.abs().max()))
