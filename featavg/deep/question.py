"""Which decision of which deep network, at which points: the question that every attack here answers."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn

from featavg.arrays import Array, Bools, Ints, labels_among
from featavg.deep.images import as_images, as_pixels, outputs_of
from featavg.deep.readouts import margins_of
from featavg.errors import InputError
from featavg.model import GROUPED
from featavg.robustness.question import NORMS, Norm, Readout

Precision = Literal["float32", "float64"]
# A margin below this share of the largest output is a tie, and a tie counts as fooled. In float32 the outputs of a
# deep network change in the sixth digit with the batch they are computed in; a witness must survive that.
TIES = {torch.float32: 1e-5, torch.float64: 1e-9}


@dataclass(frozen=True, eq=False)
class DeepQuestion:
    """At each x_i: how far, in `norm` and inside `box`, is the nearest point that is not put in class y_i?

    It answers as `featavg.robustness.Question` does (margins, fooled, distances), so that a `RadiusBracket` carries
    it, `best_of` compares brackets of the same question, and `verify` tests their witnesses again.
    """

    module: nn.Module  # a frozen copy in evaluation mode
    x: Array  # (sample, axis)  flattened images, float64
    y: Ints  # (sample,)  -1 or +1 for binary read-outs, the class for argmax
    shape: tuple[int, ...]  # of one image, as the module takes it
    norm: Norm
    readout: Readout
    box: tuple[float, float] | None
    class_labels: Ints | None  # (output,)  which classes are +1, for binary read-outs of several outputs
    batch: int
    dtype: torch.dtype

    @cached_property
    def start(self) -> Tensor:
        """The points in the precision of the network: (sample, axis)."""
        return torch.from_numpy(self.x).to(self.dtype)

    @cached_property
    def labels(self) -> Tensor:
        """y as a tensor: (sample,)."""
        return torch.from_numpy(self.y)

    def outputs(self, points: Tensor) -> Tensor:
        """F (sample, output) of flat points, differentiable."""
        found: Tensor = self.module(as_pixels(points.reshape(-1, *self.shape), self.dtype))
        return found.reshape(len(points), -1)

    def torch_margins(self, outputs: Tensor, labels: Tensor) -> Tensor:
        """By how much the decision is still y: (sample,), differentiable."""
        return margins_of(outputs, labels, self.readout, self.class_labels)

    def margins(self, points: ArrayLike) -> Array:
        """By how much the decision at point i is still y_i: (sample,)."""
        return self._judge(points)[0]

    def fooled(self, points: ArrayLike, tie: float | None = None) -> Bools:
        """Whether point i is misclassified or tied: margin <= tie · max|F|, tie 1e-5 in float32 and 1e-9 in float64."""
        margins, size = self._judge(points)
        return np.asarray(margins <= (TIES[self.dtype] if tie is None else tie) * size)

    def distances(self, points: ArrayLike) -> Array:
        """Distance in `norm` of point i from x_i: (sample,)."""
        order = 2 if self.norm == "l2" else np.inf
        return np.linalg.norm(np.asarray(points) - self.x, ord=order, axis=1)

    def same_as(self, other: Any) -> bool:
        """Whether both ask the same decision of the same network at the same points."""
        if self is other or type(self) is not type(other):
            return self is other
        asked = "x", "y", "class_labels", "shape", "norm", "readout", "box", "dtype"
        if not all(np.array_equal(getattr(self, name), getattr(other, name)) for name in asked):
            return False
        ours, theirs = self.module.state_dict(), other.module.state_dict()
        return ours.keys() == theirs.keys() and all(torch.equal(ours[name], theirs[name]) for name in ours)

    def _judge(self, points: ArrayLike) -> tuple[Array, Array]:
        flat = torch.from_numpy(np.asarray(points, dtype=np.float64)).to(self.dtype)
        outputs = outputs_of(self.module, flat.reshape(-1, *self.shape), self.batch).reshape(len(flat), -1)
        size = outputs.abs().amax(dim=1)
        return self.torch_margins(outputs, self.labels).double().numpy(), size.double().numpy()


def ask_deep(
    module: nn.Module,
    x: Any,
    y: ArrayLike,
    *,
    readout: Readout | None = None,
    class_labels: ArrayLike | None = None,
    norm: Norm = "l2",
    box: tuple[float, float] | None = (0.0, 1.0),
    precision: Precision = "float32",
    batch: int = 250,
) -> DeepQuestion:
    """Check everything that can be wrong with a question, once, at the border of the room.

    Args:
        module: any classifier of pixels; a copy is asked, in evaluation mode.
        x: images (sample, ...) as the module takes them, bytes or floats in the box.
        y: -1 or +1 for binary read-outs, the class for argmax.
        readout: `sign` for one output; for several `argmax` unless `summed-probabilities`, `maximum` or
            `summed-logits` is named, which need class_labels.
        class_labels: the coarse label, -1 or +1, of each output.
        norm: `l2` or `linf`.
        box: lowest and highest allowed pixel, or None.
        precision: of the network's arithmetic.
        batch: images in one pass.

    >>> question = ask_deep(nn.Linear(2, 1), [[0.5, 0.5]], [1])
    >>> question.readout, question.distances([[0.5, 1.0]])
    ('sign', array([0.5]))
    """
    images = as_images(x)
    if batch < 1:
        raise InputError(f"batch must be at least 1, got {batch}")
    dtype = {"float32": torch.float32, "float64": torch.float64}.get(precision)
    if dtype is None or norm not in NORMS:
        raise InputError(f"precision must be float32 or float64 and norm l2 or linf, got {precision!r} and {norm!r}")
    asked = copy.deepcopy(module).to(dtype).eval().requires_grad_(False)
    width = outputs_of(asked, images[:1].to(dtype), 1).reshape(1, -1).shape[1]
    chosen, coarse = _readout(width, readout, class_labels)
    allowed = range(width) if chosen == "argmax" else (-1, 1)
    labels = labels_among(y, allowed, len(images))
    flat = as_pixels(images, torch.float64).reshape(len(images), -1).numpy()
    flat = np.ascontiguousarray(flat)
    return DeepQuestion(
        asked, flat, labels, tuple(images.shape[1:]), norm, chosen, _box(box, flat), coarse, batch, dtype
    )


def _readout(width: int, readout: Readout | None, class_labels: ArrayLike | None) -> tuple[Readout, Ints | None]:
    if width == 1:
        if readout not in (None, "sign"):
            raise InputError(f"a network with one output has the read-out sign, got {readout!r}")
        return "sign", None
    if readout in (None, "argmax"):
        return "argmax", None
    if readout not in GROUPED:
        raise InputError(f"readout must be argmax, {', '.join(GROUPED)}, got {readout!r}")
    if class_labels is None:
        raise InputError(f"{readout} needs class_labels: the coarse label -1 or +1 of each of {width} outputs")
    coarse = labels_among(class_labels, (-1, 1), width, "class_labels")
    if abs(int(coarse.sum())) == width:
        raise InputError("class_labels must hold both -1 and +1; with one coarse class there is nothing to decide")
    return readout, coarse


def _box(box: tuple[float, float] | None, points: Array) -> tuple[float, float] | None:
    if box is None:
        return None
    low, high = float(box[0]), float(box[1])
    if not low < high or points.min() < low or points.max() > high:
        raise InputError(f"every pixel must lie in the box {low} ... {high}; rescale the images or widen the box")
    return low, high
