"""Estimators of this package: what they learned is a network, and their classes pool its outputs."""

from __future__ import annotations

from typing import Any

import numpy as np

from featavg.errors import InputError
from featavg.model.network import Network
from featavg.model.readouts import Grouped, Groups, Sign


def read(model: Any) -> Network:
    """The network of a fitted `SubclassClassifier`, with the decision that its `predict` makes."""
    network: Network | None = getattr(model, "network_", None)
    if network is None:
        raise InputError(f"cannot read a {type(model).__name__}; it must be a fitted classifier, so call .fit first")
    labels = np.asarray(model.classes_)
    if network.output_count == 1:
        return Network(network.layers, Sign(labels), network.activation)
    groups = Groups(np.asarray(model.class_of_, dtype=np.int64), labels)
    return Network(network.layers, Grouped(groups, "summed-probabilities"), network.activation)
