"""The margin of the decision, differentiable: what an attack on a deep network has to bring down."""

from __future__ import annotations

import torch
from torch import Tensor

from featavg.arrays import Ints
from featavg.robustness.question import Readout


def margins_of(outputs: Tensor, y: Tensor, readout: Readout, class_labels: Ints | None = None) -> Tensor:
    """By how much outputs F (sample, output) decide for y: (sample,).

    sign: y f; argmax: F_y − max_{j≠y} F_j; summed-probabilities: y (log Σ_{J+} exp F_j − log Σ_{J-} exp F_j);
    maximum and summed-logits with max and Σ in place of log Σ exp.

    >>> outputs = torch.tensor([[2.0, 0.0, 1.0]])
    >>> margins_of(outputs, torch.tensor([0]), "argmax")
    tensor([1.])
    """
    if readout == "sign":
        return outputs[:, 0] * y
    if readout == "argmax":
        own = torch.zeros_like(outputs, dtype=torch.bool).scatter_(1, y[:, None], True)
        return outputs[own] - outputs.masked_fill(own, -torch.inf).amax(dim=1)
    assert class_labels is not None
    positive = torch.from_numpy(class_labels > 0)
    return (_pool(outputs[:, positive], readout) - _pool(outputs[:, ~positive], readout)) * y


def _pool(outputs: Tensor, readout: Readout) -> Tensor:
    if readout == "summed-probabilities":
        return outputs.logsumexp(dim=1)
    return outputs.amax(dim=1) if readout == "maximum" else outputs.sum(dim=1)
