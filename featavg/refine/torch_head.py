"""A torch module cut in two: what comes into its linear head, and the head."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from featavg.arrays import Array
from featavg.errors import InputError

if TYPE_CHECKING:
    from torch import nn

WHOLE = "(the module itself)"


class Cut(NamedTuple):
    """What `split_module` found."""

    features: Array  # (sample, feature)  what comes into the head
    weights: Array  # (output, feature)
    bias: Array | None  # (output,)
    name: str  # of the head


def split_module(module: Any, x: ArrayLike, head: str | None = None) -> Cut:
    """Return what comes into the linear head at points x (sample, ...), and the head.

    The head is the linear layer of that name, or the last one of the module.
    """
    from featavg.deep.extra import require_torch

    require_torch()
    name, layer = find_head(module, head)
    features = inputs_of(layer, name, module, x)
    bias = None if layer.bias is None else layer.bias.detach().double().numpy()
    return Cut(features, layer.weight.detach().double().numpy(), bias, name)


def inputs_of(layer: nn.Module, name: str, module: Any, x: ArrayLike) -> Array:
    """What comes into a layer of the module at points x (sample, ...): (sample, feature)."""
    import torch

    from featavg.deep.images import as_images, outputs_of

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
        if is_two_layer(part) and part[-1] is last:
            return name or WHOLE, part
    return None


def is_two_layer(module: Any) -> bool:
    """Whether a module is Linear, ReLU, Linear."""
    return type(module).__name__ == "Sequential" and [type(m).__name__ for m in module] == ["Linear", "ReLU", "Linear"]


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
