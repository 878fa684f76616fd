"""A torch module as a decision: what comes into its last linear layer or two, and these layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from featavg.arrays import Array
from featavg.errors import InputError
from featavg.model import as_network
from featavg.refine.decision import Decision, linear_decision, two_layer_decision

if TYPE_CHECKING:
    from torch import nn

WHOLE = "(the module itself)"
TWO_LAYERS = ["Linear", "ReLU", "Linear"]
UNSEEN = ("Flatten", "Dropout", "Identity")  # they change no number of a point at evaluation


class Cut(NamedTuple):
    """What `split_module` found."""

    features: Array  # (sample, feature)  what comes into the head
    weights: Array  # (output, feature)
    bias: Array | None  # (output,)
    name: str  # of the head


def read_module(module: Any, x: ArrayLike, y: ArrayLike, head: str | None = None) -> Decision:
    """The decision of a torch module.

    Linear, ReLU, Linear decide on the points themselves, whatever reshapes or drops nothing around them; any other
    module decides by its linear head (or the one named `head`) on the features that come into it. Of what
    `refine_module` returns the head may have two layers, and probabilities of sub-classes are summed.
    """
    plain = [part for part in module if type(part).__name__ not in UNSEEN] if _is_sequence(module) else []
    if head is None and [type(part).__name__ for part in plain] == TWO_LAYERS:
        rows = np.asarray(x)
        rows = rows / 255 if rows.dtype == np.uint8 else rows
        return two_layer_decision(as_network(type(module)(*plain)), rows.reshape(len(rows), -1), y)
    if head is None and type(getattr(module, "readout", None)).__name__ == "CoarseReadout":
        return _refined(module, x, y)
    cut = split_module(module, x, head)
    kind = f"{type(module).__name__} with the linear head {cut.name!r}"
    return linear_decision(cut.features, y, cut.weights, cut.bias, kind, space=features_into(cut.name))


def features_into(name: str) -> str:
    """How the space of the features that come into a layer is called."""
    return "the inputs" if name == WHOLE else f"the features that come into {name!r}"


def _refined(module: Any, x: ArrayLike, y: ArrayLike) -> Decision:
    """The decision of what `refine_module` returns: sub-class logits by a head of one or two layers, then summed."""
    class_of = module.readout.class_of.numpy()
    head = two_layer_head(module.fine)
    if head is None:
        cut, space = split_module(module.fine, x), features_into
        kind = f"refined {type(module.fine).__name__} with the linear head {cut.name!r}"
        return linear_decision(
            cut.features, y, cut.weights, cut.bias, kind, class_of=class_of, space=space(cut.name)
        )  # fmt: skip
    features = inputs_of(head[1], head[0], module, x)
    return two_layer_decision(as_network(head[1]), features, y, class_of=class_of, space=features_into(head[0]))


def split_module(module: Any, x: ArrayLike, head: str | None = None) -> Cut:
    """Return what comes into the linear head at points x (sample, ...), and the head.

    The head is the linear layer of that name, or the last one of the module.
    """
    from featavg.deep import require_torch

    require_torch()
    name, layer = find_head(module, head)
    features = inputs_of(layer, name, module, x)
    bias = None if layer.bias is None else layer.bias.detach().double().numpy()
    return Cut(features, layer.weight.detach().double().numpy(), bias, name)


def inputs_of(layer: nn.Module, name: str, module: Any, x: ArrayLike) -> Array:
    """What comes into a layer of the module at points x (sample, ...): (sample, feature)."""
    import torch

    from featavg.deep import as_images, outputs_of

    images = as_images(x)
    seen: list[Any] = []
    hook = layer.register_forward_pre_hook(lambda _, given: seen.append(given[0].detach()))
    try:
        outputs_of(module, images)
    except RuntimeError as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"features must fit the module, got points of shape {np.shape(x)[1:]} and {reason}") from None
    finally:
        hook.remove()
    if not seen:
        raise InputError(f"the layer {name!r} is not used by the module; name another with head=")
    features: Array = torch.cat(seen).double().numpy()
    if features.ndim != 2:
        raise InputError(f"the head {name!r} must see one row a point, got features of shape {features.shape}")
    return features


def two_layer_head(module: Any) -> tuple[str, nn.Sequential] | None:
    """The part of the module that is Linear, ReLU, Linear and ends with its last linear layer, and its name."""
    _, last = find_head(module)
    for name, part in module.named_modules():
        if _is_sequence(part) and [type(one).__name__ for one in part] == TWO_LAYERS and part[-1] is last:
            return name or WHOLE, part
    return None


def _is_sequence(module: Any) -> bool:
    return type(module).__name__ == "Sequential"


def find_head(module: Any, head: str | None = None) -> tuple[str, nn.Linear]:
    """The name of the linear head, and the head: the layer of that name, or the last linear one."""
    from torch import nn

    parts = list(module.named_modules())
    layers = {name or WHOLE: part for name, part in parts if isinstance(part, nn.Linear)}
    if not layers:
        found = sorted({type(part).__name__ for name, part in parts if name})
        raise InputError(f"a torch module needs a linear head, got only {', '.join(found) or type(module).__name__}")
    if head is None:
        return list(layers.items())[-1]
    if head not in layers:
        raise InputError(f"head must be one of the linear layers {', '.join(layers)}, got {head!r}")
    return head, layers[head]
