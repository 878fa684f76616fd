"""Weights in and out: safetensors, or torch files read without running anything in them."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from featavg.deep.checkpoints import read_tensors, write_tensors
from featavg.errors import InputError, reason

ModuleT = TypeVar("ModuleT", bound=nn.Module)
TORCH_ENDINGS = (".pt", ".pth", ".bin")
# Names listed before a sentence says "and n more".
LISTED = 5


def save_weights(module: nn.Module, path: str | os.PathLike[str], card: Mapping[str, Any] | None = None) -> str:
    """Write the weights as safetensors, the card in the file's own metadata; return the SHA-256 of the file.

    The file is the same, byte for byte, for the same weights and card.
    """
    path = Path(path)
    if path.suffix != ".safetensors":
        raise InputError(f"weights are written as .safetensors, got {path.name}")
    write_tensors(path, module.state_dict(), {} if card is None else {"card": json.dumps(dict(card), sort_keys=True)})
    return hashlib.sha256(path.read_bytes()).hexdigest()


def load_weights(module: ModuleT, path: str | os.PathLike[str], *, sha256: str | None = None) -> ModuleT:
    """Set the weights of `module` to those of a .safetensors, .pt, .pth or .bin file that fits it exactly."""
    if sha256 is not None and (got := _digest(Path(path))) != sha256:
        raise InputError(f"{path} must have SHA-256 {sha256}, got {got}; fetch it again")
    state = read_state(path)
    _check_fit(module.state_dict(), state, str(path))
    module.load_state_dict(state)
    return module


def read_state(path: str | os.PathLike[str]) -> dict[str, Tensor]:
    """The tensors of a file by name; a torch file may hold them under `state_dict` or `model`.

    Nothing in the file is executed: a pickle that may run code is refused.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"no weights at {path}; check the path")
    if path.suffix == ".safetensors":
        tensors, _ = read_tensors(path)
        run = {name.removeprefix("module."): t for name, t in tensors.items() if name.startswith("module.")}
        # A checkpoint of `fit` holds its weights as module.*, beside the momentum.
        return run if any(name.startswith("momentum.") for name in tensors) else tensors
    if path.suffix not in TORCH_ENDINGS:
        raise InputError(f"weights must end in .safetensors, {', '.join(TORCH_ENDINGS)}, got {path.name}")
    return _state_dict(_torch_file(path), path)


def read_card(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The card that `save_weights` put into a safetensors file, empty if there is none."""
    _, metadata = read_tensors(Path(path))
    return dict(json.loads(metadata.get("card", "{}")))


def _torch_file(path: Path) -> Any:
    try:
        with warnings.catch_warnings():
            # Torch warns of pickles that it did not write; what matters is whether it reads them.
            warnings.simplefilter("ignore")
            return torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        # Torch's own text goes on to explain how to allow the code; the first sentence names what was refused.
        refused = next((line for line in str(error).splitlines() if "GLOBAL" in line or "Unsupported" in line), "")
        raise InputError(
            f"{path} is a pickle that may run code and is refused ({refused.strip() or 'not only tensors'}); "
            "save module.state_dict() alone, or convert it to safetensors"
        ) from None
    except Exception as error:  # a damaged file can break torch anywhere, with errors of any type
        raise InputError(f"{path} is damaged or no torch file ({reason(error)}); copy it again") from None


def _state_dict(content: Any, path: Path) -> dict[str, Tensor]:
    for key in ("state_dict", "model"):
        if isinstance(content, dict) and isinstance(content.get(key), dict):
            content = content[key]
    if not isinstance(content, dict) or not content or not all(isinstance(v, Tensor) for v in content.values()):
        raise InputError(f"{path} must hold a state dict (name: tensor); save module.state_dict()")
    # DataParallel puts every name behind "module.".
    wrapped = all(name.startswith("module.") for name in content)
    return {name.removeprefix("module.") if wrapped else name: value for name, value in content.items()}


def _check_fit(wanted: Mapping[str, Tensor], given: Mapping[str, Tensor], path: str) -> None:
    """Say which names are missing, which are unknown and which have another shape."""
    shapes = [
        f"{name} {tuple(given[name].shape)} instead of {tuple(wanted[name].shape)}"
        for name in wanted
        if name in given and given[name].shape != wanted[name].shape
    ]
    problems = {
        "missing": [name for name in wanted if name not in given],
        "unexpected": [name for name in given if name not in wanted],
        "of another shape": shapes,
    }
    told = [f"{what} {_listed(names)}" for what, names in problems.items() if names]
    if told:
        raise InputError(f"{path} does not fit this module: {'; '.join(told)}; build the module it was saved from")


def _listed(names: list[str]) -> str:
    more = len(names) - LISTED
    return ", ".join(names[:LISTED]) + (f" and {more} more" if more > 0 else "")


def _digest(path: Path) -> str:
    if not path.is_file():
        raise InputError(f"no weights at {path}; check the path")
    return hashlib.sha256(path.read_bytes()).hexdigest()
