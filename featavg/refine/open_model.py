"""Users' models: by path (networks of this project, or weights with a named architecture), and torch modules.

Nothing in a file is executed. A module is read as what comes into its last linear layer or two, and these layers.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from featavg.arrays import Array
from featavg.data import Dataset
from featavg.errors import InputError
from featavg.model import Network, as_network, existing, load_network, read_about
from featavg.refine.classifier import is_classifier, load_classifier
from featavg.refine.decision import INPUTS, Decision, linear_decision, two_layer_decision

if TYPE_CHECKING:
    from torch import Tensor, nn

ARCHITECTURES = ("two-layer", "small-cnn", "resnet18")
NETWORKS = (".npz", ".safetensors", ".onnx", ".skops")
WEIGHTS = (".safetensors", ".pt", ".pth", ".bin")
READOUT = "readout.class_of"
WHOLE = "(the module itself)"
TWO_LAYERS = ["Linear", "ReLU", "Linear"]


def open_model(path: Path, architecture: str | None = None, shape: tuple[int, ...] | None = None) -> Any:
    """Read a model for `diagnose`.

    Args:
        path: an .npz or .safetensors file of `save_network` or `featavg refine`; or a state dict (.safetensors, .pt,
            .pth, .bin) if an architecture is named.
        architecture: two-layer, small-cnn or resnet18; sizes are read from the weights.
        shape: (height, width[, channel]) of the images it is to judge.
    """
    ending = path.suffix.lower()
    existing(path)
    if architecture is not None:
        return _module(path, architecture, shape)
    if ending in NETWORKS:
        return _network(path)
    if ending in WEIGHTS:
        raise InputError(f"{path.name} holds weights; say of what with --architecture {', '.join(ARCHITECTURES)}")
    raise InputError(f"a model must end in {', '.join((*NETWORKS, *WEIGHTS[1:]))}, got {path.name}")


def inputs_for(model: Any, data: Dataset) -> Any:
    """The points as the model takes them: images with their channel first for a deep one, rows for all others."""
    if not hasattr(getattr(model, "fine", model), "features"):
        return data.x
    from featavg.deep import channels_first

    return channels_first(data.images)


def _network(path: Path) -> Any:
    about = read_about(path)
    try:
        return load_classifier(path) if is_classifier(about) else load_network(path)
    except InputError as error:
        if path.suffix.lower() not in WEIGHTS:
            raise
        names = ", ".join(ARCHITECTURES)
        raise InputError(f"{error}, or if these are weights say of what with --architecture {names}") from None


def _module(path: Path, name: str, shape: tuple[int, ...] | None) -> nn.Module:
    if name not in ARCHITECTURES:
        raise InputError(f"architecture must be one of {', '.join(ARCHITECTURES)}, got {name!r}")
    from featavg.deep import load_weights, read_state

    state = read_state(path)
    if name == "two-layer":
        return load_weights(_two_layer(_size(state, "0.weight", path), _size(state, "2.weight", path)[0]), path)
    if shape is None:
        raise InputError(f"{name} judges images, got data without an image shape; give a folder of images or an npz")
    if READOUT not in state:
        return load_weights(_image_module(name, shape, _size(state, "head.weight", path)), path)
    from featavg.deep import answer_coarsely

    # What `refine_module` saved: the network inside, perhaps with a two-layer head.
    finer = "fine.head.0.weight" in state
    first = _size(state, "fine.head.0.weight" if finer else "fine.head.weight", path)
    module = _image_module(name, shape, first)
    if finer:
        module.set_submodule("head", _two_layer(first, _size(state, "fine.head.2.weight", path)[0]))
    return load_weights(answer_coarsely(module, state[READOUT].numpy()), path)


def _image_module(name: str, shape: tuple[int, ...], head: tuple[int, int]) -> nn.Module:
    """A module for images of that shape whose linear head has (output, feature) weights."""
    from featavg.deep import ResNet18, SmallCNN

    outputs, features = head
    channels = shape[2] if len(shape) == 3 else 1
    if name == "resnet18":
        return ResNet18(outputs, width=max(features // 8, 1), channels=channels)
    return SmallCNN(outputs, shape=(channels, shape[0], shape[1]), hidden=features)


def _two_layer(first: tuple[int, ...], outputs: int) -> nn.Module:
    from torch import nn

    return nn.Sequential(nn.Linear(first[1], first[0]), nn.ReLU(), nn.Linear(first[0], outputs))


def _size(state: Mapping[str, Tensor], name: str, path: Path) -> tuple[int, int]:
    if name not in state or state[name].ndim != 2:
        known = ", ".join(list(state)[:5])
        raise InputError(f"{path.name} must hold a matrix {name!r} for this architecture, got {known}, ...")
    rows, columns = state[name].shape
    return rows, columns


class Cut(NamedTuple):
    """What `split_module` found."""

    features: Array  # (sample, feature)  what comes into the head
    weights: Array  # (output, feature)
    bias: Array | None  # (output,)
    name: str  # of the head


def read_module(module: Any, x: ArrayLike, y: ArrayLike, head: str | None = None) -> Decision:
    """The decision of a torch module.

    What `as_network` reads as two layers with ReLU between them decides on the points themselves; any other module
    decides by its linear head (or the one named `head`) on the features that come into it. Of what `refine_module`
    returns the head may have two layers, and probabilities of sub-classes are summed.
    """
    from featavg.deep import require_torch

    require_torch()
    if head is None and type(getattr(module, "readout", None)).__name__ == "CoarseReadout":
        return _refined(module, x, y)
    network = None if head is not None else _two_layers(module)
    if network is not None:
        rows = np.asarray(x)
        rows = rows / 255 if rows.dtype == np.uint8 else rows
        return two_layer_decision(network, rows.reshape(len(rows), -1), y)
    cut = split_module(module, x, head)
    kind = f"{type(module).__name__} with the linear head {cut.name!r}"
    return linear_decision(cut.features, y, cut.weights, cut.bias, kind, space=features_into(cut.name))


def _two_layers(module: Any) -> Network | None:
    """The module in evaluation as a two-layer network, if it is one."""
    try:
        network = as_network(copy.deepcopy(module).eval())
    except InputError:
        return None
    return network if len(network.layers) == 2 and network.activation.is_relu else None


def features_into(name: str) -> str:
    """How the space of the features that come into a layer is called."""
    return INPUTS if name == WHOLE else f"the features that come into {name!r}"


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
        raise InputError(f"the head {name!r} must see one row per point, got features of shape {features.shape}")
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
