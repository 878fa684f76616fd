"""A frozen backbone with a two-layer ReLU head, as the paper builds it (Fig. 2 c, d).

The head is an ordinary network of this project on points that are features: `featavg.train` trains it,
`robust_radius` finds its exact radii in feature space, `equivalent_weights` and `alignment` compare it with the class
features μ_j, the mean penultimate outputs.

`answer_coarsely`: sub-class logits in, class logits out, as a network trained on finer labels answers the coarse
question.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn

from featavg.arrays import Array, Ints, finite_matrix, labels_among
from featavg.data import Dataset, Labels
from featavg.deep.images import as_images, outputs_of
from featavg.errors import InputError
from featavg.model import BinaryNetwork, MulticlassNetwork, Network

NEURONS = 30  # of the paper's heads: 10 classes with 3 each, or 15 positive and 15 negative


def extract_features(module: nn.Module, x: Any, batch: int = 512) -> Array:
    """Return the penultimate outputs of images (sample, channel, height, width): (sample, feature), float64."""
    found = outputs_of(module, as_images(x), batch, features=True)
    return found.flatten(1).double().numpy()


def feature_data(features: ArrayLike, cluster: ArrayLike, center_labels: ArrayLike) -> Dataset:
    """Return features (sample, axis) with fine labels 0 ... k − 1 as points; y_i is the coarse label of its class.

    >>> data = feature_data([[0.0, 2.0], [0.0, 4.0], [1.0, 0.0]], [0, 0, 1], [1, -1])
    >>> data.centers, data.y
    (array([[0., 3.],
           [1., 0.]]), array([ 1,  1, -1]))
    """
    points = finite_matrix(features, "features")
    coarse = np.asarray(center_labels)
    coarse = labels_among(coarse, (-1, 1), coarse.size, "center_labels")
    fine = labels_among(cluster, range(len(coarse)), len(points), "cluster")
    empty = np.setdiff1d(np.arange(len(coarse)), fine)
    if len(empty):
        raise InputError(f"every class needs a point for its mean feature, got none of class {empty[0]}")
    classes = (coarse > 0).astype(np.int64)
    return Dataset(points, Labels(classes[fine], np.array([-1, 1])), Labels(fine, np.arange(len(coarse))), classes)


def coarse_head(data: Dataset, neurons: int = NEURONS, *, seed: int = 0, scale: float | None = None) -> Network:
    """An untrained head for the coarse labels: half of the neurons positive, half negative.

    The paper compares it with the features in as many groups as there are classes: 15 + 15 neurons in 5 + 5 groups.
    """
    if neurons % 2 or (neurons // 2) % max(1, data.clusters // 2):
        raise InputError(
            f"neurons must be two halves, each of {data.clusters // 2} equal groups, got {neurons}; try {NEURONS}"
        )
    return BinaryNetwork.random(data, neurons // 2, seed=seed, scale=scale)


def fine_head(data: Dataset, neurons: int = NEURONS, *, seed: int = 0, scale: float | None = None) -> Network:
    """An untrained head for the fine labels: an equal number of neurons for each class, 10 classes with 3 each."""
    if neurons % data.clusters or neurons < data.clusters:
        raise InputError(f"neurons must be a multiple of the {data.clusters} classes, got {neurons}")
    return MulticlassNetwork.random(data, neurons // data.clusters, seed=seed, scale=scale)


class HeadedNetwork(nn.Module):
    """head(features(x)) with a two-layer ReLU head Linear, ReLU, Linear: pixels in, decisions of the head out."""

    def __init__(self, backbone: nn.Module, network: Network) -> None:
        super().__init__()
        self.backbone = backbone
        self.head = as_torch(network)

    def features(self, x: Tensor) -> Tensor:
        """The features of the backbone: (sample, feature)."""
        found: Tensor = self.backbone.features(x)  # type: ignore[operator]
        return found.flatten(1)

    def forward(self, x: Tensor) -> Tensor:
        """Outputs of the head: (sample, output)."""
        return self.head(self.features(x))


def as_torch(network: Network, dtype: torch.dtype = torch.float32) -> nn.Sequential:
    """The same network as a torch.nn.Sequential(Linear, ReLU, ..., Linear), which `as_network` reads back."""
    parts: list[nn.Module] = []
    for layer in network.layers:
        after, before = layer.weights.shape
        linear = nn.Linear(before, after, dtype=dtype)
        with torch.no_grad():
            linear.weight.copy_(torch.from_numpy(layer.weights))
            linear.bias.copy_(torch.from_numpy(layer.biases))
        parts += [linear, nn.ReLU()]
    return nn.Sequential(*parts[:-1])


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
