"""`SubclassClassifier`: finer labels, found or given, turned into a classifier that small perturbations do not fool."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from featavg.arrays import Array, Ints
from featavg.data import Names
from featavg.errors import InputError
from featavg.refine.choice import RATES, Choice, choose, fit_state, marks_until, possible_counts
from featavg.refine.clustering import Method, embed, means
from featavg.refine.coarse_radius import coarse_radius
from featavg.refine.descent import Frame
from featavg.refine.known import Splitter, read_sublabels
from featavg.refine.sublabels import Counts, class_codes
from featavg.robustness import Budget, RadiusBracket
from featavg.threads import one_thread


class SubclassClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Train a two-layer network on sub-labels inside each class, and predict the class by summed probabilities.

    Every sub-network starts at the center of its sub-class. How many sub-classes, which learning rate and how many
    steps is chosen on a fifth of the points, held out (of few points, on five fifths in turn): the largest robust
    radius at an accuracy not below a coarse network's (`choice.py`); then all points are used. Robustness comes early
    in training and is trained away later, so do not train longer.

    Args:
        n_subclasses: sub-classes a class: `auto`, a number, a range (low, high), or a number for each class by label.
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
        self, X: ArrayLike, y: ArrayLike, sublabels: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn from points X (sample, axis), labels y and, where known, sub-labels (−1 or None: unknown)."""
        checked = validate_data(self, X, y, dtype=np.float64)
        points, labels = np.asarray(checked[0]), np.asarray(checked[1])
        check_classification_targets(labels)
        weights = _check_sample_weight(sample_weight, points, ensure_non_negative=True)
        kept = weights > 0  # a weight of 0 is a point that is not there
        self.classes_: Names = np.unique(labels[kept])
        points, weights = points[kept], weights[kept]
        codes = self._codes(points, labels[kept])
        given = None if sublabels is None else read_sublabels(_as_many(sublabels, len(kept))[kept], codes)
        seed = _seed(self.random_state)
        counts = self._fixed_counts()
        split = Splitter(embed(points, "pca", seed), codes, weights, given, self.method, counts, seed)
        self.choice_ = self._choose(points, codes, weights, split, seed)
        found = self._train(points, weights, split, seed)
        self.subclass_ = np.full(len(kept), -1, dtype=np.int64)
        self.subclass_[kept] = found
        return self

    def predict_proba(self, X: ArrayLike) -> Array:
        """Return the probability of each class, the sum over its sub-classes: (sample, class)."""
        check_is_fitted(self)
        points = validate_data(self, X, reset=False, dtype=np.float64)
        member = self.class_of_[:, None] == np.arange(len(self.classes_))
        summed: Array = self.network_.probabilities(points) @ member
        return summed

    def predict(self, X: ArrayLike) -> Names:
        """Return the class (sample,) with the largest probability."""
        probabilities = self.predict_proba(X)
        return self.classes_[probabilities.argmax(axis=1)]

    def predict_subclass(self, X: ArrayLike) -> Names:
        """Return the name (sample,) of the most probable sub-class."""
        check_is_fitted(self)
        points = validate_data(self, X, reset=False, dtype=np.float64)
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
        check_is_fitted(self)
        points = validate_data(self, X, reset=False, dtype=np.float64)
        codes = class_codes(y, len(points), self.classes_)
        return coarse_radius(
            self.network_, self.class_of_, points, codes, readout=readout, norm=norm, box=box, budget=budget,
            workers=workers,
        )  # fmt: skip

    def _codes(self, X: Array, y: Names) -> Ints:
        if len(self.classes_) < 2:
            raise InputError(f"y must hold at least 2 classes, got {len(self.classes_)} class")
        if not np.ptp(X, axis=0).any():
            raise InputError("X must differ between points, got constant features; check the columns")
        for name, value in (("neurons_per_subclass", self.neurons_per_subclass), ("max_steps", self.max_steps)):
            if value < 1:
                raise InputError(f"{name} must be at least 1, got {value}")
        return np.searchsorted(self.classes_, y).astype(np.int64)

    def _fixed_counts(self) -> dict[int, int] | None:
        if not isinstance(self.n_subclasses, Mapping):
            return None
        missing = [name for name in self.classes_.tolist() if name not in self.n_subclasses]
        if missing:
            raise InputError(f"n_subclasses must name every class, got no number for {missing[0]!r}")
        return {code: int(self.n_subclasses[name]) for code, name in enumerate(self.classes_.tolist())}

    def _counts(self, codes: Ints, weights: Array, split: Splitter) -> tuple[int, ...]:
        wanted = self.n_subclasses
        if split.complete() or isinstance(wanted, Mapping):
            return (1,)
        if wanted == "auto":
            return possible_counts(codes, weights)
        if isinstance(wanted, tuple):
            return possible_counts(codes, weights, *wanted)
        if isinstance(wanted, str) or wanted < 1:
            raise InputError(f"n_subclasses must be auto, a number from 1, a range or a number a class, got {wanted!r}")
        return (int(wanted),)

    def _choose(self, X: Array, codes: Ints, weights: Array, split: Splitter, seed: int) -> Choice:
        counts, rates = self._counts(codes, weights, split), self._rates()
        steps = self.max_steps if self.steps == "auto" else self.steps
        if self.steps != "auto" and len(counts) == 1:
            return Choice(counts[0], rates[0], steps, (), None)
        marks = marks_until(steps) if self.steps == "auto" else (steps,)
        width = self.neurons_per_subclass
        return choose(X, codes, weights, split, counts, rates=rates, width=width, marks=marks, seed=seed)

    def _rates(self) -> tuple[float, ...]:
        if self.learning_rate == "auto":
            return RATES if self.steps == "auto" else (1.0,)
        if not self.learning_rate > 0:
            raise InputError(f"learning_rate must be auto or positive, got {self.learning_rate}")
        return (float(self.learning_rate),)

    def _train(self, X: Array, weights: Array, split: Splitter, seed: int) -> Ints:
        labels, self.class_of_ = split(np.arange(len(X)), self.choice_.count)
        frame = Frame.of(X, weights)
        width, steps, rate = self.neurons_per_subclass, self.choice_.steps, self.choice_.rate
        _, state = next(fit_state(frame.inside(X), labels, weights, frame, rate, width, (steps,), seed))
        signs = 2 * self.class_of_ - 1 if len(self.classes_) == 2 else None
        self.network_ = state.network(frame, signs)
        self.n_iter_ = steps
        self.subclass_names_ = split.names(labels, self.class_of_)
        self.subclass_centers_ = means(X, labels, weights)
        self.subclasses_of_ = {
            name: np.flatnonzero(self.class_of_ == code) for code, name in enumerate(self.classes_.tolist())
        }
        return labels


def _as_many(sublabels: ArrayLike, count: int) -> Names:
    values = np.asarray(sublabels, dtype=object)
    if values.shape != (count,):
        raise InputError(f"sublabels must be one for each of {count} points, got shape {values.shape}")
    return values


def _seed(state: int | np.random.RandomState | None) -> int:
    if isinstance(state, int | np.integer):
        return int(state)
    return int((state or np.random.RandomState()).randint(2**31))
