"""Models by path: networks of this project, or weights with a named architecture. Nothing in a file is executed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from featavg.data import Dataset
from featavg.errors import InputError
from featavg.model import load_network, read_about
from featavg.refine.classifier import is_classifier, load_classifier

if TYPE_CHECKING:
    from torch import Tensor, nn

ARCHITECTURES = ("two-layer", "small-cnn", "resnet18")
NETWORKS = (".npz", ".safetensors", ".onnx", ".skops")
WEIGHTS = (".safetensors", ".pt", ".pth", ".bin")
READOUT = "readout.class_of"
PICKLES = (".pkl", ".pickle", ".joblib", ".dill", ".sav")


def open_model(path: Path, architecture: str | None = None, shape: tuple[int, ...] | None = None) -> Any:
    """Read a model for `diagnose`.

    Args:
        path: an .npz or .safetensors file of `save_network` or `featavg refine`; or a state dict (.safetensors, .pt,
            .pth, .bin) if an architecture is named.
        architecture: two-layer, small-cnn or resnet18; sizes are read from the weights.
        shape: (height, width[, channel]) of the images it is to judge.
    """
    ending = path.suffix.lower()
    if ending in PICKLES:
        raise InputError(
            f"{path.name} is a pickle, which can run any code when it is read, so it is refused; call "
            "featavg.diagnose(model, x, y) in Python, or write the network with featavg.save_network"
        )
    if not path.is_file():
        raise InputError(f"no model at {path}; check the path")
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
