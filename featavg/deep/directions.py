"""The theorem's direction through a deep network: the averaged direction of feature space, mapped back to pixels."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn

from featavg.arrays import Array
from featavg.deep.images import as_images, as_pixels, batches_of, outputs_of
from featavg.deep.question import DeepQuestion
from featavg.errors import InputError
from featavg.robustness import norm_of


def feature_directions(question: DeepQuestion, reference: Any = None, labels: ArrayLike | None = None) -> Array:
    """For each class y the direction v_y that raises its feature, of length 1 in the question's norm: (class, axis).

        v_y = mean over images of label y of ∇_x ⟨φ(x), u⟩

    with φ the penultimate output and u the unit vector from the mean feature of all other images to that of label y.
    Classes of which the question has no point get 0. `UniversalDirection(direction=...)` follows these directions.

    Args:
        question: about a module with a method `features`.
        reference: images (sample, ...) that give means and gradients, with `labels`; the question's own by default.
        labels: (sample,), as the question's y.
    """
    dtype = getattr(torch, question.precision)
    images = torch.from_numpy(question.x.reshape(-1, *question.shape)) if reference is None else as_images(reference)
    images, given = as_pixels(images, dtype), np.asarray(question.y if reference is None else labels)
    if given.shape != (len(images),):
        raise InputError(f"reference needs a label for each of {len(images)} images, got {given.shape}")
    features = outputs_of(question.module, images, question.batch, features=True).flatten(1)
    found = np.zeros((len(question.readout.labels), question.x.shape[1]))
    for y, code in sorted(set(zip(question.y.tolist(), question.codes.tolist(), strict=True))):
        own = torch.from_numpy(given == y)
        if not own.any() or own.all():
            raise InputError(f"a direction needs points of label {y} and of others; give reference images of both")
        toward = features[own].mean(dim=0) - features[~own].mean(dim=0)
        found[code] = _pulled(question.module, images[own], toward / toward.norm(), question.batch)
    return norm_of(question.norm).steepest(found)


def _pulled(module: nn.Module, images: Tensor, toward: Tensor, batch: int) -> Array:
    """Mean over images of ∇_x ⟨φ(x), u⟩: (axis,)."""
    total = torch.zeros(images[0].numel(), dtype=images.dtype)
    for part in batches_of(images, batch):
        leaf = part.detach().clone().requires_grad_()
        features = cast(Any, module).features(as_pixels(leaf, images.dtype))
        total += torch.autograd.grad((features.flatten(1) @ toward).sum(), leaf)[0].sum(dim=0).flatten()
    return (total / len(images)).double().numpy()
