"""Images as tensors: channel first, bytes as long as possible, pixels in [0, 1] where a network sees them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from featavg.arrays import Array
from featavg.errors import InputError


def channels_first(images: Any) -> Tensor:
    """Return images (sample, height, width[, channel]) as a tensor (sample, channel, height, width) of their own type.

    >>> import numpy as np
    >>> channels_first(np.zeros((5, 8, 9), dtype=np.uint8)).shape
    torch.Size([5, 1, 8, 9])
    """
    array = np.asarray(images)
    if array.ndim == 3:
        array = array[..., None]
    if array.ndim != 4:
        raise InputError(f"images must have 3 or 4 axes (sample, height, width[, channel]), got shape {array.shape}")
    # A copy: readers of files give arrays that must not be written to, which torch does not accept.
    return torch.from_numpy(np.array(np.moveaxis(array, 3, 1), order="C"))


def as_pixels(images: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
    """Return bytes 0 ... 255 as pixels in [0, 1], and floats as they are, in `dtype` and channels_last if images."""
    pixels = images.to(dtype) / 255 if images.dtype == torch.uint8 else images.to(dtype)
    return pixels.contiguous(memory_format=torch.channels_last) if pixels.ndim == 4 else pixels


def as_images(x: Any, name: str = "x") -> Tensor:
    """Return arrays or tensors (sample, ...) as a tensor of bytes or finite floats, or say why that cannot be."""
    images = x if isinstance(x, Tensor) else torch.from_numpy(np.array(x, order="C"))
    if images.ndim < 2 or not len(images):
        raise InputError(f"{name} must hold one or more images (sample, ...), got shape {tuple(images.shape)}")
    if images.dtype != torch.uint8 and not images.is_floating_point():
        raise InputError(f"{name} must be bytes (uint8) or floats in [0, 1], got {images.dtype}; convert them first")
    if images.is_floating_point() and not torch.isfinite(images).all():
        raise InputError(f"{name} must be finite, got NaN or infinite values; remove them first")
    return images


def as_rows(images: Any) -> Array:
    """Return images (sample, ...), bytes or floats, as flat pixels (sample, axis) in float64, as questions keep them.

    >>> as_rows(np.full((2, 1, 3, 3), 255, dtype=np.uint8)).max(axis=1)
    array([1., 1.])
    """
    pixels = as_pixels(as_images(images).detach().cpu(), torch.float64)
    return np.ascontiguousarray(pixels.reshape(len(pixels), -1).numpy())


def outputs_of(module: nn.Module, x: Tensor, batch: int = 512, *, features: bool = False) -> Tensor:
    """The logits, or the penultimate features, of images in evaluation mode and batches: (sample, output)."""
    parameter = next(module.parameters(), None)
    dtype = torch.float32 if parameter is None else parameter.dtype
    was_training = module.training
    module.eval()
    try:
        with torch.inference_mode():
            seen = [_apply(module, as_pixels(part, dtype), features) for part in batches_of(x, batch)]
    finally:
        module.train(was_training)
    return torch.cat(seen)


def batches_of(x: Tensor, batch: int) -> Iterator[Tensor]:
    """Consecutive parts of at most `batch` images."""
    if batch < 1:
        raise InputError(f"batch must be at least 1, got {batch}")
    for start in range(0, len(x), batch):
        yield x[start : start + batch]


def _apply(module: nn.Module, pixels: Tensor, features: bool) -> Tensor:
    if not features:
        outputs: Tensor = module(pixels)
        return outputs
    penultimate = getattr(module, "features", None)
    if not callable(penultimate):
        raise InputError(f"features need a module with a method features(x), got {type(module).__name__}; add one")
    found: Tensor = penultimate(pixels)
    return found
