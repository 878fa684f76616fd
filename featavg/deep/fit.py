"""Training deep networks: one verb, seeds, a checkpoint an epoch, a budget in minutes.

Networks that take minutes or hours to train are kept in the cache, whole or half trained, so that a run goes on.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from featavg.arrays import Ints, labels_among
from featavg.data import cache_folder
from featavg.deep.checkpoints import EpochLog, load_run, run_identity, save_run
from featavg.deep.images import as_images, as_pixels, outputs_of
from featavg.deep.onednn import safe_backward
from featavg.deep.recipe import Recipe, augment
from featavg.deep.weights import load_weights, save_weights
from featavg.errors import InputError

ModuleT = TypeVar("ModuleT", bound=nn.Module)
Progress = Callable[[float, float], None]  # done, total


@dataclass(frozen=True)
class Fitted(Generic[ModuleT]):
    """A trained module with the log of its epochs; `status` says how the run ended."""

    module: ModuleT
    log: tuple[EpochLog, ...]
    status: str  # finished: epochs, finished: minutes


def fit(
    module: ModuleT,
    x: Any,
    y: Any,
    recipe: Recipe | None = None,
    *,
    validation: tuple[Any, Any] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    on_epoch: Callable[[EpochLog], None] | None = None,
) -> Fitted[ModuleT]:
    """Train `module` in place on images x (sample, channel, height, width) with labels y (sample,).

    Args:
        module: one output is trained on labels -1 and +1, several on labels 0 ... outputs − 1.
        x: bytes 0 ... 255, or floats in [0, 1].
        y: the labels.
        recipe: how; `Recipe()` by default.
        validation: images and labels whose accuracy is logged after each epoch; nothing is chosen by it.
        checkpoint: a file written after each epoch; if it is there, the run goes on from it, with the same result.
        progress: called with (done, total), shares of the run, after each step.
        on_epoch: called with the log of each epoch.

    >>> module = nn.Sequential(nn.Flatten(), nn.Linear(4, 1))
    >>> x = torch.rand(64, 1, 2, 2); y = (x.mean(dim=(1, 2, 3)) > 0.5) * 2 - 1
    >>> fit(module, x, y, Recipe(epochs=2, batch_size=16)).log[-1].steps
    8
    """
    recipe = Recipe() if recipe is None else recipe
    images, labels = as_images(x), _labels(module, x, y)
    held_out = None if validation is None else (as_images(validation[0]), _labels(module, *validation))
    module.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    run = _Run(module, images, labels, recipe, progress)
    path = None if checkpoint is None else Path(checkpoint)
    about = {} if path is None else run_identity(module, images, labels, recipe)
    if path is not None and path.is_file():
        run.resume(load_run(path, module, run.optimiser, about))
    while not run.over:
        entry = run.epoch(held_out)
        if on_epoch is not None:  # before the checkpoint: a run that is cut off between the two tells the epoch again
            on_epoch(entry)
        if path is not None:
            save_run(path, module, run.optimiser, run.log, about)
    module.eval()
    whole = run.steps == recipe.epochs * run.steps_an_epoch
    return Fitted(module, run.log, f"finished: {'epochs' if whole else 'minutes'}")


class _Run:
    """The state of a run between two epochs."""

    def __init__(self, module: nn.Module, x: Tensor, y: Tensor, recipe: Recipe, progress: Progress | None) -> None:
        self.module, self.x, self.y, self.recipe, self.progress = module, x, y, recipe, progress
        self.optimiser = _optimiser(module, recipe)
        self.log: tuple[EpochLog, ...] = ()
        self.began = time.monotonic()
        self.steps_an_epoch = max(1, len(x) // recipe.batch_size)
        self.steps = 0

    def resume(self, log: tuple[EpochLog, ...]) -> None:
        """Go on after the last epoch of a log."""
        self.log = log
        if log:
            self.began, self.steps = time.monotonic() - log[-1].seconds, log[-1].steps

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began

    @property
    def done(self) -> float:
        """The share of the run that is over, by steps or by the clock, whichever is ahead."""
        by_steps = self.steps / (self.recipe.epochs * self.steps_an_epoch)
        return by_steps if self.recipe.minutes is None else max(by_steps, self.seconds / (60 * self.recipe.minutes))

    @property
    def over(self) -> bool:
        return self.done >= 1

    def epoch(self, held_out: tuple[Tensor, Tensor] | None) -> EpochLog:
        """One pass over the images, in an order that depends on the seed and the number of the epoch alone."""
        number, losses, hits, seen = len(self.log) + 1, 0.0, 0, 0
        self.module.train()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.recipe.seed * 1_000_003 + number)
            for rows in self._batches():
                loss, right = self._step(rows)
                if not isfinite(loss):
                    rate = self.recipe.learning_rate
                    raise InputError(f"training diverged in epoch {number}; lower learning_rate={rate}")
                losses, hits, seen = losses + loss * len(rows), hits + right, seen + len(rows)
                if self.progress is not None:
                    self.progress(min(self.done, 1.0), 1.0)
                if self.over:
                    break
        accurate = None if held_out is None else accuracy(self.module, *held_out)
        rate = self.recipe.rate(self.done)
        entry = EpochLog(number, self.steps, self.seconds, rate, losses / seen, hits / seen, accurate)
        self.log = (*self.log, entry)
        return entry

    def _batches(self) -> Iterator[Tensor]:
        order = torch.randperm(len(self.x))
        size = min(self.recipe.batch_size, len(order))
        # A last batch of few images would shake the batch norms; other images are left out in every epoch.
        for start in range(0, self.steps_an_epoch * size, size):
            yield order[start : start + size]

    def _step(self, rows: Tensor) -> tuple[float, int]:
        """One step; its loss and the number of images that were right before it."""
        for group in self.optimiser.param_groups:
            group["lr"] = self.recipe.rate(self.done)
        pixels = as_pixels(augment(self.x[rows], self.recipe.crop, self.recipe.flip))
        outputs = self.module(pixels)
        loss = _loss(outputs, self.y[rows], self.recipe.label_smoothing)
        self.optimiser.zero_grad()
        with safe_backward(self.module):
            loss.backward()  # type: ignore[no-untyped-call]
        self.optimiser.step()
        self.steps += 1
        return float(loss.detach()), int((decisions(outputs.detach()) == self.y[rows]).sum())


def accuracy(module: nn.Module, x: Any, y: Any, batch: int = 512) -> float:
    """The share of images (sample, ...) that are put in their class."""
    images = as_images(x)
    labels = torch.as_tensor(y)
    return float((decisions(outputs_of(module, images, batch)) == labels).double().mean())


def decisions(outputs: Tensor) -> Tensor:
    """The class (sample,): the sign of one output, the argmax of several."""
    return outputs.flatten().sign().long() if _is_binary(outputs) else outputs.argmax(dim=1)


def _is_binary(outputs: Tensor) -> bool:
    return outputs.ndim == 1 or outputs.shape[1] == 1


def _loss(outputs: Tensor, y: Tensor, smoothing: float) -> Tensor:
    if not _is_binary(outputs):
        return functional.cross_entropy(outputs, y, label_smoothing=smoothing)
    margins = outputs.flatten() * y
    # Smoothing gives the wrong label a weight of s/2, as cross-entropy does for two classes.
    return (functional.softplus(-margins) * (1 - smoothing / 2) + functional.softplus(margins) * smoothing / 2).mean()


def _optimiser(module: nn.Module, recipe: Recipe) -> torch.optim.SGD:
    trained = [parameter for parameter in module.parameters() if parameter.requires_grad]
    if not trained:
        raise InputError("this module has nothing to train; set requires_grad on its parameters")
    weights = [parameter for parameter in trained if parameter.ndim > 1]
    others = [parameter for parameter in trained if parameter.ndim <= 1]
    groups = [{"params": weights, "weight_decay": recipe.weight_decay}, {"params": others, "weight_decay": 0.0}]
    return torch.optim.SGD(
        [group for group in groups if group["params"]],
        lr=recipe.rate(0.0),
        momentum=recipe.momentum,
        nesterov=recipe.momentum > 0,
    )


def _labels(module: nn.Module, x: Any, y: Any) -> Tensor:
    images = as_images(x)
    outputs = outputs_of(module, images[:1])
    allowed = (-1, 1) if _is_binary(outputs) else range(outputs.shape[1])
    labels: Ints = labels_among(np.asarray(y), allowed, len(images))
    return torch.from_numpy(labels)


def trained(
    name: str,
    module: ModuleT,
    x: Any,
    y: Any,
    recipe: Recipe,
    *,
    validation: tuple[Any, Any] | None = None,
    keep: Collection[int] = (),
    progress: Callable[[float, float], None] | None = None,
) -> Fitted[ModuleT]:
    """`fit` with a checkpoint in the cache; the weights after each epoch of `keep` can be had by `after_epoch`."""

    def remember(entry: EpochLog) -> None:
        if entry.epoch in keep:
            save_weights(module, _place(name, entry.epoch))

    return fit(
        module,
        x,
        y,
        recipe,
        validation=validation,
        checkpoint=_place(name),
        on_epoch=remember,
        progress=progress,
    )


def after_epoch(name: str, module: ModuleT, epoch: int) -> ModuleT:
    """Set `module` to what `trained` kept under this name after an epoch."""
    return load_weights(module, _place(name, epoch)).eval()


def _place(name: str, epoch: int | None = None) -> Path:
    stage = "" if epoch is None else f"-after-{epoch}"
    return cache_folder() / "networks" / f"{name}{stage}.safetensors"
