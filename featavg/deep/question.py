"""Which decision of which deep network, at which points: torch inside, arrays outside."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn

from featavg import model
from featavg.arrays import Array, Bools, Ints, labels_among
from featavg.deep.images import as_images, as_pixels, as_rows
from featavg.errors import InputError
from featavg.model import GROUPED
from featavg.robustness import Norm, Readout, norm_of

Precision = Literal["float32", "float64"]
# A margin below this share of the largest output is a tie, and a tie counts as fooled. In float32 the outputs of a
# deep network change in the sixth digit with the batch they are computed in; a witness must survive that.
TIES: dict[Precision, float] = {"float32": 1e-5, "float64": 1e-9}


@dataclass(frozen=True, eq=False)
class DeepQuestion:
    """At each x_i: how far, in `norm` and inside `box`, is the nearest point that is not put in class y_i?

    It answers as `featavg.robustness.Question` does (margins, slopes, fooled, distances), so that the same attacks
    find its perturbations, a `RadiusBracket` carries it and `verify` tests its witnesses again.
    """

    module: nn.Module  # a frozen copy in evaluation mode
    x: Array  # (sample, axis)  flattened images, float64
    y: Ints  # (sample,)  -1 or +1 for binary read-outs, the class for argmax
    shape: tuple[int, ...]  # of one image, as the module takes it
    norm: Norm
    readout: model.Readout
    box: tuple[float, float] | None
    batch: int
    precision: Precision  # of the network's arithmetic

    @property
    def codes(self) -> Ints:
        """y as positions among the read-out's classes: (sample,)."""
        return self.y if self.readout.name == "argmax" else (self.y + 1) // 2

    def outputs(self, points: ArrayLike) -> Array:
        """F of flat points: (sample, output), float64."""
        with torch.inference_mode():
            found = [_array(self._forward(pixels)) for _, pixels in self._batches(points)]
        return np.concatenate(found) if found else np.zeros((0, 1))

    def pull_back(self, points: ArrayLike, slope: Callable[[Array, slice], Array]) -> tuple[Array, Array]:
        """F (sample, output) and the gradient Σ_j s_j ∂F_j/∂x (sample, axis), s = slope(F, rows) one batch at a time.

        The gradient is in the network's own precision, 0 where it is not finite.
        """
        gradients = np.zeros(np.shape(points), dtype=self.precision)
        outputs = []
        for rows, pixels in self._batches(points):
            found = self._forward(pixels.requires_grad_())
            outputs.append(_array(found))
            if found.requires_grad:
                pull = torch.from_numpy(slope(outputs[-1], rows)).to(found)
                gradient = torch.autograd.grad(found, pixels, pull)[0]
                gradients[rows] = torch.nan_to_num(gradient).flatten(1).cpu().numpy()
        return np.concatenate(outputs) if outputs else np.zeros((0, 1)), gradients

    def margins(self, points: ArrayLike) -> Array:
        """By how much the decision at point i is still y_i: (sample,)."""
        return self.readout.margins(self.outputs(points), self.codes)

    def slopes(self, points: ArrayLike) -> tuple[Array, Array]:
        """The margin at point i (sample,) and its gradient there (sample, axis)."""
        readout, codes = self.readout, self.codes
        outputs, gradients = self.pull_back(points, lambda found, rows: readout.slope(found, codes[rows]))
        return readout.margins(outputs, codes), gradients

    def fooled(self, points: ArrayLike, tie: float | None = None) -> Bools:
        """Whether point i is misclassified or tied: margin <= tie · max|F|, tie 1e-5 in float32 and 1e-9 in float64."""
        outputs = self.outputs(points)
        margins, size = self.readout.margins(outputs, self.codes), np.abs(outputs).max(axis=1)
        return np.asarray(margins <= (TIES[self.precision] if tie is None else tie) * size)

    def distances(self, points: ArrayLike) -> Array:
        """Distance in `norm` of point i from x_i: (sample,)."""
        return norm_of(self.norm).length(np.asarray(points) - self.x)

    def part(self, chosen: Bools | Ints) -> DeepQuestion:
        """The same question at some of its points, each as often as it is named."""
        return replace(self, x=self.x[chosen], y=self.y[chosen])

    def problem(self) -> None:
        """There is no checker for deep networks."""

    def same_as(self, other: Any) -> bool:
        """Whether both ask the same decision of the same network at the same points."""
        if self is other or type(self) is not type(other):
            return self is other
        asked = "x", "y", "shape", "norm", "box", "precision"
        if not all(np.array_equal(getattr(self, name), getattr(other, name)) for name in asked):
            return False
        ours, theirs = self.module.state_dict(), other.module.state_dict()
        same = ours.keys() == theirs.keys() and all(torch.equal(ours[name], theirs[name]) for name in ours)
        return same and self.readout.same_as(other.readout)

    def _batches(self, points: ArrayLike) -> Iterator[tuple[slice, Tensor]]:
        """Rows and images, copied: a module may write into its input."""
        flat = np.asarray(points)
        for first in range(0, len(flat), self.batch):
            rows = slice(first, first + self.batch)
            images = np.array(flat[rows], dtype=self.precision).reshape(-1, *self.shape)
            yield rows, torch.from_numpy(images).to(_device(self.module))

    def _forward(self, pixels: Tensor) -> Tensor:
        found: Tensor = self.module(as_pixels(pixels, pixels.dtype))
        return found.reshape(len(pixels), -1)


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
    >>> question.readout.name, question.distances([[0.5, 1.0]])
    ('sign', array([0.5]))
    """
    images, flat = as_images(x), as_rows(x)
    if batch < 1:
        raise InputError(f"batch must be at least 1, got {batch}")
    if precision not in TIES:
        raise InputError(f"precision must be float32 or float64, got {precision!r}")
    norm_of(norm)
    asked = copy.deepcopy(module).to(getattr(torch, precision)).eval().requires_grad_(False)
    decision = decision_of(_width(asked, images), readout, class_labels)
    allowed = range(len(decision.labels)) if decision.name == "argmax" else (-1, 1)
    labels = labels_among(y, allowed, len(flat))
    shape = tuple(images.shape[1:])
    return DeepQuestion(asked, flat, labels, shape, norm, decision, _box(box, flat), batch, precision)


def decision_of(width: int, readout: Readout | None, class_labels: ArrayLike | None = None) -> model.Readout:
    """The read-out of `width` outputs that is called `readout`, or what `ask_deep` takes by default.

    >>> decision_of(3, "maximum", [1, 1, -1]).margins(np.array([[2.0, 3.0, 1.0]]), np.array([1]))
    array([2.])
    """
    if width == 1:
        return model.read_as(model.Sign(), readout)
    groups = model.Groups.of(_coarse(width, readout, class_labels)) if readout in GROUPED else None
    return model.read_as(model.Argmax(np.arange(width), groups), readout)


def _coarse(width: int, readout: str, class_labels: ArrayLike | None) -> Ints:
    if class_labels is None:
        raise InputError(f"{readout} needs class_labels: the coarse label -1 or +1 of each of {width} outputs")
    coarse = labels_among(class_labels, (-1, 1), width, "class_labels")
    if abs(int(coarse.sum())) == width:
        raise InputError("class_labels must hold both -1 and +1; with one coarse class there is nothing to decide")
    return coarse


def _width(module: nn.Module, images: Tensor) -> int:
    """The number of outputs."""
    dtype = next((parameter.dtype for parameter in module.parameters()), torch.float32)
    with torch.inference_mode():
        found: Tensor = module(as_pixels(images[:1].to(dtype)).to(_device(module), dtype))
    return int(found.reshape(1, -1).shape[1])


def _device(module: nn.Module) -> torch.device:
    return next((parameter.device for parameter in module.parameters()), torch.device("cpu"))


def _array(outputs: Tensor) -> Array:
    """Outputs in float64, since read-outs cost nothing there."""
    return outputs.detach().cpu().double().numpy()


def _box(box: tuple[float, float] | None, points: Array) -> tuple[float, float] | None:
    if box is None:
        return None
    low, high = float(box[0]), float(box[1])
    if not low < high or points.min() < low or points.max() > high:
        raise InputError(f"every pixel must lie in the box {low} ... {high}; rescale the images or widen the box")
    return low, high
