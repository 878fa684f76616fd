"""Networks on disk: npz or safetensors, or the files of ONNX and skops; nothing in a file is ever executed."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from featavg.errors import InputError, reason
from featavg.files import whole_file
from featavg.model.activation import Activation
from featavg.model.adapters import as_network, onnx, skops
from featavg.model.network import Layer, Network
from featavg.model.readouts import GROUPED, Argmax, Grouped, Groups, Readout, Sign
from featavg.model.two_layer import BinaryNetwork, MulticlassNetwork
from featavg.npz import read_npz

VERSION = 2
PICKLES = (".pkl", ".pickle", ".joblib", ".dill", ".sav")
COORDINATES = ("ambient", "compact")


def save_network(network: Any, path: str | os.PathLike[str], about: Mapping[str, Any] | None = None) -> None:
    """Write a network, or any model that `as_network` reads, to `path`; the file is whole or not there.

    The ending says how: .npz, .safetensors, or .onnx for other programs (float64, Gemm and Relu nodes).

    `about` is a dict of JSON values that travels with it, for `read_about`.

    >>> import tempfile
    >>> from featavg import BinaryNetwork
    >>> network = BinaryNetwork(np.eye(2), np.zeros(2), np.array([[1.0, -1.0]]), np.zeros(1))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_network(network, folder + "/net.npz")
    ...     load_network(folder + "/net.npz").neurons
    2
    """
    path = Path(path)
    if path.suffix not in (".npz", ".safetensors", ".onnx"):
        raise InputError(f"a network file must end in .npz, .safetensors or .onnx, got {path.name}")
    read = as_network(network)
    if path.suffix == ".onnx":
        texts = {"featavg": _described(read), "about": dict(about or {})}
        packed: bytes | None = onnx.write(read, {name: json.dumps(said) for name, said in texts.items()})
    else:
        arrays = _packed(read) | ({} if about is None else {"about": _as_bytes(dict(about))})
        packed = None if path.suffix == ".npz" else _safetensors().save(arrays)
    with whole_file(path) as file:
        if packed is None:
            np.savez(file, **arrays)
        else:
            file.write(packed)


def load_network(path: str | os.PathLike[str]) -> Network:
    """Read a network that `save_network` wrote, an ONNX file of such a network, or a scikit-learn model of skops."""
    if Path(path).suffix in (".onnx", ".skops"):
        return _foreign(existing(Path(path)))
    arrays = _read(Path(path))
    try:
        return _unpacked(arrays) if "version" in arrays else _first_version(arrays)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise InputError(
            f"{path} holds no network of this kind ({reason(error)}); write it with save_network"
        ) from None


def _foreign(path: Path) -> Network:
    """A network from a file of another library; what `save_network` said of its read-out is kept."""
    model = skops.load(path) if path.suffix == ".skops" else onnx.load(path)
    try:
        network = as_network(model) if path.suffix == ".skops" else onnx.read(model)
    except InputError as error:  # which may quote a name of the file, and that may be of several lines
        raise InputError(" ".join(str(error).split())) from None
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:  # parts that are missing or misfit
        raise InputError(f"{path} holds no layers that fit ({reason(error)}); export it again") from None
    if path.suffix == ".skops":
        return network
    said = onnx.metadata(model).get("featavg")
    if said is None:
        return network
    try:
        described = json.loads(said)
        return replace(network, readout=_readout(described), coordinates=_coordinates(described))
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise InputError(f"{path} says something strange of its read-out ({error}); export it again") from None


def _described(network: Network) -> dict[str, Any]:
    readout, activation = network.readout, network.activation
    groups = getattr(readout, "groups", None)
    return {
        "name": readout.name,
        "labels": readout.labels.tolist(),
        "groups": None if groups is None else groups.values.tolist(),
        "activation": asdict(activation),
        "coordinates": network.coordinates,
    }


def _packed(network: Network) -> dict[str, Any]:
    arrays: dict[str, Any] = {"version": np.array(VERSION), "described": _as_bytes(_described(network))}
    for number, layer in enumerate(network.layers, start=1):
        # Row by row: safetensors writes the memory of an array as it lies, and scikit-learn's lie column by column.
        arrays[f"weights_{number}"] = np.asarray(layer.weights, order="C")
        arrays[f"biases_{number}"] = np.asarray(layer.biases, order="C")
    return arrays


def _unpacked(arrays: dict[str, Any]) -> Network:
    if int(arrays["version"]) != VERSION:
        raise ValueError(f"version {int(arrays['version'])}, expected {VERSION}")
    described = _from_bytes(arrays["described"])
    depth = sum(name.startswith("weights_") for name in arrays)
    layers = tuple(Layer(arrays[f"weights_{i}"], arrays[f"biases_{i}"]) for i in range(1, depth + 1))
    activation = Activation(**described["activation"])
    return Network(layers, _readout(described), activation, _coordinates(described))


def _coordinates(described: Mapping[str, Any]) -> Any:
    if described["coordinates"] not in COORDINATES:
        raise ValueError(f"coordinates {described['coordinates']!r}")
    return described["coordinates"]


def _readout(described: Mapping[str, Any]) -> Readout:
    name, labels = described["name"], np.asarray(described["labels"])
    groups = None if described["groups"] is None else Groups.of(described["groups"])
    if name == "sign":
        return Sign(labels)
    if name == "argmax":
        return Argmax(labels, groups)
    if groups is None or name not in GROUPED:
        raise ValueError(f"read-out {name!r}")
    return Grouped(groups, name)


def _first_version(arrays: dict[str, Any]) -> Network:
    """A network of files written before layers had numbers: kind 0 has one output, kind 1 several."""
    known = "weights biases second output_bias class_labels kind coordinates about"
    unknown = set(arrays) - set(known.split())
    if unknown:
        raise ValueError(f"an array {min(unknown)!r}")
    own = (arrays["weights"], arrays["biases"], arrays["second"], arrays["output_bias"])
    coordinates = dict(enumerate(COORDINATES))[int(arrays["coordinates"])]
    if {0: True, 1: False}[int(arrays["kind"])]:
        return BinaryNetwork(*own, coordinates=coordinates)  # type: ignore[arg-type]
    return MulticlassNetwork(*own, arrays.get("class_labels"), coordinates=coordinates)  # type: ignore[arg-type]


def _as_bytes(values: Mapping[str, Any]) -> Any:
    """JSON as an array of bytes, since safetensors knows no text."""
    return np.frombuffer(json.dumps(values).encode(), dtype=np.uint8)


def _from_bytes(packed: Any) -> dict[str, Any]:
    return dict(json.loads(np.asarray(packed, dtype=np.uint8).tobytes()))


def read_about(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What `save_network` was told about a network, empty if nothing."""
    if Path(path).suffix == ".skops":
        return {}
    try:
        if Path(path).suffix == ".onnx":
            return dict(json.loads(onnx.metadata(onnx.load(existing(Path(path)))).get("about", "{}")))
        arrays = _read(Path(path))
        return _from_bytes(arrays["about"]) if "about" in arrays else {}
    except (TypeError, ValueError) as error:
        raise InputError(f"{path} is damaged ({reason(error)}); copy it again") from None


def existing(path: Path) -> Path:
    """The file itself, if it is there and no pickle."""
    if path.suffix.lower() in PICKLES:
        raise InputError(
            f"{path.name} is a pickle, which can run any code when it is read, so it is refused; give the model "
            "itself to featavg in Python, or write it with featavg.save_network"
        )
    if not path.is_file():
        raise InputError(f"no model at {path}; check the path")
    return path


def _read(path: Path) -> dict[str, Any]:
    existing(path)
    safetensors = _safetensors() if path.suffix == ".safetensors" else None
    try:
        return read_npz(path) if safetensors is None else dict(safetensors.load(path.read_bytes()))
    except Exception as error:  # a damaged file can break its reader anywhere, with errors of any type
        raise InputError(f"{path} is damaged or no network file ({reason(error)}); copy it again") from None


def _safetensors() -> Any:
    try:
        import safetensors.numpy
    except ImportError:
        raise InputError("safetensors files need the package: pip install 'featavg[deep]', or use .npz") from None
    return safetensors.numpy
