"""The narrow ResNet-18 that ships with the package, trained on CIFAR-10 by `python -m campaign backbone`."""

from __future__ import annotations

from importlib import resources

from featavg.deep.backbones import CIFAR10_MEAN, CIFAR10_STD, ResNet18
from featavg.deep.weights import load_weights

NAME = "cifar10-resnet18-width16"
WIDTH = 16
SHA256 = "5a3edd386cadc89252d6174aebd30b433adf6b7e2d190652c9ae0327fd974fd3"


def cifar_backbone() -> ResNet18:
    """Return the ResNet-18 of width 16 for the ten classes of CIFAR-10, in evaluation mode.

    Its card lies beside its weights in `featavg/deep/shipped`.

    >>> import torch
    >>> cifar_backbone().features(torch.zeros(1, 3, 32, 32)).shape
    torch.Size([1, 128])
    """
    with resources.as_file(resources.files("featavg.deep") / "shipped" / f"{NAME}.safetensors") as path:
        return load_weights(untrained(), path, sha256=SHA256).eval()


def untrained(seed: int = 0) -> ResNet18:
    """The same network before training."""
    return ResNet18(10, width=WIDTH, mean=CIFAR10_MEAN, std=CIFAR10_STD, seed=seed)
