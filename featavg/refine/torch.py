"""Deep networks refined: a finer head on a frozen backbone, or the whole network trained again on finer labels.

Sub-classes are looked for among the features that come into the linear head of a trained coarse module, where they
lie apart though nobody named them (Yang, Steinhardt & Hu 2023), or among its pixels.
"""

from __future__ import annotations

import copy
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from featavg.arrays import Array, Ints
from featavg.data import Labels, Names, encode, split
from featavg.errors import InputError
from featavg.progress import Progress, silent
from featavg.refine.classifier import SubclassClassifier
from featavg.refine.comparison import KEEP, Compared, Comparison
from featavg.refine.decision import Measured
from featavg.refine.open_model import WHOLE, Cut, split_module
from featavg.refine.sublabels import Counts
from featavg.robustness import MinimalNorm

if TYPE_CHECKING:
    from torch import nn

    from featavg.deep import ModelCard, Recipe

ATTACKED = 200
SEEN = "The held-out fifth took no part in the refinement, but the module itself may have been trained on it."
CHECKED = 8  # points at which a new head must give what its network gives


@dataclass(frozen=True, repr=False)
class RefinedModule(Compared):
    """A plain torch module that answers class logits, with what it is worth and the card that goes with its weights."""

    module: nn.Sequential  # `.fine` gives sub-class logits, `.readout` sums their probabilities: logits (sample, class)
    classes: Names  # (class,)  what its outputs mean
    class_of: Ints  # (subclass,)
    subclass_names: Names  # (subclass,)
    subclass: Ints  # (sample,)  of each point that it was trained on
    compared: Comparison
    card: ModelCard

    def __repr__(self) -> str:
        return f"RefinedModule({len(self.class_of)} sub-classes of {len(self.classes)} classes, {self.compared!r})"

    def save(self, path: str | os.PathLike[str]) -> str:
        """Write the weights as safetensors, with the card and the names inside; return the SHA-256 of the file."""
        from featavg.deep import save_weights

        names = {"classes": self.classes.tolist(), "subclass_names": self.subclass_names.tolist()}
        return save_weights(self.module, path, self.card.as_dict() | names)


def refine_module(
    module: nn.Module,
    x: Any,
    y: ArrayLike,
    sublabels: ArrayLike | None = None,
    *,
    test: tuple[Any, ArrayLike] | None = None,
    build: Callable[[int], nn.Module] | None = None,
    recipe: Recipe | None = None,
    space: Literal["features", "pixels"] = "features",
    head: str | None = None,
    n_subclasses: Counts = "auto",
    box: tuple[float, float] | None = (0.0, 1.0),
    keep_accuracy: float = KEEP,
    seed: int = 0,
    progress: Progress | None = None,
) -> RefinedModule:
    """Refine a trained module: sub-classes found among its features, a finer head, and a comparison before and after.

    Without `build` the backbone stays as it is and its linear head is replaced by the two-layer network of a
    `SubclassClassifier`. With it a new network of one output per sub-class is trained from scratch. The module that was
    given is left alone.

    Args:
        module: a classifier of images with a linear head: one output for two classes, or one per class.
        x: images (sample, ...) as the module takes them, bytes or floats in the box, to learn from.
        y: their labels (sample,); output c of the module means the c-th label in sorted order.
        sublabels: a finer label for all or some images (None, −1 or empty: unknown); found by default.
        test: images and labels for the comparison, which neither network should have been trained on; by default a
            fifth of every class of x is held out for it, which the module itself may have seen.
        build: build(outputs) returns a new module of so many outputs.
        recipe: how that one is trained; `Recipe()` by default.
        space: where sub-classes are looked for, `features` of the head or, with `build`, `pixels`.
        head: name of the linear head; the last linear layer by default.
        n_subclasses: how many sub-classes, as in `SubclassClassifier`.
        box: lowest and highest allowed pixel in the comparison, or None.
        keep_accuracy: the largest loss of accuracy that the verdict allows.
        seed: of everything random here; recipe and build have their own.
        progress: called as progress(share done, what comes next).

    >>> from torch import nn
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(200, 2)) + 10 * rng.integers(2, size=(200, 2))
    >>> y = (x[:, 0] > 5) ^ (x[:, 1] > 5)
    >>> found = refine_module(nn.Linear(2, 1), x, y, test=(x, y), n_subclasses=2, box=None)
    >>> found.module, found.compared.accuracy[1]
    (Sequential(
      (fine): Sequential(
        (0): Linear(in_features=2, out_features=4, bias=True)
        (1): ReLU()
        (2): Linear(in_features=4, out_features=4, bias=True)
      )
      (readout): CoarseReadout()
    ), 1.0)
    """
    begun, tell = time.perf_counter(), progress or silent
    if space not in ("features", "pixels") or (space == "pixels" and build is None):
        raise InputError(f"space must be features, or pixels where build= makes a new network, got {space!r}")
    notes: tuple[str, ...] = ()
    if test is None:
        x, y, sublabels, test = _held_out(x, y, sublabels, seed)
        notes = (SEEN,)
    for images in (x, test[0]):
        _check_box(images, box)
    cut = split_module(module, x, head)
    from featavg.deep import answer_coarsely

    tell(0.05, "finding sub-classes")
    found = SubclassClassifier(n_subclasses, random_state=seed)
    found.fit(cut.features if space == "features" else _pixels(x), y, sublabels=sublabels)
    outputs, classes = len(cut.weights), len(found.classes_)
    if outputs != classes and (outputs, classes) != (1, 2):
        raise InputError(f"a head of {outputs} outputs cannot decide between {classes} classes; check y or the head")
    tell(0.3, "training")
    if build is None:
        fine, about = _with_head(module, cut, found, x), _head_card(module, cut, found)
    else:
        fine, about = _trained(build, found, x, recipe, lambda done, total: tell(0.3 + 0.5 * done / total, "training"))
    refined = answer_coarsely(fine, found.class_of_).eval()
    tell(0.8, "measuring")
    sides = [_measure(side, found, test, box, seed) for side in (module, refined)]
    tell(1.0, "done")
    said = sorted({flag for _, flags in sides for flag in flags})
    comparison = Comparison(
        (f"{type(module).__name__} on coarse labels", f"{len(found.class_of_)} sub-classes"),
        "the minimal-norm attack on pixels" + (f" ({'; '.join(said)})" if said else ""),
        tuple(np.bincount(found.class_of_).tolist()), sides[0][0], sides[1][0], keep_accuracy, notes, seed,
        time.perf_counter() - begun,
    )  # fmt: skip
    card = _card(about, refined, comparison, space)
    names = (found.classes_, found.class_of_, found.subclass_names_, found.subclass_)
    return RefinedModule(refined, *names, comparison, card)


def _held_out(x: Any, y: ArrayLike, sublabels: ArrayLike | None, seed: int) -> tuple[Any, Any, Any, tuple[Any, Any]]:
    """Images, labels and sub-labels of four fifths of every class, and images and labels of the last."""
    labels = Labels.of(y, "y", len(x))
    learn, judge = split(labels.codes, (0.8, 0.2), seed)
    fine = None if sublabels is None else np.asarray(sublabels, dtype=object)[learn]
    return x[learn], labels.values[learn], fine, (x[judge], labels.values[judge])


def _check_box(images: Any, box: tuple[float, float] | None) -> None:
    """Refuse pixels that lie outside the box before any work is done; bytes are read as parts of 255."""
    pixels = np.asarray(images)
    if box is None or not pixels.size or pixels.dtype == np.uint8:
        return
    low, high = float(pixels.min()), float(pixels.max())
    if low < box[0] or high > box[1]:
        raise InputError(
            f"pixels must lie in the box {box[0]:g} ... {box[1]:g}, got {low:g} ... {high:g}; divide them by 255, pass "
            "them as bytes, or name another box="
        )


def _pixels(x: Any) -> Array:
    from featavg.deep import as_images, as_pixels

    return as_pixels(as_images(x)).flatten(1).double().numpy()


def _with_head(module: nn.Module, cut: Cut, found: SubclassClassifier, x: Any) -> nn.Module:
    """A copy of the module whose head is the refined network."""
    from featavg.deep import as_images, as_torch, outputs_of

    fine = copy.deepcopy(module).eval()
    finer_head = as_torch(found.network_, next(module.parameters()).dtype)
    if cut.name == WHOLE:
        fine = finer_head
    else:
        fine.set_submodule(cut.name, finer_head)
    # A softmax after the head, say, would be taken for logits; a log-softmax is harmless.
    try:
        seen = outputs_of(fine, as_images(x)[:CHECKED]).double().softmax(dim=1).numpy()
    except RuntimeError:
        seen = np.empty(0)
    wanted = found.network_.probabilities(cut.features[:CHECKED])
    if seen.shape != wanted.shape or not np.allclose(seen, wanted, atol=1e-3):
        raise InputError(
            f"the head must give the module's outputs, but something comes after {cut.name!r}; "
            "name another with head=, or pass the module without what follows"
        )
    return fine


def _trained(
    build: Callable[[int], nn.Module],
    found: SubclassClassifier,
    x: Any,
    recipe: Recipe | None,
    progress: Callable[[float, float], None],
) -> tuple[nn.Module, dict[str, Any]]:
    """A new module trained on the sub-labels, and what its card says."""
    from dataclasses import asdict

    from featavg.deep import Recipe, as_images, fit, outputs_of

    outputs = len(found.class_of_)
    module = build(outputs)
    got = outputs_of(module, as_images(x)[:1]).reshape(1, -1).shape[1]
    if got != outputs:
        raise InputError(f"build({outputs}) must return a module of {outputs} outputs, got one of {got}")
    recipe = Recipe() if recipe is None else recipe
    last = fit(module, x, found.subclass_, recipe, progress=progress).log[-1]
    about = {
        "architecture": f"{type(module).__name__} of {outputs} outputs, then log Σ exp over the sub-classes of a class",
        "recipe": asdict(recipe),
        "results": {"epochs": float(last.epoch), "minutes": round(last.seconds / 60, 1)},
    }
    return module, about


def _head_card(module: nn.Module, cut: Cut, found: SubclassClassifier) -> dict[str, Any]:
    network = found.network_
    inside, outputs = network.neurons, network.output_count
    layers = f"Linear({network.inputs}, {inside}), ReLU, Linear({inside}, {outputs})"
    return {
        "architecture": f"{type(module).__name__}, frozen, with {cut.name!r} replaced by {layers}, "
        "then log Σ exp over the sub-classes of a class",
        "recipe": {"head": "SubclassClassifier", "steps": found.n_iter_, "n_subclasses": found.choice_.count},
        "results": {},
    }


def _card(about: dict[str, Any], refined: nn.Module, compared: Comparison, space: str) -> ModelCard:
    from featavg.deep import ModelCard, parameter_count

    results = dict(about["results"])
    for side, name in enumerate(("before", "after")):
        results |= {
            f"accuracy {name}": round(compared.accuracy[side], 4),
            f"median ℓ2 radius under attack {name}": round(compared.median[side], 4),
        }
    kind = about["architecture"].split(",")[0].split(" ")[0]
    counts = ", ".join(map(str, compared.per_class))
    return ModelCard(
        f"refined {kind}",
        about["architecture"],
        parameter_count(refined),
        f"coarse labels; sub-classes of each class ({counts}) from {space}",
        about["recipe"],
        results,
        notes=(compared.verdict, compared.note),
    )


def _measure(
    module: nn.Module,
    found: SubclassClassifier,
    test: tuple[Any, ArrayLike],
    box: tuple[float, float] | None,
    seed: int,
) -> tuple[Measured, tuple[str, ...]]:
    """The module at the test images, radii at some of them, and what the attack says against itself."""
    from featavg.deep import as_images, ask_deep, outputs_of

    images = as_images(test[0], "test images")
    codes = encode(test[1], found.classes_, "y", len(images))
    outputs = outputs_of(module, images).reshape(len(images), -1)
    one = outputs.shape[1] == 1
    decided = (outputs[:, 0] > 0).numpy() if one else outputs.argmax(dim=1).numpy()
    rows = np.random.default_rng(seed).permutation(len(codes))[:ATTACKED]
    y = 2 * codes - 1 if one else codes
    bracket = MinimalNorm().on(ask_deep(module, images[rows], y[rows], box=box))
    right, none = (decided == codes).astype(np.float64), np.zeros(len(rows))
    splits = (np.zeros(len(codes), dtype=np.int64), np.zeros(len(rows), dtype=np.int64))
    return Measured(right, splits[0], none, bracket.upper, splits[1]), bracket.flags
