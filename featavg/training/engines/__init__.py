"""How the first layer, the only one that touches the dimension, is held while it moves."""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

from featavg.errors import InputError
from featavg.training.engines.base import ALL as ALL
from featavg.training.engines.base import Batch as Batch
from featavg.training.engines.base import FirstLayer as FirstLayer
from featavg.training.engines.base import Groups as Groups
from featavg.training.engines.base import Need as Need
from featavg.training.engines.dense import Dense as Dense
from featavg.training.engines.gram import LARGEST
from featavg.training.engines.gram import Gram as Gram

EngineName = Literal["auto", "gram", "dense"]
ENGINES: dict[str, type[FirstLayer]] = {"gram": Gram, "dense": Dense}


class Work(NamedTuple):
    """The size of a run: `products` with K are made in a step, one for all neurons with parallel columns above."""

    samples: int
    axes: int
    neurons: int
    products: int
    steps: int
    itemsize: int = 8  # bytes of a number


# Nanoseconds on one core by bytes of a number: K = X Xᵀ per sample² axis; a step with K per sample², with every product
# more; a step on the points per sample axis, with every neuron more. Fitted to the runs in benchmarks/README.md.
RATES = {8: (0.04, 0.4, 0.05, 1.56, 0.086), 4: (0.02, 0.2, 0.025, 1.2, 0.05)}


def choose_engine(name: str, work: Work, needs: frozenset[Need], batches: bool, who: str) -> str:
    """The engine by name, or the one with which the run takes less time, K and its steps against steps on the points.

    With at least as many axes as points it is the Gram matrix: there coefficients are unique, and people ask for them.

    >>> [choose_engine("auto", Work(n, 784, 10, 10, 100), frozenset(), False, "a rule") for n in (1_000, 60_000)]
    ['gram', 'dense']
    """
    if name not in get_args(EngineName):
        raise InputError(f"engine must be auto, gram or dense, got {name!r}")
    if name == "auto":
        dense = bool(needs) or batches or (work.axes < work.samples and not _gram_pays(work))
        return "dense" if dense else "gram"
    missing = sorted(needs - ENGINES[name].offers)
    if missing:
        raise InputError(f"{who} needs {missing[0]}, which engine={name!r} does not hold; drop engine=")
    return name


def _gram_pays(work: Work) -> bool:
    matrix, gram, product, dense, neuron = RATES[8 if work.itemsize > 4 else 4]
    square = work.samples**2
    by_gram = matrix * square * work.axes + work.steps * square * (gram + product * work.products)
    by_points = work.steps * work.samples * work.axes * (dense + neuron * work.neurons)
    return square * work.itemsize <= LARGEST and by_gram < by_points
