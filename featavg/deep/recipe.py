"""How a deep network is trained: the whole recipe on one screen, and its schedule."""

from __future__ import annotations

from dataclasses import dataclass
from math import cos, pi
from typing import Literal

import torch
from torch import Tensor

from featavg.errors import InputError

Schedule = Literal["one-cycle", "cosine", "constant"]
SCHEDULES: tuple[Schedule, ...] = ("one-cycle", "cosine", "constant")


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """SGD with Nesterov momentum on the logistic loss (one output) or cross-entropy (several).

    Training ends after `epochs`, or after `minutes` if they are over before; the schedule runs to its end either way.
    A run that ends by the clock depends on the machine: its log says how many epochs to name for a repeat.
    """

    epochs: int = 30
    minutes: float | None = None
    batch_size: int = 128
    learning_rate: float = 0.1  # the peak
    schedule: Schedule = "one-cycle"
    warmup: float = 0.2  # share of a one-cycle run in which the learning rate rises
    momentum: float = 0.9
    weight_decay: float = 5e-4  # of weights; biases and batch norms are left alone
    label_smoothing: float = 0.0
    crop: int = 0  # images are shifted by up to so many pixels, reflected at the edge
    flip: bool = False  # half of the images are mirrored
    seed: int = 0  # of order and augmentation; the module brings its own start

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size", "learning_rate"):
            if not getattr(self, name) > 0:
                raise InputError(f"{name} must be positive, got {getattr(self, name)}")
        if self.minutes is not None and not self.minutes > 0:
            raise InputError(f"minutes must be positive or None, got {self.minutes}")
        if self.schedule not in SCHEDULES:
            raise InputError(f"schedule must be one of {', '.join(SCHEDULES)}, got {self.schedule!r}")
        for name in ("warmup", "momentum", "label_smoothing"):
            if not 0 <= getattr(self, name) < 1:
                raise InputError(f"{name} must lie in [0, 1), got {getattr(self, name)}")
        if self.weight_decay < 0 or self.crop < 0:
            raise InputError(f"weight_decay and crop must not be negative, got {self.weight_decay} and {self.crop}")

    def rate(self, done: float) -> float:
        """The learning rate when a share `done` of the run is over.

        >>> recipe = Recipe(learning_rate=1.0, warmup=0.2)
        >>> [round(recipe.rate(done), 2) for done in (0.0, 0.2, 0.6, 1.0)]
        [0.04, 1.0, 0.5, 0.0]
        """
        done = min(max(done, 0.0), 1.0)
        if self.schedule == "constant":
            return self.learning_rate
        warmup = self.warmup if self.schedule == "one-cycle" else 0.0
        if done < warmup:
            return self.learning_rate * (0.04 + 0.96 * done / warmup)
        return self.learning_rate * (1 + cos(pi * (done - warmup) / (1 - warmup))) / 2


def augment(images: Tensor, crop: int, flip: bool) -> Tensor:
    """Shift each image by up to `crop` pixels, reflected at its edge, and mirror half of them: one gather, any type.

    images are (sample, channel, height, width); chance comes from torch's generator.
    """
    if not crop and not flip:
        return images
    samples, _, height, width = images.shape
    if crop >= min(height, width):
        raise InputError(f"crop must be smaller than the images, got {crop} for {height} x {width} pixels")
    rows, columns = torch.arange(height).repeat(samples, 1), torch.arange(width).repeat(samples, 1)
    if flip:
        columns = torch.where(torch.rand(samples, 1) < 0.5, columns.flip(1), columns)
    if crop:
        rows = _reflected(rows + torch.randint(-crop, crop + 1, (samples, 1)), height)
        columns = _reflected(columns + torch.randint(-crop, crop + 1, (samples, 1)), width)
    each = torch.arange(samples)[:, None, None]
    # Index arrays on both sides of the channel axis put it last: the gather itself makes channels_last images.
    return images[each, :, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)


def _reflected(places: Tensor, size: int) -> Tensor:
    """Places outside 0 ... size − 1 mirrored at the first or the last pixel."""
    return (size - 1) - ((size - 1) - places.abs()).abs()
