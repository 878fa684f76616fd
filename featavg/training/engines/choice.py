"""Which engine holds the first layer: by name, or by what a step costs."""

from __future__ import annotations

from typing import Literal, get_args

from featavg.errors import InputError
from featavg.training.engines.base import FirstLayer, Need
from featavg.training.engines.dense import Dense
from featavg.training.engines.gram import Gram

EngineName = Literal["auto", "gram", "dense"]
ENGINES: dict[str, type[FirstLayer]] = {"gram": Gram, "dense": Dense}
# The share of K that a step reads: at most points most neurons are off.
ACTIVE = 0.6


def choose_engine(name: str, samples: int, axes: int, needs: frozenset[Need], batches: bool, who: str) -> str:
    """The engine by name, or the one whose step is cheaper: n² · ACTIVE multiplications per neuron, or 2 · n · axes.

    >>> [choose_engine("auto", samples, 784, frozenset(), False, "a rule") for samples in (1_000, 60_000)]
    ['gram', 'dense']
    """
    if name not in get_args(EngineName):
        raise InputError(f"engine must be auto, gram or dense, got {name!r}")
    if name == "auto":
        dense = bool(needs) or batches or ACTIVE * samples > 2 * axes
        return "dense" if dense else "gram"
    missing = sorted(needs - ENGINES[name].offers)
    if missing:
        raise InputError(f"{who} needs {missing[0]}, which engine={name!r} does not hold; drop engine=")
    return name
