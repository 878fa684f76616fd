"""One question about one network at one point, in plain floats that JSON keeps to the last bit."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

Vector = tuple[float, ...]
Matrix = tuple[Vector, ...]
Norm = Literal["l2", "linf"]
Readout = Literal["sign", "argmax", "maximum", "summed-logits", "summed-probabilities"]
READOUTS: tuple[Readout, ...] = ("sign", "argmax", "maximum", "summed-logits", "summed-probabilities")


@dataclass(frozen=True)
class Problem:
    """How far is the nearest point that the network x ↦ A ReLU(W x + b) + c does not put in class y?

    >>> problem = Problem("by hand", ((1.0,),), (0.0,), ((1.0,),), (-0.1,), (3.0,), 1)
    >>> read(written(problem)) == problem
    True
    """

    family: str  # of `hostile.FAMILIES`
    weights: Matrix  # (neuron, axis)  W
    biases: Vector  # (neuron,)  b
    second: Matrix  # (output, neuron)  A
    constants: Vector  # (output,)  c
    x: Vector  # (axis,)
    y: int  # -1 or +1, the class for argmax
    readout: Readout = "sign"
    norm: Norm = "l2"
    class_labels: tuple[int, ...] | None = None  # (output,)  -1 or +1, for the read-outs of grouped classes
    box: tuple[Vector, Vector] | None = None  # lowest and highest coordinates, ±∞ where a side is open


def written(problem: Problem) -> str:
    """Return the problem as one line of JSON, floats in hexadecimal."""
    return json.dumps(_hexadecimal(asdict(problem)))


def read(line: str) -> Problem:
    """Return the problem that `written` wrote."""
    content = json.loads(line)
    return Problem(**{field.name: _decoded(content[field.name], field.name) for field in fields(Problem)})


def _hexadecimal(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _hexadecimal(entry) for name, entry in value.items()}
    if isinstance(value, tuple | list):
        return [_hexadecimal(entry) for entry in value]
    return value.hex() if isinstance(value, float) else value


def _decoded(value: Any, name: str) -> Any:
    if isinstance(value, list):
        return tuple(_decoded(entry, name) for entry in value)
    is_text = name in ("family", "readout", "norm")
    return float.fromhex(value) if isinstance(value, str) and not is_text else value
