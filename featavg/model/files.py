"""Networks on disk: npz or safetensors, plain arrays both; nothing in a file is ever executed."""

from __future__ import annotations

import contextlib
import io
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from featavg.errors import InputError
from featavg.model.network import BinaryNetwork, MulticlassNetwork, TwoLayerNetwork

KINDS: dict[str, type[TwoLayerNetwork]] = {"BinaryNetwork": BinaryNetwork, "MulticlassNetwork": MulticlassNetwork}
COORDINATES = ("ambient", "compact")


def save_network(
    network: TwoLayerNetwork, path: str | os.PathLike[str], about: Mapping[str, Any] | None = None
) -> None:
    """Write a network to `path`, as .npz or .safetensors by its ending; the file is whole or not there.

    `about` is a dict of JSON values that travels with it, for `read_about`.

    >>> import tempfile
    >>> network = BinaryNetwork(np.eye(2), np.zeros(2), np.array([[1.0, -1.0]]), np.zeros(1))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_network(network, folder + "/net.npz")
    ...     load_network(folder + "/net.npz").neurons
    2
    """
    path = Path(path)
    arrays: dict[str, Any] = {
        "kind": np.array(list(KINDS).index(type(network).__name__)),
        "coordinates": np.array(COORDINATES.index(network.coordinates)),
        "weights": network.weights,
        "biases": network.biases,
        "second": network.second,
        "output_bias": network.output_bias,
    }
    if isinstance(network, MulticlassNetwork) and network.class_labels is not None:
        arrays["class_labels"] = network.class_labels
    if about is not None:
        # As bytes, since safetensors knows no text.
        arrays["about"] = np.frombuffer(json.dumps(dict(about)).encode(), dtype=np.uint8)
    if path.suffix not in (".npz", ".safetensors"):
        raise InputError(f"a network file must end in .npz or .safetensors, got {path.name}")
    partial = path.with_name(path.name + ".partial")
    try:
        with open(partial, "wb") as file:
            if path.suffix == ".npz":
                np.savez(file, **arrays)
            else:
                file.write(_safetensors().save(arrays))
        os.replace(partial, path)
    except OSError as error:
        raise InputError(f"cannot write the network file {path} ({error.strerror}); choose another place") from None
    finally:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)


def load_network(path: str | os.PathLike[str]) -> TwoLayerNetwork:
    """Read a network that `save_network` wrote."""
    arrays = _read(Path(path))
    arrays.pop("about", None)
    try:
        kind = dict(enumerate(KINDS.values()))[int(arrays.pop("kind"))]
        coordinates = dict(enumerate(COORDINATES))[int(arrays.pop("coordinates"))]
        return kind(**arrays, coordinates=coordinates)  # type: ignore[arg-type]
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path} holds no network of this kind ({error}); write it with save_network") from None


def read_about(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What `save_network` was told about a network, empty if nothing."""
    arrays = _read(Path(path))
    try:
        return dict(json.loads(np.asarray(arrays["about"], dtype=np.uint8).tobytes())) if "about" in arrays else {}
    except (TypeError, ValueError) as error:
        raise InputError(f"{path} is damaged ({error}); copy it again") from None


def _read(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise InputError(f"no network file at {path}; check the path")
    safetensors = _safetensors() if path.suffix == ".safetensors" else None
    try:
        packed = path.read_bytes()
        if safetensors is not None:
            return dict(safetensors.load(packed))
        with np.load(io.BytesIO(packed), allow_pickle=False) as file:
            return dict(file)
    except Exception as error:  # a damaged file can break its reader anywhere, with errors of any type
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        raise InputError(f"{path} is damaged or no network file ({reason}); copy it again") from None


def _safetensors() -> Any:
    try:
        import safetensors.numpy
    except ImportError:
        raise InputError("safetensors files need the package: pip install 'featavg[deep]', or use .npz") from None
    return safetensors.numpy
