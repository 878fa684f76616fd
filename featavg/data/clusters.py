"""Samples of the multi-cluster distribution (paper, Def. 2.1), in any dimension."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from featavg.arrays import Array, Ints
from featavg.data import compact
from featavg.data.centers import Placement, center_gram, factor, given_centers, place
from featavg.data.dataset import ClusterModel, Dataset
from featavg.data.labels import Labels
from featavg.data.space import Coordinates, Space
from featavg.errors import InputError

# Above this many numbers an ambient sample would not fit the memory of an ordinary machine.
LARGEST_AMBIENT_SAMPLE = 10**9


def resample(data: Dataset, samples: int, seed: int) -> Dataset:
    """Draw fresh points around the same centers: test points.

    In compact coordinates only their part inside the basis is stored, which is all that a network trained on this
    sample can see.
    """
    rng = np.random.default_rng(seed)
    _check_samples(samples)
    source = data.known_source()
    drawn, cluster = _draw_membership(data.center_labels, samples, round(data.membership[0].sum()), rng)
    noise = source.noise_scale * rng.standard_normal((samples, data.x.shape[1]))
    fine, classes = Labels(cluster, data.known_fine().names), data.classes_of_fine
    assert classes is not None
    return replace(
        data,
        x=source.signal * drawn @ data.centers + noise,
        labels=Labels(classes[cluster], data.labels.names),
        fine=fine,
        stored_membership=drawn,
        space=replace(data.space, complete=data.coordinates == "ambient"),
    )


def sample_clusters(
    clusters: int = 10,
    dim: int = 3072,
    samples: int = 1000,
    *,
    positive: int | Sequence[int] | None = None,
    signal: float = 1.0,
    noise: float = 1.0,
    norms: ArrayLike | None = None,
    correlation: ArrayLike = 0.0,
    centers: ArrayLike | None = None,
    features_per_sample: int = 1,
    coordinates: Literal["auto", "ambient", "compact"] = "auto",
    placement: Placement = "random",
    reserve: int = 64,
    seed: int = 0,
) -> Dataset:
    """Sample n points x_i = α μ_c(i) + ξ_i around k centers of norm √d, with c(i) uniform and ξ_i ~ N(0, σ² I_d).

    Args:
        clusters: k.
        dim: d, as large as you like.
        samples: n.
        positive: how many clusters (the first ones), or which, have label +1; half of them by default.
        signal: α.
        noise: σ.
        norms: lengths ‖μ_j‖ of the centers, √d by default.
        correlation: their cosines, one number or a matrix; orthogonal by default.
        centers: the centers themselves (cluster, dim), instead of norms and correlation; of any rank, also more than
            dim of them, in ambient coordinates.
        features_per_sample: how many distinct centers of one class a point carries; `cluster` names the first.
        coordinates: `auto` stores the sample in a basis of its own span whenever dim >= clusters + samples + reserve,
            so that dim costs nothing; `ambient` stores all dim coordinates.
        placement: of ambient centers: `random` rotation, along the `axes`, or rows of ±1 (`signs`).
        reserve: how many neurons a network on this compact sample may have.
        seed: of everything drawn here.

    >>> data = sample_clusters(clusters=10, dim=10**12, samples=100, seed=0)
    >>> data.x.shape, data.dim, data.coordinates
    ((100, 174), 1000000000000, 'compact')
    """
    _check_setting(clusters, dim, signal, noise, placed=centers is not None)
    _check_samples(samples)
    rng = np.random.default_rng(seed)
    center_labels = _center_labels(clusters, positive)
    basis = _choose_basis(coordinates, dim, clusters, samples, reserve)
    given = None if centers is None else given_centers(centers, dim, clusters)
    gram = (
        center_gram(clusters, np.sqrt(dim) if norms is None else norms, correlation)
        if given is None
        else given @ given.T
    )
    membership, cluster = _draw_membership(center_labels, samples, features_per_sample, rng)
    if basis == "compact":
        mu = compact.pad(factor(gram), compact.width(clusters, samples, reserve))
        xi = compact.noises(clusters, dim, samples, reserve, rng)
    else:
        mu = place(gram, dim, placement, rng) if given is None else given
        xi = rng.standard_normal((samples, dim))
    xi *= noise
    xi += signal * membership @ mu
    classes = (center_labels > 0).astype(np.int64)
    axes = mu.shape[1]
    return Dataset(
        x=xi,
        labels=Labels(classes[cluster], np.array([-1, 1])),
        fine=Labels(cluster, np.arange(clusters)),
        classes_of_fine=classes,
        stored_centers=mu,
        stored_membership=membership,
        space=Space(dim, axes) if basis == "ambient" else Space(dim, axes, basis, clusters, reserve),
        source=ClusterModel(float(signal), float(noise)),
    )


def _check_setting(clusters: int, dim: int, signal: float, noise: float, placed: bool) -> None:
    if clusters < 2:
        raise InputError(f"two classes need clusters >= 2, got {clusters=}")
    if clusters > dim and not placed:
        raise InputError(f"independent centers need clusters <= dim, got {clusters=} and {dim=}; raise dim")
    if not (np.isfinite(signal) and signal > 0):
        raise InputError(f"signal must be positive, got {signal=}")
    if not (np.isfinite(noise) and noise >= 0):
        raise InputError(f"noise must be a standard deviation >= 0, got {noise=}")


def _check_samples(samples: int) -> None:
    if samples < 1:
        raise InputError(f"samples must be at least 1, got {samples=}")


def _center_labels(clusters: int, positive: int | Sequence[int] | None) -> Ints:
    if positive is None:
        positive = (clusters + 1) // 2
    chosen = range(positive) if isinstance(positive, int | np.integer) else positive
    wrong = [j for j in chosen if not 0 <= j < clusters]
    if wrong:
        raise InputError(f"positive clusters must be among 0 ... {clusters - 1}, got {wrong[0]}")
    labels = np.full(clusters, -1, dtype=np.int64)
    labels[list(chosen)] = 1
    if abs(labels.sum()) == clusters:
        raise InputError(
            f"both classes need a cluster, got {int((labels > 0).sum())} positive of {clusters}; set positive="
        )
    return labels


def _choose_basis(coordinates: str, dim: int, clusters: int, samples: int, reserve: int) -> Coordinates:
    if reserve < 1:
        raise InputError(f"reserve must be at least 1, got {reserve=}")
    needed = compact.width(clusters, samples, reserve)
    if coordinates not in ("auto", "ambient", "compact"):
        raise InputError(f"coordinates must be auto, ambient or compact, got {coordinates!r}")
    if coordinates == "compact" and dim < needed:
        raise InputError(
            f"compact coordinates need dim >= clusters + samples + reserve = {needed}, got {dim=}; "
            'lower reserve= or use coordinates="ambient"'
        )
    if coordinates != "ambient" and dim >= needed:
        return "compact"
    if dim * samples > LARGEST_AMBIENT_SAMPLE:
        raise InputError(
            f"an ambient sample of {samples} x {dim} numbers does not fit in memory; leave coordinates= at its default"
        )
    return "ambient"


def _draw_membership(labels: Ints, samples: int, features: int, rng: np.random.Generator) -> tuple[Array, Ints]:
    """Draw a uniform cluster for each sample, and further features of its class when a sample carries several."""
    clusters = len(labels)
    smallest = min(np.count_nonzero(labels > 0), np.count_nonzero(labels < 0))
    if not 1 <= features <= smallest:
        raise InputError(f"features_per_sample must lie in 1 ... {smallest}, the smaller class, got {features}")
    cluster = rng.integers(clusters, size=samples)
    membership = np.eye(clusters)[cluster]
    if features > 1:
        rank = rng.random((samples, clusters)) + 2.0 * (labels[cluster][:, None] != labels) - membership
        chosen = np.argsort(rank, axis=1)[:, :features]  # own cluster first, then its class, then the rest
        np.put_along_axis(membership, chosen, 1.0, axis=1)
    return membership, cluster
