"""Networks of other libraries, read in our terms; one file per library, imported when a model of it comes.

A module of this family has one function, `read(model) -> Network`. To add a library:

    featavg.register_adapter("keras", "my_package.keras_adapter")
"""

from __future__ import annotations

from typing import Any

from featavg.errors import InputError
from featavg.model.network import Network
from featavg.registry import Registry

# By the top-level package of the model's type, or of a type it derives from.
ADAPTERS = Registry({
    "builtins": "featavg.model.adapters.arrays",
    "featavg": "featavg.model.adapters.own",
    "onnx": "featavg.model.adapters.onnx",
    "sklearn": "featavg.model.adapters.sklearn",
    "torch": "featavg.model.adapters.torch",
})  # fmt: skip


def register_adapter(package: str, module: str) -> None:
    """Let `as_network` read models whose type comes from `package` by `read(model) -> Network` in `module`."""
    ADAPTERS.add(package, module)


def as_network(model: Any) -> Network:
    """Return `model` as a `Network`: itself, or what it says in our terms.

    Arrays are (weights, biases, second, output_bias); one output is read by its sign, several by their argmax.

    >>> as_network(([[1.0, 0.0]], [0.0], [[1.0]], [-0.5])).score([[2.0, 7.0]])
    array([1.5])
    """
    if isinstance(model, Network):
        return model
    for parent in type(model).__mro__:
        package = parent.__module__.partition(".")[0]
        if package in ADAPTERS and not (package == "builtins" and parent is object):
            network: Network = ADAPTERS.module(package).read(model)
            return network
    raise InputError(
        f"cannot read a {type(model).__name__}; pass a featavg network, a scikit-learn or torch classifier, or arrays "
        "(weights, biases, second, output_bias), or teach featavg to read it with register_adapter"
    )
