"""The theorem's attack through a deep network: the averaged direction of feature space, mapped back to pixels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from featavg.deep.attacks.base import DeepAttack, Found
from featavg.deep.attacks.field import Field
from featavg.deep.images import as_images, as_pixels, batches_of, outputs_of
from featavg.errors import InputError

SCALES = tuple(0.05 * 1.5**power for power in range(18))  # of ℓ2 length 0.05 to 50


@dataclass(frozen=True, kw_only=True)
class FeatureDirection(DeepAttack):
    """x − t·v_y, one direction for all points of a label, and for each point a t that fools.

    v_y = mean over points of label y of ∇_x ⟨φ(x), u⟩, with u the unit vector from the mean feature of all other
    points to that of label y, and φ the penultimate output.
    """

    name: ClassVar[str] = "feature direction"
    reference: Any = None  # images (sample, ...) that give means and gradients, with `labels`; the batch unless told
    labels: Any = None  # (sample,)
    scales: tuple[float, ...] = SCALES  # lengths of the steps that are tried

    def search(self, field: Field) -> Found:
        """One ray a label."""
        directions = self.directions(field)
        rays = torch.stack([-directions[int(y)] for y in field.y])
        return Found(field.first_along(rays, self.scales))

    def directions(self, field: Field) -> dict[int, Tensor]:
        """v_y, of length 1 in the question's norm, for each label y: (axis,)."""
        question = field.question
        images, labels = question.start.reshape(-1, *question.shape), question.labels
        if self.reference is not None:
            images = as_pixels(as_images(self.reference, "reference"), question.dtype)
            labels = torch.as_tensor(self.labels)
            if labels.shape != (len(images),):
                raise InputError(f"reference needs a label for each of {len(images)} images, got {labels.shape}")
        features = outputs_of(question.module, images, question.batch, features=True).flatten(1)
        found = {}
        for y in torch.unique(question.labels).tolist():
            own = labels == y
            if not own.any() or own.all():
                raise InputError(f"a direction needs points of label {y} and of others; give reference images of both")
            toward = features[own].mean(dim=0) - features[~own].mean(dim=0)
            pulled = self._pull(field, images[own], toward / toward.norm())
            found[y] = field.ball.steepest(pulled[None])[0]
        return found

    def _pull(self, field: Field, images: Tensor, toward: Tensor) -> Tensor:
        """Mean over images of ∇_x ⟨φ(x), u⟩: (axis,)."""
        total = torch.zeros(images[0].numel(), dtype=images.dtype)
        for part in batches_of(images, field.question.batch):
            leaf = part.detach().clone().requires_grad_()
            features = field.question.module.features(as_pixels(leaf, images.dtype))  # type: ignore[operator]
            total += torch.autograd.grad((features.flatten(1) @ toward).sum(), leaf)[0].sum(dim=0).flatten()
        return total / len(images)
