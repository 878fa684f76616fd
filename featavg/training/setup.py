"""From networks and data to the iterate that a run starts from, with every wrong request told in one sentence."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from featavg.arrays import Array, Ints, finite_matrix, finite_vector, labels_among
from featavg.data import Dataset
from featavg.errors import InputError
from featavg.model import Network
from featavg.training.engines import ENGINES, EngineName, FirstLayer, Gram, Need, Work, choose_engine
from featavg.training.engines.gram import LARGEST
from featavg.training.iterate import BIASES, WEIGHTS, Iterate, Problem, Vector
from featavg.training.losses import Loss, LossName, loss_for
from featavg.training.rules import Rule
from featavg.training.upper import EqualBlocks, Upper, parallel_columns


@dataclass(frozen=True, eq=False)
class Setup:
    """What is trained how; shared by all runs of a stack."""

    loss: LossName | Loss | None
    trained: Collection[str] | None
    sample_weight: ArrayLike | None
    engine: EngineName
    dtype: Any
    last: list[tuple[Dataset, Gram]] = field(default_factory=list)  # data and first layer of the run before

    def start(
        self, networks: Sequence[Network], datas: Sequence[Dataset], rule: Rule, batches: bool, moved: bool
    ) -> Iterate:
        """The iterate of one run, or of a stack of several runs of equal shapes."""
        if np.dtype(self.dtype) not in (np.float64, np.float32):
            raise InputError(f"dtype must be float64 or float32, got {np.dtype(self.dtype)}")
        network, data = networks[0], datas[0]
        loss = loss_for(network, self.loss)
        targets = [check(network, data, rule, loss) for network, data in zip(networks, datas, strict=True)]
        name = self.engine_for(network, data, rule, batches, moved)
        blocks = {
            f"{kind}_{number}": self._stack([getattr(n.layers[number - 1], kind) for n in networks])
            for number in range(1, len(network.layers) + 1)
            for kind in ("weights", "biases")
        }
        first = self._first(name, datas, blocks[WEIGHTS])
        blocks[WEIGHTS] = first.start()
        chosen = self._chosen(network)
        parameters = Vector({name: block for name, block in blocks.items() if name in chosen})
        fixed = Vector({name: block for name, block in blocks.items() if name not in chosen})
        second = EqualBlocks.of(blocks["weights_2"]) if "weights_2" in fixed else None
        upper = Upper(len(network.layers), network.activation, second)
        groups = upper.groups(blocks) if "weights_2" in fixed else None
        target = np.stack(targets) if len(networks) > 1 else targets[0]
        return Iterate(Problem(first, upper, fixed, loss, target, self.shares(len(data)), data.dim, groups), parameters)

    def descends(self, network: Network, data: Dataset, rule: Rule) -> bool:
        """Whether this is plain descent in the first of two layers by a Gram matrix that is held."""
        return (
            rule.constant_step(data) is not None
            and self.engine_for(network, data, rule, batches=False, moved=False) == "gram"
            and len(data) ** 2 * np.dtype(self.dtype).itemsize <= LARGEST
            and network.activation.is_relu
            and len(network.layers) == 2
            and WEIGHTS in self._chosen(network) <= {WEIGHTS, BIASES}
        )

    def engine_for(self, network: Network, data: Dataset, rule: Rule, batches: bool, moved: bool) -> str:
        """The name of the engine that holds the first layer."""
        needs: frozenset[Need] = rule.needs | ({"inputs"} if moved else frozenset())
        together = len(network.layers) == 2 and "weights_2" not in self._chosen(network)
        products = int(parallel_columns(network.layers[1].weights)[0].max()) + 1 if together else network.neurons
        samples, axes = data.x.shape
        work = Work(samples, axes, network.neurons, products, rule.limit, np.dtype(self.dtype).itemsize)
        return choose_engine(self.engine, work, needs, batches, type(rule).__name__)

    def _first(self, name: str, datas: Sequence[Dataset], weights: Array) -> FirstLayer:
        """The first layer; runs on the same data, which follow each other, share its Gram matrix."""
        if name != "gram":
            return ENGINES[name](self._stack([data.x for data in datas]), weights)
        begins = [i for i, data in enumerate(datas) if not i or data is not datas[i - 1]]
        x = self._stack([datas[i].x for i in begins])
        if len(begins) > 1:
            runs = [slice(*ends) for ends in pairwise([*begins, len(datas)])]
            return Gram(x, weights, sharing=runs if len(runs) < len(datas) else None)
        known = next((before.matrix for data, before in self.last if data is datas[0]), None)
        first = Gram(x, weights, known)
        self.last[:] = [(datas[0], first)]
        return first

    def shares(self, samples: int) -> Array | None:
        """Sample weights of mean 1: (sample,)."""
        if self.sample_weight is None:
            return None
        weights = finite_vector(self.sample_weight, "sample_weight", samples)
        if (weights < 0).any() or not weights.any():
            raise InputError("sample_weight must not be negative, and not all zero; drop the points instead")
        return (weights / weights.mean()).astype(self.dtype)

    def _stack(self, arrays: Sequence[Array]) -> Array:
        """The arrays of all runs in one, along a new axis where there are several."""
        found = [array.astype(self.dtype, copy=False) for array in arrays]
        return np.stack(found) if len(found) > 1 else found[0]

    def _chosen(self, network: Network) -> set[str]:
        """The trained blocks; by default those of the paper: no biases where there are several outputs."""
        if self.trained is None:
            return {WEIGHTS, BIASES} if network.output_count == 1 else {WEIGHTS}
        if not self.trained:
            raise InputError("trained must name at least one block of parameters, got none")
        return network.block_names(self.trained)


def check(network: Network, data: Dataset, rule: Rule, loss: Loss) -> Ints:
    """The targets (sample,), once network, data and rule are known to fit each other."""
    if not len(data):
        raise InputError("training needs at least one point, got none")
    if network.coordinates != data.coordinates:
        raise InputError(
            f"network and data must share coordinates, got {network.coordinates} and {data.coordinates}; "
            "initialise the network on this data"
        )
    if not data.complete:
        raise InputError("compact test points are stored in part and cannot be trained on; sample them anew")
    if "coordinates" in rule.needs and data.coordinates == "compact":
        raise InputError(
            f"{type(rule).__name__} depends on the coordinates and has no meaning in compact ones; "
            'sample with coordinates="ambient"'
        )
    if network.activation.normalized and len(network.layers) != 2:
        raise InputError(f"a normalised activation is trained in two layers, got {len(network.layers)}")
    finite_matrix(data.x[:1], "x", columns=network.inputs)
    if not np.isfinite(data.x.sum()):  # a copy of many points in double precision would take as long as many steps
        finite_matrix(data.x, "x")
    allowed = (-1, 1) if network.output_count == 1 else range(network.output_count)
    return labels_among(loss.targets(network, data), allowed, len(data), "the labels")
