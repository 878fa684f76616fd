"""The networks and recipes that the claims about images share, and what the paper's figure says of CIFAR-10.

A CNN for MNIST and Fashion-MNIST, a ResNet-18 for CIFAR-10.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from featavg.experiments.images.gaps import Published
from featavg.experiments.images.pairs import ImageSetting, Pair

if TYPE_CHECKING:
    from torch import nn

    from featavg.deep import Recipe, ResNet18


@dataclass(frozen=True, kw_only=True)
class CnnSetting(ImageSetting):
    """The CNN of Lyu & Li (2020), narrower, on a part of the training images at a constant rate.

    At a constant rate the moments of training differ in time alone.
    """

    task: str = "parity"
    images: int | None = 8_000
    hidden: int = 256
    moments: tuple[int, ...] = (1, 2, 4, 8)
    learning_rate: float = 0.01
    marks: tuple[int, ...] = (30, 300, 3000, 10_000)

    def note(self, task: str) -> str:
        """How it was trained, in words."""
        return (
            f"Task: {task}. {self.images} of the training images per seed, {self.moments[-1]} epochs, {self.hidden} "
            "hidden units, batches of 64, constant learning rate, the same for both networks; the paper trains a "
            "ResNet-18. The learning rate was chosen among 0.005, 0.01 and 0.02 by clean accuracy of both networks "
            "in a trial on MNIST (two epochs, seed 1000)."
        )


def cnn_pair(config: CnnSetting, mean: float, std: float, published: Published) -> Pair:
    """The networks of these claims; `mean` and `std` of the training pixels."""

    def module(outputs: int, shape: tuple[int, int, int], seed: int) -> nn.Module:
        from featavg.deep import SmallCNN

        made, other = (
            SmallCNN(count, shape=shape, mean=(mean,), std=(std,), hidden=config.hidden, seed=seed)
            for count in (outputs, 1)
        )
        # The size of the head enters the draw of all weights; below it both networks shall start alike.
        body = {name: value for name, value in other.state_dict().items() if not name.startswith("head")}
        made.load_state_dict(body, strict=False)
        return made

    def recipe(seed: int) -> Recipe:
        from featavg.deep import Recipe

        epochs, rate = config.moments[-1], config.learning_rate
        return Recipe(epochs=epochs, batch_size=64, learning_rate=rate, schedule="constant", seed=seed)

    return Pair(module, recipe, std, published)


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
