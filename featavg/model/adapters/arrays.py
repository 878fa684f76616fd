"""Plain arrays: (weights, biases, second, output_bias)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from featavg.data import Names
from featavg.errors import InputError
from featavg.model.network import Layer, Network, two_layers
from featavg.model.readouts import Argmax, Readout, Sign


def read(model: Any) -> Network:
    """A network from a tuple or list of four arrays."""
    if not isinstance(model, tuple | list) or len(model) != 4:
        raise InputError(
            f"cannot read a {type(model).__name__}; arrays must be (weights, biases, second, output_bias), four of them"
        )
    weights, biases, second, output_bias = model
    return Network(two := two_layers(weights, biases, np.atleast_2d(second), np.atleast_1d(output_bias)), decided(two))


def decided(layers: tuple[Layer, ...], labels: ArrayLike | None = None) -> Readout:
    """The read-out of a plain classifier: the sign of one output, the argmax of several."""
    width = len(layers[-1].weights)
    names: Names | None = None if labels is None else np.asarray(labels)
    if width == 1:
        return Sign() if names is None else Sign(names)
    return Argmax(np.arange(width) if names is None else names)
