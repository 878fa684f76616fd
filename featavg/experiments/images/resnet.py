"""The ResNet-18 and the recipe that the claims about CIFAR-10 share, and what the paper's figure says of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from featavg.experiments.images.pairs import Pair

if TYPE_CHECKING:
    from featavg.deep import Recipe, ResNet18

# Robust accuracy read off the paper's Fig. 3 (right), radius by radius.
PUBLISHED = {
    "coarse": {0.0: 0.971, 0.08: 0.946, 0.16: 0.903, 0.24: 0.845, 0.32: 0.766, 0.40: 0.676, 0.48: 0.591, 0.56: 0.506,
               0.64: 0.429, 0.72: 0.367, 0.80: 0.312},
    "fine": {0.0: 0.984, 0.08: 0.967, 0.16: 0.942, 0.24: 0.904, 0.32: 0.854, 0.40: 0.792, 0.48: 0.722, 0.56: 0.650,
             0.64: 0.574, 0.72: 0.502, 0.80: 0.436},
}  # fmt: skip


def resnet_pair(width: int, rate: float, epochs: int) -> Pair:
    """ResNet-18 of a base width, trained by a one-cycle schedule that is annealed to its end in so many epochs."""
    from featavg.deep import CIFAR10_MEAN, CIFAR10_STD

    def module(outputs: int, shape: tuple[int, int, int], seed: int) -> ResNet18:
        from featavg.deep import ResNet18

        return ResNet18(outputs, width=width, mean=CIFAR10_MEAN, std=CIFAR10_STD, seed=seed)

    def recipe(seed: int) -> Recipe:
        from featavg.deep import Recipe

        return Recipe(epochs=epochs, batch_size=128, learning_rate=rate, warmup=0.25, crop=4, flip=True, seed=seed)

    std = sum(CIFAR10_STD) / len(CIFAR10_STD)
    return Pair(module, recipe, std, PUBLISHED, unit=std)
