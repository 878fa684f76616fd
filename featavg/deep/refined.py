"""Sub-class logits in, class logits out: how a network trained on finer labels answers the coarse question."""

from __future__ import annotations

from collections import OrderedDict

import torch
from torch import Tensor, nn

from featavg.arrays import Ints, labels_among
from featavg.errors import InputError


class CoarseReadout(nn.Module):
    """F_c = log Σ_{j in J_c} exp f_j, so that softmax(F) are the summed probabilities of the sub-classes.

    >>> CoarseReadout([0, 0, 1])(torch.tensor([[0.0, 0.0, 0.5]])).argmax(dim=1)
    tensor([0])
    """

    class_of: Tensor  # (subclass,)  the class of each sub-class, in the state dict

    def __init__(self, class_of: Ints | list[int]) -> None:
        super().__init__()
        codes = labels_among(class_of, range(len(class_of)), len(class_of), "class_of")
        self.classes = int(codes.max()) + 1
        if set(codes.tolist()) != set(range(self.classes)):
            raise InputError(f"every class 0 ... {self.classes - 1} needs a sub-class, got {codes.tolist()}")
        self.register_buffer("class_of", torch.from_numpy(codes))

    def forward(self, logits: Tensor) -> Tensor:
        """Sub-class logits (sample, subclass) to class logits (sample, class)."""
        return torch.stack([logits[:, self.class_of == c].logsumexp(dim=1) for c in range(self.classes)], dim=1)


def answer_coarsely(fine: nn.Module, class_of: Ints) -> nn.Sequential:
    """The network of sub-class logits, `.fine`, followed by its `.readout`: class logits out."""
    return nn.Sequential(OrderedDict(fine=fine, readout=CoarseReadout(class_of)))
