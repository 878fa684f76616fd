"""`SubclassClassifier`: finer labels, found or given, turned into a classifier that small perturbations do not fool."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from featavg.arrays import Array, Ints, labels_among
from featavg.data import Names, encode
from featavg.errors import InputError
from featavg.model import check_columns, load_network, names_of, read_about, save_network
from featavg.progress import Progress, on_screen, silent
from featavg.refine.clusters import Method, embed, means
from featavg.refine.frame import Frame, Span, State, at_centers, descend
from featavg.refine.select import RATES, Selection, marks_until, possible_counts, select
from featavg.refine.sublabels import Counts, Finder, counts_by_class, read_sublabels
from featavg.robustness import Budget, RadiusBracket, robust_radius
from featavg.threads import one_thread

READOUTS = ("maximum", "summed-probabilities")
NAMES = ("classes", "class_of", "subclass_names")  # what a file holds beside the network


class SubclassClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Train a two-layer network on sub-labels inside each class, and predict the class by summed probabilities.

    Every sub-network starts at the center of its sub-class. How many sub-classes, which learning rate and how many
    steps is chosen on a fifth of the points, held out (of few points, on five fifths in turn): the largest robust
    radius at an accuracy not below a coarse network's (`select.py`); then all points are used. Robustness comes early
    in training and is trained away later, so do not train longer.

    Args:
        n_subclasses: sub-classes per class: `auto`, a number, a range (low, high), or a number for each class by label.
        method: how sub-classes are found, `k-means` or `gaussian-mixture`.
        neurons_per_subclass: hidden neurons of each sub-network.
        learning_rate: a multiple of the longest step that is surely stable, or `auto` to choose it on the held-out
            points; with a given number of steps `auto` is 1.
        steps: steps of training, or `auto` to choose the moment on the held-out points.
        max_steps: the latest such moment.
        random_state: seed of everything random.

    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(200, 2)) + 10 * rng.integers(2, size=(200, 2))
    >>> y = (x[:, 0] > 5) ^ (x[:, 1] > 5)
    >>> SubclassClassifier(n_subclasses=2, random_state=0).fit(x, y).score(x, y)
    1.0
    """

    def __init__(
        self,
        n_subclasses: Counts = "auto",
        *,
        method: Method = "k-means",
        neurons_per_subclass: int = 1,
        learning_rate: float | Literal["auto"] = "auto",
        steps: int | Literal["auto"] = "auto",
        max_steps: int = 800,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_subclasses = n_subclasses
        self.method = method
        self.neurons_per_subclass = neurons_per_subclass
        self.learning_rate = learning_rate
        self.steps = steps
        self.max_steps = max_steps
        self.random_state = random_state

    @one_thread()
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sublabels: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        verbose: bool | Progress = False,
    ) -> Self:
        """Learn from points X (sample, axis), labels y and, where known, sub-labels (−1 or None: unknown).

        `verbose` tells the terminal which choice is tried; a function is called as verbose(share done, what is tried).
        """
        tell = verbose if callable(verbose) else on_screen() if verbose else silent
        raw, codes, weights, present = self._checked(X, y, sample_weight)
        span = Span.of(raw) if raw.shape[1] > len(raw) else None
        points = raw if span is None else span.inside(raw)
        given = None if sublabels is None else read_sublabels(sublabels, codes, present)
        state = self.random_state
        seed = int(state if isinstance(state, int | np.integer) else (state or np.random.RandomState()).randint(2**31))
        finder = Finder(embed(points, "pca", seed), codes, given, self.method, seed, weights)
        self.choice_ = self._choose(points, codes, weights, finder, seed, tell)
        everyone = np.arange(len(points))
        labels, self.class_of_ = finder(everyone, self._named_counts() or self.choice_.count)
        frame, width, self.n_iter_ = Frame.of(points, weights), self.neurons_per_subclass, self.choice_.steps
        inside, states = frame.inside(points, len(points)), list[State]()
        start, pace = at_centers(means(inside, labels, weights), width, seed), self.choice_.rate * frame.rate
        descend(start, inside, labels, weights, pace, (self.n_iter_,), seed, lambda _, state: states.append(state))
        # Two classes are the paper's -1 and +1 in the network, as everywhere outside this room.
        self.columns_ = names_of(X)
        network = states[-1].network(frame, 2 * self.class_of_ - 1 if len(self.classes_) == 2 else self.class_of_)
        self.network_ = network if span is None else span.raw(network)
        self.subclass_ = np.full(len(present), -1, dtype=np.int64)
        self.subclass_[present] = labels
        self.subclass_names_ = finder.names(labels, self.class_of_, self.classes_)
        self.subclass_centers_ = means(raw, labels, weights)
        self.subclasses_of_ = {
            name: np.flatnonzero(self.class_of_ == code) for code, name in enumerate(self.classes_.tolist())
        }
        tell(1.0, f"{len(self.class_of_)} sub-classes in all")
        return self

    def predict_proba(self, X: ArrayLike) -> Array:
        """Return the probability of each class, the sum over its sub-classes: (sample, class)."""
        points = self._points(X)
        member = self.class_of_[:, None] == np.arange(len(self.classes_))
        summed: Array = self.network_.probabilities(points) @ member
        return summed

    def predict(self, X: ArrayLike) -> Names:
        """Return the class (sample,) with the largest probability."""
        probabilities = self.predict_proba(X)
        return self.classes_[probabilities.argmax(axis=1)]

    def predict_subclass(self, X: ArrayLike) -> Names:
        """Return the name (sample,) of the most probable sub-class."""
        points = self._points(X)
        return self.subclass_names_[self.network_.predict(points)]

    def robust_radius(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        readout: Literal["maximum", "summed-probabilities"] = "summed-probabilities",
        norm: Literal["l2", "linf"] = "l2",
        box: tuple[float, float] | None = None,
        budget: Budget = Budget(nodes=2_000, seconds=5.0),  # noqa: B008  (frozen)
        workers: int = 1,
    ) -> RadiusBracket:
        """Return how far each point is from the nearest one that is not put in its class y.

        `summed-probabilities` is what `predict` decides by, and is bracketed; `maximum` asks for the class of the most
        probable sub-class, and is exact.
        """
        points = self._points(X)
        codes = encode(y, self.classes_, "y", len(points))
        if readout not in READOUTS:
            raise InputError(f"readout must be one of {', '.join(READOUTS)}, got {readout!r}")
        network = self.network_.reading(readout)
        labels = network.readout.labels[codes]
        return robust_radius(network, points, labels, norm=norm, box=box, budget=budget, workers=workers)

    def _points(self, X: ArrayLike) -> Array:
        check_is_fitted(self)
        check_columns(self.columns_, names_of(X))
        return np.asarray(validate_data(self, X, reset=False, dtype=np.float64))

    def _checked(self, X: ArrayLike, y: ArrayLike, weight: ArrayLike | None) -> tuple[Array, Ints, Array, Any]:
        """Points, codes of their classes, weights, and which of the rows these are: a weight of 0 is no point."""
        checked = validate_data(self, X, y, dtype=np.float64)
        points, labels = np.asarray(checked[0]), np.asarray(checked[1])
        check_classification_targets(labels)
        weights = _check_sample_weight(weight, points, ensure_non_negative=True)
        present = weights > 0
        if not present.all():
            points, labels, weights = points[present], labels[present], weights[present]
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            raise InputError(f"y must hold at least 2 classes, got {len(self.classes_)} class")
        if (points[0] == points).all():
            raise InputError("X must differ between points, got constant features; check the columns")
        for name, value in (("neurons_per_subclass", self.neurons_per_subclass), ("max_steps", self.max_steps)):
            if value < 1:
                raise InputError(f"{name} must be at least 1, got {value}")
        return points, codes.astype(np.int64), weights, present

    def _named_counts(self) -> dict[int, int] | None:
        """The number of sub-classes by the code of the class, if every class has its own."""
        wanted = self.n_subclasses
        return dict(enumerate(counts_by_class(wanted, self.classes_))) if isinstance(wanted, Mapping) else None

    def _choose(self, X: Array, codes: Ints, weights: Array, finder: Finder, seed: int, tell: Progress) -> Selection:
        """The number of sub-classes, the rate and the steps: as told, or as held-out points say."""
        rate, steps, named = self.learning_rate, self.steps, self._named_counts()
        if rate != "auto" and not rate > 0:
            raise InputError(f"learning_rate must be auto or positive, got {rate}")
        free = RATES if steps == "auto" else (1.0,)
        rates = free if rate == "auto" else (float(rate),)
        counts = (1,) if named or not finder.open_classes() else self._counts(codes, weights)
        if steps != "auto" and len(counts) == 1:
            return Selection(counts[0], rates[0], steps)
        marks = marks_until(self.max_steps) if steps == "auto" else (steps,)
        return select(
            X, codes, weights, lambda rows, count: finder(rows, named or count), counts,
            rates=rates, width=self.neurons_per_subclass, marks=marks, seed=seed, progress=tell,
        )  # fmt: skip

    def _counts(self, codes: Ints, weights: Array) -> tuple[int, ...]:
        wanted = self.n_subclasses
        if wanted == "auto":
            return possible_counts(codes, weights)
        if isinstance(wanted, tuple):
            return possible_counts(codes, weights, *wanted)
        if not isinstance(wanted, int | np.integer) or wanted < 1:
            raise InputError(
                f"n_subclasses must be auto, a number from 1, a range or a number for each class, got {wanted!r}"
            )
        return (int(wanted),)


def save_classifier(model: SubclassClassifier, path: str | os.PathLike[str]) -> None:
    """Write a fitted classifier to .npz or .safetensors, whole or not at all; `load_network` reads its network alone.

    >>> import tempfile
    >>> x, y = np.arange(40.0)[:, None], np.repeat(["low", "high"], 20)
    >>> model = SubclassClassifier(n_subclasses=2, steps=50, random_state=0).fit(x, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_classifier(model, folder + "/model.npz")
    ...     load_classifier(folder + "/model.npz").predict([[3.0], [33.0]]).tolist()
    ['low', 'high']
    """
    about = {name: getattr(model, f"{name}_").tolist() for name in NAMES}
    save_network(model.network_, path, about | {"columns": list(model.columns_)})


def load_classifier(path: str | os.PathLike[str]) -> SubclassClassifier:
    """Read what `save_classifier` wrote: it predicts as before, and does not remember what it was trained on."""
    network, about = load_network(path), read_about(path)
    if not is_classifier(about) or network.output_count == 1:
        raise InputError(f"{path} must hold a network with the names of its classes, got one without; use load_network")
    model = SubclassClassifier()
    model.network_ = network
    model.classes_ = np.array(about["classes"])
    model.class_of_ = labels_among(about["class_of"], range(len(model.classes_)), network.output_count, "class_of")
    model.subclass_names_ = np.array(about["subclass_names"])
    model.columns_ = tuple(map(str, about.get("columns", ())))
    model.n_features_in_ = network.inputs
    return model


def is_classifier(about: Mapping[str, Any]) -> bool:
    """Whether a network file tells of classes and sub-classes."""
    return set(NAMES) <= set(about)
