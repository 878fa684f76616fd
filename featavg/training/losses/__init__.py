"""What training lowers: one file per loss, each with its derivative and its logarithm."""

from __future__ import annotations

from typing import Literal

from featavg.errors import InputError
from featavg.model import Network
from featavg.training.losses.base import Loss as Loss
from featavg.training.losses.base import log_sum_exp as log_sum_exp
from featavg.training.losses.cross_entropy import CrossEntropy as CrossEntropy
from featavg.training.losses.grouped import GroupedCrossEntropy as GroupedCrossEntropy
from featavg.training.losses.margin import Exponential as Exponential
from featavg.training.losses.margin import Logistic as Logistic
from featavg.training.losses.margin import Squared as Squared
from featavg.training.losses.smoothed import SmoothedCrossEntropy as SmoothedCrossEntropy

LossName = Literal["logistic", "exponential", "cross-entropy"]

LOSSES: dict[LossName, Loss] = {
    "logistic": Logistic(),
    "exponential": Exponential(),
    "cross-entropy": CrossEntropy(),
}


def loss_for(network: Network, wanted: LossName | Loss | None = None) -> Loss:
    """The wanted loss if it fits the network, or its own: logistic for one output, cross-entropy for several."""
    if isinstance(wanted, Loss):
        wanted.check(network.output_count)
        return wanted
    binary = network.output_count == 1
    fitting: tuple[LossName, ...] = ("logistic", "exponential") if binary else ("cross-entropy",)
    if wanted is not None and wanted not in fitting:
        raise InputError(
            f"a network of {network.output_count} outputs is trained with {' or '.join(fitting)} loss, got {wanted!r}"
        )
    return LOSSES[wanted or fitting[0]]
