"""The CNN and the recipe that the claims about MNIST and Fashion-MNIST share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from featavg.experiments.images.gaps import Published
from featavg.experiments.images.pairs import ImageSetting, Pair

if TYPE_CHECKING:
    from torch import nn

    from featavg.deep import Recipe


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
