"""Points with labels: what any network is trained and judged on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from featavg.arrays import Array, Ints, finite_matrix
from featavg.data.labels import Labels, Names, class_of, inside_classes
from featavg.data.space import Coordinates, Space
from featavg.errors import InputError


@dataclass(frozen=True)
class ClusterModel:
    """How points of a cluster sample are drawn: x = α Σ_j S_j μ_j + ξ, ξ ~ N(0, σ² I)."""

    signal: float  # α
    noise_scale: float  # σ


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Points with labels; what else is known of them is optional.

    `y` gives the labels as people wrote them, -1 and +1 for cluster samples and image tasks; `cluster` the fine ones.
    """

    x: Array  # (sample, axis)
    labels: Labels  # (sample,)  coarse
    fine: Labels | None = None  # (sample,)  each inside one coarse label; unknown ones are allowed
    classes_of_fine: Ints | None = None  # (fine name,)  the coarse label of each, as a position; found by default
    stored_centers: Array | None = None  # (fine name, axis)  μ_j, where they are not the means
    stored_membership: Array | None = None  # (sample, fine name)  S_ij, 1 where sample i carries feature j
    shape: tuple[int, ...] | None = None  # (height, width[, channel]) if the points are images
    feature_names: tuple[str, ...] = ()  # (axis,)  if they have names
    space: Space = field(default=Space(0, 0))
    source: ClusterModel | None = None

    def __post_init__(self) -> None:
        if not self.space.dim:
            axes = int(np.shape(self.x)[1])
            object.__setattr__(self, "space", Space(axes, axes))
        if self.fine is not None and self.classes_of_fine is None:
            object.__setattr__(self, "classes_of_fine", class_of(self.labels, self.fine))

    def __repr__(self) -> str:
        fine = "" if self.fine is None else f", {len(self.fine.names)} fine labels"
        what = f"images {self.shape}" if self.shape else f"{self.x.shape[1]} {self.coordinates} axes"
        return f"Dataset({len(self)} points, {what}, {len(self.labels.names)} classes{fine})"

    @property
    def y(self) -> Names:
        """The coarse labels as given: (sample,)."""
        return self.labels.values

    @property
    def cluster(self) -> Ints:
        """The fine labels as positions: (sample,)."""
        return self.known_fine().codes

    @property
    def center_labels(self) -> Names:
        """The coarse label of each fine one: (fine name,)."""
        self.known_fine()
        assert self.classes_of_fine is not None
        return np.asarray(self.labels.names[self.classes_of_fine])

    @property
    def clusters(self) -> int:
        """k, the number of fine labels."""
        return len(self.known_fine().names)

    @property
    def class_names(self) -> tuple[str, ...]:
        """The coarse labels as text."""
        return tuple(map(str, self.labels.names))

    @property
    def fine_names(self) -> tuple[str, ...]:
        """The fine labels as text, empty if there are none."""
        return () if self.fine is None else tuple(map(str, self.fine.names))

    @property
    def dim(self) -> int:
        """d, the dimension of the space, however few axes are stored."""
        return self.space.dim

    @property
    def coordinates(self) -> Coordinates:
        """In which basis `x` is written: the `ambient` one, or the `compact` one of a cluster sample."""
        return self.space.coordinates

    @property
    def signal(self) -> float:
        """α of a cluster sample."""
        return self.known_source().signal

    @property
    def noise_scale(self) -> float:
        """σ of a cluster sample."""
        return self.known_source().noise_scale

    @property
    def complete(self) -> bool:
        """Whether all of a point is stored; False for test points in compact coordinates."""
        return self.space.complete

    @property
    def noise(self) -> Array:
        """ξ_i (sample, axis) of a cluster sample: what remains of a point without its features."""
        return self.x - self.signal * self.membership @ self.centers

    @property
    def images(self) -> Array:
        """The points as images: (sample, height, width[, channel])."""
        if self.shape is None:
            raise InputError("these points have no image shape; pass shape= when you build the data")
        return self.x.reshape(-1, *self.shape)

    def gaussian(self, count: int, rng: np.random.Generator) -> Array:
        """Draw `count` independent N(0, I_dim) vectors in these coordinates: (count, axis)."""
        return self.space.gaussian(count, rng)

    def known_fine(self) -> Labels:
        """The fine labels, or one sentence that says they are needed."""
        if self.fine is None:
            raise InputError("this needs a fine label for every point, got coarse labels only; pass or discover them")
        return self.fine

    @property
    def centers(self) -> Array:
        """μ_j (fine name, axis): those of the cluster model, or else the mean of the points of each fine label."""
        if self.stored_centers is not None:
            return self.stored_centers
        fine = self.known_fine()
        sizes = np.bincount(fine.codes, minlength=len(fine.names))
        if not sizes.all():
            raise InputError(
                f"every fine label needs a point for its mean, got none of {self.fine_names[sizes.argmin()]}"
            )
        sums = np.zeros((len(fine.names), self.x.shape[1]))
        np.add.at(sums, fine.codes, self.x)
        return sums / sizes[:, None]

    @property
    def membership(self) -> Array:
        """S_ij (sample, fine name), 1 where sample i carries feature j."""
        return np.eye(self.clusters)[self.cluster] if self.stored_membership is None else self.stored_membership

    def known_source(self) -> ClusterModel:
        """α and σ, or one sentence that says they are needed."""
        if self.source is None:
            raise InputError("this needs a cluster sample with known signal and noise; use sample_clusters")
        return self.source

    def resample(self, samples: int, seed: int) -> Dataset:
        """Draw fresh points around the centers of a cluster sample: test points.

        In compact coordinates only their part inside the basis is stored, which is all that a network trained on
        this sample can see.

        >>> from featavg import sample_clusters
        >>> data = sample_clusters(clusters=4, dim=10**9, samples=20, seed=0)
        >>> data.resample(5, seed=1).x.shape == (5, data.x.shape[1])
        True
        """
        from featavg.data.clusters import resample  # which builds data sets itself

        return resample(self, samples, seed)

    def take(self, rows: Any) -> Dataset:
        """Some of the points: positions or a mask."""
        return replace(
            self,
            x=self.x[rows],
            labels=self.labels.take(rows),
            fine=None if self.fine is None else self.fine.take(rows),
            stored_membership=None if self.stored_membership is None else self.stored_membership[rows],
        )

    def between(self, positive: object) -> Dataset:
        """The binary task of one class (+1) against all others (-1)."""
        if positive not in self.labels.names.tolist():
            raise InputError(f"positive must be one of the classes {self.labels.names.tolist()}, got {positive!r}")
        signs = np.where(self.y == positive, 1, 0).astype(np.int64)
        return replace(self, labels=Labels(signs, np.array([-1, 1])), classes_of_fine=None)

    def __len__(self) -> int:
        return len(self.x)


def dataset(
    x: ArrayLike,
    y: ArrayLike,
    fine: ArrayLike | None = None,
    *,
    shape: tuple[int, ...] | None = None,
    feature_names: Sequence[str] = (),
) -> Dataset:
    """Build a data set from points (sample, axis) and labels of strings or numbers, with finer ones where known.

    >>> data = dataset([[0.0], [1.0], [2.0]], ["dog", "cat", "dog"], ["pug", "tom", "lab"])
    >>> data.labels.codes, data.center_labels
    (array([1, 0, 1]), array(['dog', 'dog', 'cat'], dtype='<U3'))
    >>> data
    Dataset(3 points, 1 ambient axes, 2 classes, 3 fine labels)
    """
    points = finite_matrix(x, "x")
    if not len(points):
        raise InputError("data must hold at least one point, got none")
    labels = Labels.of(y, "labels", len(points))
    if len(labels.names) < 2:
        raise InputError(f"labels must hold at least 2 classes, got only {labels.names.tolist()[0]!r}")
    if fine is None:
        return Dataset(points, labels, shape=shape, feature_names=tuple(feature_names))
    given = Labels.of(fine, "sub-labels", len(points))
    inside = Labels.of(inside_classes(labels, given.values), "sub-labels")
    return Dataset(points, labels, inside, shape=shape, feature_names=tuple(feature_names))


def Points(x: ArrayLike, y: ArrayLike, cluster: ArrayLike) -> Dataset:
    """Points (sample, axis) with coarse labels -1 or +1 and fine labels 0 ... clusters − 1, as the paper has them.

    >>> Points([[1.0], [2.0]], [1, -1], [0, 1]).center_labels
    array([ 1, -1])
    """
    points, codes, fine = np.asarray(x, dtype=np.float64), np.asarray(y), np.asarray(cluster)
    names = np.arange(int(fine.max(initial=-1)) + 1)
    if not np.isin(names, fine).all():
        found = np.unique(fine).tolist()
        raise InputError(f"fine labels must be 0 ... {len(found) - 1} without gaps, got {found}")
    labels = Labels((codes > 0).astype(np.int64), np.array([-1, 1]))
    if not np.isin(codes, (-1, 1)).all():
        raise InputError(
            f"the labels must be labels among [-1, 1], got {codes[~np.isin(codes, (-1, 1))].tolist()[0]!r}"
        )
    return Dataset(points, labels, Labels(fine.astype(np.int64), names))
