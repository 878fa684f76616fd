"""Backbones on images in [0, 1]: pixels in, normalisation inside, so that every radius is one of pixels.

Each is a module with `.features(x)`, the penultimate output (sample, feature), and `.head`, so that
forward(x) = head(features(x)). One class means one logit, whose sign is the decision.

One ships with the package: the narrow ResNet-18, trained on CIFAR-10 by `python -m campaign backbone`.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources

import torch
from torch import Tensor, nn
from torch.nn import functional

from featavg.deep.weights import load_weights
from featavg.errors import InputError

CIFAR10_MEAN, CIFAR10_STD = (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)
MNIST_MEAN, MNIST_STD = (0.1307,), (0.3081,)
# The one that ships with the package, and the digest of its weights.
SHIPPED_NAME = "cifar10-resnet18-width16"
SHIPPED_WIDTH = 16
SHIPPED_SHA256 = "5a3edd386cadc89252d6174aebd30b433adf6b7e2d190652c9ae0327fd974fd3"


class Normalisation(nn.Module):
    """x ↦ (x − mean)/std channel by channel, with constants that travel in the state dict."""

    mean: Tensor  # (1, channel, 1, 1)
    std: Tensor  # (1, channel, 1, 1)

    def __init__(self, channels: int, mean: Sequence[float] | None = None, std: Sequence[float] | None = None) -> None:
        super().__init__()
        for name, values, plain in (("mean", mean, 0.0), ("std", std, 1.0)):
            given = [plain] * channels if values is None else list(values)
            if len(given) != channels or (name == "std" and min(given) <= 0):
                raise InputError(f"{name} must be {channels} numbers, one a channel, and std positive, got {given}")
            self.register_buffer(name, torch.tensor(given).reshape(1, channels, 1, 1))

    def forward(self, x: Tensor) -> Tensor:
        """(x − mean)/std, of the shape of x."""
        return (x - self.mean) / self.std


class ResidualBlock(nn.Module):
    """ReLU(shortcut(x) + BN conv ReLU BN conv x), the basic block of He et al. 2016."""

    def __init__(self, entering: int, leaving: int, stride: int) -> None:
        super().__init__()
        self.conv1 = _conv(entering, leaving, stride)
        self.bn1 = nn.BatchNorm2d(leaving)
        self.conv2 = _conv(leaving, leaving, 1)
        self.bn2 = nn.BatchNorm2d(leaving)
        self.shortcut: nn.Module = nn.Identity()
        self.stride = stride
        if stride != 1 or entering != leaving:
            self.shortcut = nn.Sequential(nn.Conv2d(entering, leaving, 1, bias=False), nn.BatchNorm2d(leaving))

    def forward(self, x: Tensor) -> Tensor:
        """(sample, leaving, height/stride, width/stride)."""
        inner = functional.relu(self.bn1(self.conv1(x)), inplace=True)
        # Thinned out first: a 1x1 convolution with stride is the same sum, but see `featavg.deep.onednn`.
        passed = self.shortcut(x[..., :: self.stride, :: self.stride])
        return functional.relu(self.bn2(self.conv2(inner)) + passed, inplace=True)


class ResNet18(nn.Module):
    """ResNet-18 for small images: a 3x3 stem without pooling, then four stages of two blocks, 8·width features.

    Width 64 is the usual network (11.2 million parameters), width 16 the narrow one (0.7 million).

    >>> ResNet18(10, width=8, seed=0).features(torch.zeros(2, 3, 32, 32)).shape
    torch.Size([2, 64])
    """

    def __init__(
        self,
        classes: int = 10,
        *,
        width: int = 64,
        channels: int = 3,
        mean: Sequence[float] | None = None,
        std: Sequence[float] | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__()
        _check_sizes(classes=classes, width=width, channels=channels)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.normalisation = Normalisation(channels, mean, std)
            self.stem = nn.Sequential(_conv(channels, width, 1), nn.BatchNorm2d(width), nn.ReLU(inplace=True))
            self.stages = nn.Sequential(
                *(_stage(width * max(1, 2**s // 2), width * 2**s, 1 if s == 0 else 2) for s in range(4))
            )
            self.head = nn.Linear(8 * width, classes)
            _he_normal(self)

    def features(self, x: Tensor) -> Tensor:
        """The averaged last maps: (sample, 8·width)."""
        _check_images(x, self.normalisation)
        maps: Tensor = self.stages(self.stem(self.normalisation(x)))
        return maps.mean(dim=(2, 3))

    def forward(self, x: Tensor) -> Tensor:
        """Logits (sample, class)."""
        return self.head(self.features(x))


class SmallCNN(nn.Module):
    """conv-32 5x5, pool, conv-64 3x3, pool, fc-1024, fc-k with SAME padding: the MNIST network of Lyu & Li 2020.

    >>> SmallCNN(10, seed=0).features(torch.zeros(2, 1, 28, 28)).shape
    torch.Size([2, 1024])
    """

    def __init__(
        self,
        classes: int = 10,
        *,
        shape: tuple[int, int, int] = (1, 28, 28),
        mean: Sequence[float] | None = None,
        std: Sequence[float] | None = None,
        hidden: int = 1024,
        seed: int = 0,
    ) -> None:
        super().__init__()
        channels, height, width = shape
        _check_sizes(classes=classes, channels=channels, height=height, width=width, hidden=hidden)
        # Two poolings with SAME padding halve and round up.
        left = -(-height // 4) * -(-width // 4)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.normalisation = Normalisation(channels, mean, std)
            self.convolutions = nn.Sequential(
                nn.Conv2d(channels, 32, 5, padding=2), nn.ReLU(inplace=True), nn.MaxPool2d(2, ceil_mode=True),
                nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(inplace=True), nn.MaxPool2d(2, ceil_mode=True),
            )  # fmt: skip
            self.hidden = nn.Linear(64 * left, hidden)
            self.head = nn.Linear(hidden, classes)
            _he_normal(self)

    def features(self, x: Tensor) -> Tensor:
        """The last hidden layer: (sample, hidden)."""
        _check_images(x, self.normalisation)
        maps: Tensor = self.convolutions(self.normalisation(x))
        # Contiguous, so that channels_last maps are flattened channel by channel like all others.
        return functional.relu(self.hidden(maps.contiguous().flatten(1)))

    def forward(self, x: Tensor) -> Tensor:
        """Logits (sample, class)."""
        return self.head(self.features(x))


def parameter_count(module: nn.Module) -> int:
    """How many numbers are trained.

    >>> parameter_count(nn.Linear(3, 2))
    8
    """
    return sum(parameter.numel() for parameter in module.parameters())


def _conv(entering: int, leaving: int, stride: int) -> nn.Conv2d:
    return nn.Conv2d(entering, leaving, 3, stride, padding=1, bias=False)


def _stage(entering: int, leaving: int, stride: int) -> nn.Sequential:
    return nn.Sequential(ResidualBlock(entering, leaving, stride), ResidualBlock(leaving, leaving, 1))


def _he_normal(module: nn.Module) -> None:
    """He et al. 2015: variance 2/inputs keeps the size of ReLU outputs from layer to layer; biases start at 0."""
    for layer in module.modules():
        if isinstance(layer, nn.Conv2d | nn.Linear):
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)


def _check_sizes(**sizes: int) -> None:
    for name, size in sizes.items():
        if size < 1:
            raise InputError(f"{name} must be at least 1, got {size}")


def _check_images(x: Tensor, normalisation: Normalisation) -> None:
    channels = normalisation.mean.shape[1]
    if x.ndim != 4 or x.shape[1] != channels:
        raise InputError(
            f"images must have shape (sample, {channels}, height, width), got {tuple(x.shape)}; see channels_first"
        )


def cifar_backbone() -> ResNet18:
    """Return the ResNet-18 of width 16 for the ten classes of CIFAR-10, in evaluation mode.

    Its card lies beside its weights in `featavg/deep/shipped`.

    >>> import torch
    >>> cifar_backbone().features(torch.zeros(1, 3, 32, 32)).shape
    torch.Size([1, 128])
    """
    with resources.as_file(resources.files("featavg.deep") / "shipped" / f"{SHIPPED_NAME}.safetensors") as path:
        return load_weights(untrained_cifar_backbone(), path, sha256=SHIPPED_SHA256).eval()


def untrained_cifar_backbone(seed: int = 0) -> ResNet18:
    """The same network before training."""
    return ResNet18(10, width=SHIPPED_WIDTH, mean=CIFAR10_MEAN, std=CIFAR10_STD, seed=seed)
