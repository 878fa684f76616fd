"""Networks that take minutes or hours to train: kept in the cache, whole or half trained, so that a run goes on."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, TypeVar

from torch import nn

from featavg.data import cache_folder
from featavg.deep.checkpoints import EpochLog
from featavg.deep.fit import Fitted, fit
from featavg.deep.recipe import Recipe
from featavg.deep.weights import load_weights, save_weights

ModuleT = TypeVar("ModuleT", bound=nn.Module)


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
