"""Readers of networks that come from elsewhere: scikit-learn, torch, plain arrays. Neither library is imported."""

from __future__ import annotations

from typing import Any

import numpy as np

from featavg.errors import InputError
from featavg.model.network import BinaryNetwork, MulticlassNetwork, TwoLayerNetwork

SUPPORTED = (
    "BinaryNetwork, MulticlassNetwork, a fitted sklearn MLPClassifier with one ReLU hidden layer, "
    "torch.nn.Sequential(Linear, ReLU, Linear), or arrays (weights, biases, second, output_bias)"
)


def as_network(model: Any) -> TwoLayerNetwork:
    """Return `model` as a two-layer ReLU network: itself, or what it says in our terms.

    One output becomes a `BinaryNetwork`, two or more a `MulticlassNetwork`.

    >>> as_network(([[1.0, 0.0]], [0.0], [[1.0]], [-0.5])).score([[2.0, 7.0]])
    array([1.5])
    """
    if isinstance(model, TwoLayerNetwork):
        return model
    if isinstance(model, tuple | list) and len(model) == 4:
        return _from_arrays(*model)
    kind = type(model).__name__
    if kind == "MLPClassifier":
        return _from_sklearn(model)
    if kind == "Sequential":
        return _from_torch(model)
    raise InputError(f"cannot read a {kind}; supported are {SUPPORTED}")


def _from_arrays(weights: Any, biases: Any, second: Any, output_bias: Any) -> TwoLayerNetwork:
    second = np.atleast_2d(np.asarray(second, dtype=np.float64))
    output_bias = np.atleast_1d(np.asarray(output_bias, dtype=np.float64))
    kind = BinaryNetwork if len(second) == 1 else MulticlassNetwork
    return kind(weights=weights, biases=biases, second=second, output_bias=output_bias)


def _from_sklearn(model: Any) -> TwoLayerNetwork:
    if not hasattr(model, "coefs_"):
        raise InputError("this MLPClassifier is not fitted; call .fit first")
    if len(model.coefs_) != 2 or model.activation != "relu":
        raise InputError(
            f"an MLPClassifier needs one ReLU hidden layer, got {len(model.coefs_) - 1} layers of {model.activation}; "
            f"supported are {SUPPORTED}"
        )
    (first, second), (biases, output_bias) = model.coefs_, model.intercepts_
    return _from_arrays(first.T, biases, second.T, output_bias)


def _from_torch(model: Any) -> TwoLayerNetwork:
    layers = [type(layer).__name__ for layer in model]
    if layers != ["Linear", "ReLU", "Linear"]:
        raise InputError(
            f"a Sequential must be Linear, ReLU, Linear, got {', '.join(layers)}; supported are {SUPPORTED}"
        )
    first, second = model[0], model[2]
    return _from_arrays(_numpy(first.weight), _bias(first), _numpy(second.weight), _bias(second))


def _numpy(tensor: Any) -> Any:
    return tensor.detach().cpu().numpy().astype(np.float64)


def _bias(layer: Any) -> Any:
    return np.zeros(layer.out_features) if layer.bias is None else _numpy(layer.bias)
