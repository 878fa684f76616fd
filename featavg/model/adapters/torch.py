"""torch.nn.Sequential of Linear layers with ReLU between them; torch itself is not imported."""

from __future__ import annotations

from typing import Any

import numpy as np

from featavg.arrays import Array
from featavg.errors import InputError
from featavg.model.adapters.arrays import decided
from featavg.model.network import Layer, Network


def read(model: Any) -> Network:
    """The layers of `Sequential(Linear, ReLU, Linear, …)`."""
    parts = list(model) if type(model).__name__ == "Sequential" else [model]
    found = [type(part).__name__ for part in parts]
    if found != ["Linear" if i % 2 == 0 else "ReLU" for i in range(len(found) | 1)]:
        raise InputError(f"a torch network must be Sequential of Linear, ReLU, Linear, …, got {', '.join(found)}")
    layers = tuple(Layer(_numpy(part.weight), _bias(part)) for part in parts[::2])
    return Network(layers, decided(layers))


def _numpy(tensor: Any) -> Array:
    array: Array = tensor.detach().cpu().numpy().astype(np.float64)
    return array


def _bias(layer: Any) -> Array:
    return np.zeros(layer.out_features) if layer.bias is None else _numpy(layer.bias)
