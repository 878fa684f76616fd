"""What a user would try otherwise: coarse labels, scikit-learn's classifiers, adversarial training, prototypes.

All but the prototypes, a classifier of its own, see points in the frame of refinement, those of scikit-learn times
√axes: one number for all columns, so that radii keep their geometry. Rates, steps and the ball of adversarial training
are chosen on a fifth of the points, held out.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, check_random_state, validate_data

from featavg.arrays import Array, Ints
from featavg.data import Labels, split
from featavg.errors import InputError
from featavg.model import Grouped, Groups, Layer, Network, as_network
from featavg.refine.decision import Decision, linear_decision, two_layer_decision
from featavg.refine.frame import Frame, State, at_random, descend
from featavg.refine.select import Parts, Worth
from featavg.threads import one_thread
from featavg.training import WorstInBall

DECAY = 1.0  # scikit-learn's alpha, where it is not its default
EPOCHS = 1000  # at most
LEAST_NEURONS = 100  # a hidden layer of so many is what scikit-learn has by default
MARKS = (100, 200, 400, 800, 1600, 3200)  # steps of the coarse network, at these multiples of the stable rate
RATES = (1.0, 3.0, 10.0)
SHARES = (0.25, 0.5)  # of the median half distance to another class: balls of adversarial training
HARD_MARKS = (100, 400)  # its steps
HARD_RATE = 10.0  # of the stable step, at which such networks were most accurate
ATTACK_STEPS = 7  # Madry et al. 2018
KEEP = 0.01  # of held-out accuracy
MOST = 1000  # points whose nearest one of another class is looked for
MANY = 10_000  # points of a class beyond which its prototypes are found in batches
# What `sharpness="auto"` of prototypes tries, in units of one over the mean squared distance of a point to its own.
SHARPNESS = (0.5, 1.0, 2.0, 4.0, 8.0)
HELD_OUT = 5  # one point in so many judges the sharpness


def baselines(
    x: Array, labels: Labels, learn: Ints, at: tuple[Array, Labels], neurons: int, seed: int
) -> list[Decision]:
    """Decisions at the points `at` of classifiers that learned from the rows `learn`, in the order above."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier

    frame = Frame.of(x[learn], np.ones(len(learn)))
    size = frame.size / np.sqrt(x.shape[1])
    inside, codes = (x[learn] - frame.mean) / size, labels.codes[learn]
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # so many epochs are what a baseline gets
        for name, decay in (("MLP", 1e-4), ("MLP with decay", DECAY)):
            mlp = MLPClassifier((max(neurons, LEAST_NEURONS),), alpha=decay, max_iter=EPOCHS, random_state=seed).fit(
                inside, codes
            )
            network = as_network(mlp)
            first = Layer(network.weights / size, network.biases - network.weights @ frame.mean / size)
            raw = replace(network, layers=(first, *network.layers[1:]))
            found.append(replace(two_layer_decision(raw, at[0], at[1].values, labels.names), kind=name))
        line = LogisticRegression(max_iter=EPOCHS).fit(inside, codes)
    weights, bias = line.coef_ / size, line.intercept_ - line.coef_ @ frame.mean / size
    found.append(linear_decision(*(at[0], at[1].values, weights, bias), "logistic regression", classes=labels.names))
    width = -(-max(neurons, LEAST_NEURONS) // len(labels.names))
    hard = two_layer_decision(adversarial_network(x[learn], codes, width, seed), at[0], at[1].values, labels.names)
    found.append(replace(hard, kind="adversarial training"))
    return found


def coarse_network(x: Array, codes: Ints, width: int, seed: int) -> Network:
    """`width` neurons per class on the coarse labels, small and random at first, at the most accurate rate and step."""
    parts, start = _parts(x, codes, width, seed)
    states: list[State] = []
    for rate in RATES:
        pace = rate * parts.frame.rate
        descend(start, parts.x, parts.codes, parts.weights, pace, MARKS, seed, lambda _, state: states.append(state))
    each = np.arange(len(start.second))
    return max(states, key=lambda state: float(parts.right(state, each).mean())).network(parts.frame)


def adversarial_network(x: Array, codes: Ints, width: int, seed: int) -> Network:
    """`width` neurons per class that see every batch at its worst in a ball, from the same start.

    Nobody tells a user the radius of that ball, so it is chosen as a user would: shares of the median half distance
    from a point to the nearest one of another class, a number of steps for each, and of all of them the largest
    held-out radius at an accuracy within one point of the best.

    >>> x = np.concatenate([np.random.default_rng(0).normal(c, 1.0, size=(60, 2)) for c in (-3.0, 3.0)])
    >>> network = adversarial_network(x, np.repeat([0, 1], 60), width=4, seed=0)
    >>> float(np.mean(network.predict(x) == np.repeat([0, 1], 60)))
    1.0
    """
    parts, start = _parts(x, codes, width, seed)
    each, reach, pace = np.arange(len(start.second)), _reach(parts.x, parts.codes), HARD_RATE * parts.frame.rate
    found: list[tuple[Worth, State]] = []
    for share in SHARES:
        attack = WorstInBall(share * reach, steps=ATTACK_STEPS, still=1)
        descend(start, parts.x, parts.codes, parts.weights, pace, HARD_MARKS, seed,
                lambda _, state: found.append((parts.judge(state, each), state)), perturb=attack)  # fmt: skip
    best = max(worth.accuracy for worth, _ in found)
    able = (one for one in found if one[0].accuracy >= best - KEEP)
    return max(able, key=lambda one: one[0].radius)[1].network(parts.frame)


def _parts(x: Array, codes: Ints, width: int, seed: int) -> tuple[Parts, State]:
    """Four fifths to train on and one to judge by, and `width` small random neurons per class."""
    parts = Parts.of(x, codes, np.ones(len(x)), *split(codes, (0.8, 0.2), seed))
    return parts, at_random(int(codes.max()) + 1, width, x.shape[1], seed)


def _reach(x: Array, codes: Ints) -> float:
    """The median over points of half the distance to the nearest one of another class."""
    some, theirs = x[:MOST].astype(np.float64), codes[:MOST]
    squares = (some**2).sum(axis=1)
    apart = squares[:, None] + squares - 2 * some @ some.T
    apart[theirs[:, None] == theirs] = np.inf
    nearest = np.sqrt(np.maximum(apart.min(axis=1), 0.0))
    known = nearest[np.isfinite(nearest) & (nearest > 0)]
    return float(np.median(known)) / 2 if len(known) else 0.1


class PrototypeClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """The class whose prototypes are near: f_j(x) = s (⟨c_j, x⟩ − ‖c_j‖²/2), summed probabilities over each class.

    That is Bayes' rule for equal spheres of variance 1/s around the prototypes. It is a network of one linear layer, so
    `robust_radius` brackets its radii; `certified_radius` is a closed form below them.

    Args:
        n_prototypes: per class; fewer where a class has fewer points.
        sharpness: s; `auto` chooses it on a fifth of the points, held out, by its log-loss.
        random_state: seed of k-means.

    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(200, 2)) + 10 * rng.integers(2, size=(200, 2))
    >>> y = (x[:, 0] > 5) ^ (x[:, 1] > 5)
    >>> PrototypeClassifier(n_prototypes=2, random_state=0).fit(x, y).score(x, y)
    1.0
    """

    def __init__(
        self,
        n_prototypes: int = 50,
        *,
        sharpness: float | Literal["auto"] = "auto",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_prototypes = n_prototypes
        self.sharpness = sharpness
        self.random_state = random_state

    @one_thread()
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Find the prototypes of points X (sample, axis) with labels y."""
        checked = validate_data(self, X, y, dtype=np.float64)
        points, labels = np.asarray(checked[0]), np.asarray(checked[1])
        check_classification_targets(labels)
        self._check()
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            raise InputError(f"a classifier needs at least two classes, got one class, {self.classes_[0]}")
        self.sharpness_ = self._sharpness(points, codes)
        self.prototypes_, self.class_of_ = self._prototypes(points, codes)
        self.network_ = _network(self.prototypes_, self.class_of_, self.classes_, self.sharpness_)
        return self

    def predict_proba(self, X: ArrayLike) -> Array:
        """Summed probabilities of the prototypes of each class: (sample, class)."""
        check_is_fitted(self)
        points = np.asarray(validate_data(self, X, dtype=np.float64, reset=False))
        shares: Array = self.network_.probabilities(points) @ (self.class_of_[:, None] == np.arange(len(self.classes_)))
        return shares

    def predict(self, X: ArrayLike) -> Any:
        """The class with the largest summed probability: (sample,)."""
        shares = self.predict_proba(X)  # which says so if this is not fitted
        return self.classes_[np.argmax(shares, axis=1)]

    def certified_radius(self, X: ArrayLike, y: ArrayLike) -> Array:
        """A radius below which no ℓ2 perturbation changes the decision for y, 0 where it is wrong: (sample,).

        Fooled means log Σ_own exp f_a <= log Σ_b exp f_b for some other class. The left side is at least f_a for every
        own a, the right side at most max_b f_b + log N with N prototypes in that class, so for some b every own a has
        f_a − f_b <= log N, a half-space at the distance (f_a − f_b − log N) / (s ‖c_a − c_b‖). The radius is the least
        over b of the largest over a.
        """
        check_is_fitted(self)
        points = np.asarray(validate_data(self, X, dtype=np.float64, reset=False))
        codes = self.network_.readout.encode(y)
        values = self.network_.outputs(points)
        apart = np.linalg.norm(self.prototypes_[:, None] - self.prototypes_[None], axis=2)
        slack = np.log(np.bincount(self.class_of_))[self.class_of_]
        found = np.full(len(points), np.inf)
        for b, own in enumerate(self.class_of_):
            margin = values - values[:, b : b + 1] - slack[b]
            reach = margin / (self.sharpness_ * np.maximum(apart[:, b], 1e-300))
            best = np.where(self.class_of_ == codes[:, None], reach, -np.inf).max(axis=1)
            found = np.where(codes == own, found, np.minimum(found, best))
        # Rounding of sums of `axis` terms moves a radius by far less than this share.
        right = self.network_.readout.decide(values) == codes
        return np.where(right, np.maximum(found * (1 - 1e-9), 0.0), 0.0)

    def _check(self) -> None:
        if not isinstance(self.n_prototypes, int | np.integer) or self.n_prototypes < 1:
            raise InputError(f"n_prototypes must be a whole number from 1, got {self.n_prototypes!r}")
        if self.sharpness != "auto" and not (isinstance(self.sharpness, int | float) and self.sharpness > 0):
            raise InputError(f"sharpness must be 'auto' or a positive number, got {self.sharpness!r}")

    def _prototypes(self, points: Array, codes: Ints) -> tuple[Array, Ints]:
        """Centers of k-means in each class: (prototype, axis), and their classes (prototype,)."""
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        found = [_centers(points[codes == c], self.n_prototypes, seed) for c in range(codes.max() + 1)]
        return np.concatenate(found), np.repeat(np.arange(len(found)), [len(each) for each in found])

    def _sharpness(self, points: Array, codes: Ints) -> float:
        """The given one, or the one of least log-loss on points that the prototypes have not seen."""
        if self.sharpness != "auto":
            return float(self.sharpness)
        order = np.argsort(codes, kind="stable")
        held = np.zeros(len(codes), dtype=bool)
        held[order[:: min(HELD_OUT, max(2, len(codes) // 2))]] = True
        if len(np.unique(codes[~held])) < len(np.unique(codes)):  # too few points to spare any
            held[:] = False
        prototypes, class_of = self._prototypes(points[~held], codes[~held])
        judged = points[held] if held.any() else points
        own = codes[held] if held.any() else codes
        from sklearn.metrics import pairwise_distances_argmin_min

        near = np.maximum(pairwise_distances_argmin_min(judged, prototypes, metric="sqeuclidean")[1], 0.0)
        unit = judged.shape[1] / max(float(near.mean()), 1e-12)
        losses = [_log_loss(_network(prototypes, class_of, np.unique(codes), s * unit), judged, own) for s in SHARPNESS]
        return SHARPNESS[int(np.argmin(losses))] * unit


def _log_loss(network: Network, x: Array, codes: Ints) -> float:
    """−log of the summed probability of the own class, mean over points."""
    assert isinstance(network.readout, Grouped)
    pools = network.readout.pools(network.outputs(x))
    total: Array = np.log(np.exp(pools - pools.max(axis=1, keepdims=True)).sum(axis=1)) + pools.max(axis=1)
    return float(np.mean(total - pools[np.arange(len(x)), codes]))


def _centers(points: Array, count: int, seed: int) -> Array:
    from sklearn.cluster import KMeans, MiniBatchKMeans  # which bring a progress bar along

    count = min(count, len(np.unique(points, axis=0)))
    kind = MiniBatchKMeans if len(points) > MANY else KMeans
    fitted = kind(count, n_init=1, random_state=seed).fit(points)
    return np.asarray(fitted.cluster_centers_, dtype=np.float64)


def _network(prototypes: Array, class_of: Ints, classes: Any, sharpness: float) -> Network:
    layer = Layer(sharpness * prototypes, -0.5 * sharpness * (prototypes**2).sum(axis=1))
    return Network((layer,), Grouped(Groups(class_of.astype(np.int64), np.asarray(classes)), "summed-probabilities"))
