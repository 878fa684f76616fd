"""scikit-learn's MLPClassifier, in the labels that it was fitted on."""

from __future__ import annotations

from typing import Any

from featavg.errors import InputError
from featavg.model.adapters.arrays import decided
from featavg.model.network import Layer, Network


def read(model: Any) -> Network:
    """The layers of a fitted `MLPClassifier` of any depth with ReLU (or without a hidden layer)."""
    if not hasattr(model, "hidden_layer_sizes"):
        raise InputError(f"cannot read a {type(model).__name__} of scikit-learn; supported is MLPClassifier")
    if not hasattr(model, "coefs_"):
        raise InputError("this MLPClassifier is not fitted; call .fit first")
    if model.activation != "relu":
        raise InputError(f"an MLPClassifier needs ReLU hidden layers, got {model.activation}; fit it with relu")
    layers = tuple(Layer(w.T, b) for w, b in zip(model.coefs_, model.intercepts_, strict=True))
    return Network(layers, decided(layers, model.classes_))
