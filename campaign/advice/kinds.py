"""The kinds of cases: a task, a classifier for it, and what is known of it by construction."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from campaign.advice.tasks import Draw, Task, apart, blobs, images, orthogonal
from featavg.arrays import Array, Ints

DECOUPLED = 0.3  # in units of ‖c‖²: larger, a center is left too easily; smaller, rivals join forces
Fit = Callable[[Draw, np.random.Generator], Any]  # a classifier from the points it may learn from


class Kind(NamedTuple):
    """What a user has: points of a task, a classifier, and perhaps columns in another order than it learned from."""

    task: Task
    fit: Fit
    structured: bool = True  # whether classes have groups that finer labels could name
    columns: Ints | None = None  # the order of the columns that it is asked about


def averaging(rng: np.random.Generator) -> Kind:
    """One neuron per class along the sum of its centers: what the paper's training ends in."""
    centers, class_of = _planted(rng)
    rows = np.array([centers[class_of == c].sum(axis=0) for c in (1, 0)])
    return Kind(blobs(centers, class_of), _given(rows, np.zeros(2), np.array([[1.0, -1.0]])))


def decoupled(rng: np.random.Generator) -> Kind:
    """One neuron per center c with bias −0.3‖c‖²: lost at 0.70‖c‖, where centers √2‖c‖ apart allow 0.71‖c‖."""
    centers, class_of = _planted(rng, size=(9.0, 12.0))
    biases = -DECOUPLED * (centers**2).sum(axis=1)
    return Kind(blobs(centers, class_of), _given(centers, biases, 2.0 * class_of[None] - 1))


def random(rng: np.random.Generator) -> Kind:
    """A network that never learned anything."""
    centers, class_of = _planted(rng)
    dim = centers.shape[1]
    weights, second = rng.standard_normal((20, dim)), rng.standard_normal((1, 20))
    middle = centers.mean(axis=0)  # at which it decides neither way
    return Kind(blobs(centers, class_of), _centred(weights, second, middle))


def trained(rng: np.random.Generator) -> Kind:
    """A network trained on planted clusters."""
    return Kind(blobs(*_planted(rng)), mlp)


def linear(rng: np.random.Generator) -> Kind:
    """Logistic regression on planted clusters."""
    return Kind(blobs(*_planted(rng)), logistic)


def shuffled_labels(rng: np.random.Generator) -> Kind:
    """A network trained on labels in random order."""
    return Kind(blobs(*_planted(rng)), lambda points, other: mlp(points._replace(y=other.permutation(points.y)), other))


def shuffled_columns(rng: np.random.Generator) -> Kind:
    """A network asked about columns in another order than it learned from."""
    centers, class_of = _planted(rng)
    return Kind(blobs(centers, class_of), mlp, columns=rng.permutation(centers.shape[1]))


def no_structure(rng: np.random.Generator) -> Kind:
    """One Gaussian per class."""
    classes, dim = int(rng.integers(2, 4)), int(rng.choice([5, 10, 30]))
    centers = orthogonal(classes, dim, rng.uniform(1.5, 4.0), rng)
    return Kind(blobs(centers, np.arange(classes)), logistic if rng.random() < 0.5 else mlp, structured=False)


def noisy_labels(rng: np.random.Generator) -> Kind:
    """A tenth of all labels is another one."""
    return Kind(blobs(*_planted(rng), noise=0.1), mlp)


def more_classes(rng: np.random.Generator) -> Kind:
    """Three to five classes."""
    classes = int(rng.integers(3, 6))
    return Kind(blobs(*_planted(rng, classes, int(rng.integers(2, 4)))), mlp)


def two_clusters(rng: np.random.Generator) -> Kind:
    """Two clusters per class."""
    return Kind(blobs(*_planted(rng, 2, 2)), mlp)


def imbalance(rng: np.random.Generator) -> Kind:
    """95 points of one class for 5 of the other."""
    centers, class_of = _planted(rng, 2, 3)
    shares = np.where(class_of == 0, 0.95, 0.05) / 3
    return Kind(blobs(centers, class_of, shares), mlp)


def low_dimension(rng: np.random.Generator) -> Kind:
    """Clusters in two to five dimensions."""
    dim, groups = int(rng.integers(2, 6)), int(rng.integers(4, 9))
    return Kind(blobs(apart(groups, dim, rng.uniform(5.0, 8.0), rng), np.arange(groups) % 2), mlp)


def digits(rng: np.random.Generator) -> Kind:
    """scikit-learn's digits, shared out to two or three classes at random."""
    return Kind(images("digits", _shared_out(rng)), mlp if rng.random() < 0.7 else logistic)


def image_tasks(rng: np.random.Generator) -> Kind:
    """MNIST or Fashion-MNIST, shared out to two or three classes at random."""
    name = str(rng.choice(["mnist", "fashion-mnist"]))
    return Kind(images(name, _shared_out(rng)), mlp if rng.random() < 0.7 else logistic)


KINDS: dict[str, Callable[[np.random.Generator], Kind]] = {
    one.__name__.replace("_", " "): one
    for one in (
        averaging, decoupled, random, trained, linear, shuffled_labels, shuffled_columns, no_structure, noisy_labels,
        more_classes, two_clusters, imbalance, low_dimension, digits, image_tasks,
    )
}  # fmt: skip


def mlp(points: Draw, rng: np.random.Generator) -> Any:
    """scikit-learn's network of 30 neurons."""
    from sklearn.neural_network import MLPClassifier

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # so many epochs are what it gets
        return MLPClassifier((30,), max_iter=300, random_state=int(rng.integers(2**31))).fit(points.x, points.y)


def logistic(points: Draw, rng: np.random.Generator) -> Any:
    """scikit-learn's logistic regression."""
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=2000).fit(points.x, points.y)


def _given(weights: Any, biases: Any, second: Any) -> Fit:
    """A network that is written down."""
    return lambda points, rng: (weights, biases, second, np.zeros(1))


def _centred(weights: Any, second: Any, middle: Any) -> Fit:
    constant = -second @ np.maximum(weights @ middle, 0.0)
    return lambda points, rng: (weights, np.zeros(len(weights)), second, constant)


def _planted(
    rng: np.random.Generator, classes: int = 2, each: int = 0, size: tuple[float, float] = (4.5, 7.0)
) -> tuple[Array, Ints]:
    """Orthogonal centers and their classes, `each` per class, three to five if not said."""
    groups = classes * (each or int(rng.integers(3, 6)))
    centers = orthogonal(groups, int(rng.integers(30, 51)), rng.uniform(*size), rng)
    return centers, np.arange(groups) % classes


def _shared_out(rng: np.random.Generator) -> Ints:
    """A class for each of ten groups, with at least three groups each."""
    classes = int(rng.integers(2, 4))
    return rng.permutation(np.arange(10) % classes)
