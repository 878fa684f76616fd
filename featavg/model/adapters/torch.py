"""torch modules that are a chain of linear layers and ReLUs, traced by torch.fx; torch is imported when one comes."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from featavg.arrays import Array
from featavg.errors import InputError
from featavg.model.activation import RELU, Activation
from featavg.model.adapters.chain import Affine, Step, network_of
from featavg.model.network import Network

SUPPORTED = (
    "supported is a chain of Linear, ReLU, LeakyReLU, BatchNorm1d, Flatten, Dropout, Identity, and a last Softmax, "
    "LogSoftmax or Sigmoid; for anything else write an adapter and register it with register_adapter"
)
# Functions and methods of tensors by name; shapes are read, and points are flattened, without changing any number.
ACTIVATIONS = ("relu", "relu_", "leaky_relu")
RESHAPING = ("flatten", "view", "reshape", "dropout", "contiguous", "float", "double", "squeeze")
SHAPES = ("size", "getattr", "getitem")
ENDINGS = ("softmax", "log_softmax", "sigmoid")


def read(model: Any) -> Network:
    """The layers of a module in evaluation mode: `Sequential`, or a class whose forward is such a chain.

    Images are taken as flat rows in the order in which the module flattens them. A last Softmax, LogSoftmax or Sigmoid
    is left out, since it does not change the decision: the outputs of the network are the logits.
    """
    found: list[Step] = []
    names: list[str] = []
    last = False
    for name, step in _traced(model):
        if last:
            raise InputError(f"cannot read a torch module that goes on after {names[-1]}, with {name}; {SUPPORTED}")
        names.append(name)
        last = step == "end"
        found += step if isinstance(step, list) else []
    try:
        return network_of(found)
    except InputError as error:
        raise InputError(f"cannot read a torch module of {', '.join(names)}: {error}") from None


def _traced(model: Any) -> list[tuple[str, list[Step] | str]]:
    """Name and meaning of every step, in order."""
    import torch
    from torch import fx

    if not isinstance(model, torch.nn.Module):
        raise InputError(f"cannot read a {type(model).__name__} of torch; pass a module")
    try:
        traced = fx.symbolic_trace(torch.nn.Sequential(model))
    except Exception as error:  # tracing runs the module's own code, which may fail in any way
        raise InputError(
            f"cannot follow the forward pass of this {type(model).__name__} ({error}); {SUPPORTED}"
        ) from None
    parts, readers = dict(traced.named_modules()), _readers()
    found: list[tuple[str, list[Step] | str]] = []
    before: Any = None
    shapes: set[Any] = set()
    for node in traced.graph.nodes:
        name = node.target if isinstance(node.target, str) else getattr(node.target, "__name__", str(node.target))
        if node.op == "placeholder":
            before = node
        elif node.op in ("call_function", "call_method") and name in SHAPES and node.target is not operator.add:
            shapes.add(node)
        elif node.op != "output":
            if node.op == "get_attr" or [one for one in node.all_input_nodes if one not in shapes] != [before]:
                raise InputError(
                    f"cannot read a torch module that is no plain chain: {name!r} joins or repeats values; {SUPPORTED}"
                )
            part = parts[name] if node.op == "call_module" else None
            found.append(_step(part, name, node, readers))
            before = node
    return found


def _step(part: Any, name: str, node: Any, readers: dict[type, Callable[[Any], list[Step] | str]]) -> tuple[str, Any]:
    if part is not None:
        for kind, reader in readers.items():
            if isinstance(part, kind):
                return type(part).__name__, reader(part)
        raise InputError(f"cannot read a torch module with a {type(part).__name__}; {SUPPORTED}")
    if name in ACTIVATIONS:
        return name, [RELU if name != "leaky_relu" else Activation(leak=_slope(node))]
    if name in RESHAPING:
        if name == "dropout" and node.kwargs.get("training", True) and node.args[2:3] != (False,):
            raise InputError("this module drops values at random in its forward pass; call .eval() first")
        return name, []
    if name in ENDINGS:
        return name, "end"
    raise InputError(f"cannot read a torch module that calls {name}; {SUPPORTED}")


def _readers() -> dict[type, Callable[[Any], list[Step] | str]]:
    """What every supported kind of module does to a point."""
    from torch import nn

    return {
        nn.Linear: lambda part: [Affine.of(_numpy(part.weight), None if part.bias is None else _numpy(part.bias))],
        nn.ReLU: lambda part: [RELU],
        nn.LeakyReLU: lambda part: [Activation(leak=float(part.negative_slope))],
        nn.BatchNorm1d: _batch_norm,
        nn.Dropout: _dropout,
        nn.Flatten: lambda part: [],
        nn.Identity: lambda part: [],
        nn.Softmax: lambda part: "end",
        nn.LogSoftmax: lambda part: "end",
        nn.Sigmoid: lambda part: "end",
    }


def _batch_norm(part: Any) -> list[Step]:
    """γ (x − mean)/√(variance + ε) + β, with the running statistics."""
    if part.training or part.running_mean is None:
        raise InputError("a BatchNorm1d must have running statistics and be in evaluation mode; call .eval() first")
    scale = 1.0 / np.sqrt(_numpy(part.running_var) + part.eps)
    shift = -_numpy(part.running_mean) * scale
    if part.affine:
        scale, shift = scale * _numpy(part.weight), shift * _numpy(part.weight) + _numpy(part.bias)
    return [Affine.of(scale, shift)]


def _dropout(part: Any) -> list[Step]:
    if part.training and part.p > 0:
        raise InputError("a Dropout must be in evaluation mode; call .eval() first")
    return []


def _slope(node: Any) -> float:
    given = node.args[1] if len(node.args) > 1 else node.kwargs.get("negative_slope", 0.01)
    return float(given)


def _numpy(tensor: Any) -> Array:
    array: Array = tensor.detach().cpu().double().numpy()
    return array
