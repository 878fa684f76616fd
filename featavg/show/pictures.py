"""Alignment, λ(t), robust accuracy and a slice through the boundary: objects in, matplotlib figures out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from featavg.analysis import alignment, decompose
from featavg.data import Dataset
from featavg.errors import InputError
from featavg.model import Network
from featavg.robustness import Question, RadiusBracket, accuracy_lines
from featavg.show.slice import slice_through
from featavg.training import Trajectory

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PLACES = 101


def show_alignment(network: Network, data: Dataset) -> Figure:
    """Draw the cosines of every neuron with every center of the data (paper, Fig. 2).

    >>> import featavg as fa
    >>> data = fa.sample_clusters(clusters=4, dim=100, samples=10, seed=0)
    >>> fa.show_alignment(fa.averaging_network(data), data).get_label()
    'Cosine of each of 2 neurons with each of 4 features.'
    """
    from featavg.figures import heatmap

    values, labels = alignment(network, data.centers), data.center_labels
    own = network.neuron_class if len(network.layers) == 2 else np.zeros(len(values))
    return heatmap(
        values,
        caption=f"Cosine of each of {len(values)} neurons with each of {data.clusters} features.",
        row_blocks=(np.flatnonzero(np.diff(own)) + 1).tolist(),
        column_blocks=(np.flatnonzero(labels[1:] != labels[:-1]) + 1).tolist(),
    )


def show_coefficients(trajectory: Trajectory, data: Dataset, neuron: int = 0) -> Figure:
    """Draw λ_j(t) of one neuron: how much of each feature it holds over training.

    >>> import featavg as fa
    >>> data = fa.sample_clusters(clusters=4, dim=10**6, samples=50, seed=0)
    >>> run = fa.train(fa.BinaryNetwork.random(data, 2, seed=1), data, fa.GradientDescent(steps=5))
    >>> len(fa.show_coefficients(run, data).axes[0].get_lines())
    4
    """
    from featavg.figures import curves

    parts = decompose(trajectory, data).feature  # (time, neuron, cluster)
    if not 0 <= neuron < parts.shape[1]:
        raise InputError(f"neuron must be one of 0 ... {parts.shape[1] - 1}, got {neuron}")
    names = [f"feature {name} of class {sign}" for name, sign in zip(data.fine_names, data.center_labels, strict=True)]
    return curves(
        trajectory.steps,
        parts[:, neuron].T,
        caption=f"Coefficients of the features in neuron {neuron} over training.",
        labels=names,
        x_label="steps",
        y_label="λ(t)",
    )


def show_curves(
    radius: RadiusBracket | Mapping[str, RadiusBracket],
    radii: ArrayLike | None = None,
    marks: Sequence[tuple[float, str]] = (),
) -> Figure:
    """Draw the robust accuracy over the radius, of one bracket or of several by name; `marks` are theory's radii.

    What is only bracketed is drawn as a band.

    >>> import featavg as fa
    >>> exact = fa.robust_radius(([[1.0], [-1.0]], [0.0, 0.0], [[1.0, -1.0]], [0.0]), [[3.0], [1.0]], [1, 1])
    >>> fa.show_curves({"exact": exact}).axes[0].get_xlabel()
    'ℓ2 radius'
    """
    from featavg.figures import curves

    brackets = {"robust accuracy": radius} if isinstance(radius, RadiusBracket) else dict(radius)
    if not brackets:
        raise InputError("show_curves needs at least one bracket")
    ends = np.concatenate([bracket.upper[np.isfinite(bracket.upper)] for bracket in brackets.values()])
    largest = 1.1 * float(ends.max(initial=0.0)) or 1.0
    lines = accuracy_lines(brackets, np.linspace(0, largest, PLACES) if radii is None else radii)
    norms = {"l2": "ℓ2", "linf": "ℓ∞"}
    return curves(
        lines.radii,
        lines.line,
        lower=lines.lower,
        upper=lines.upper,
        labels=lines.labels,
        marks=marks,
        caption="Share of points whose class survives every perturbation of a size.",
        x_label=f"{norms[next(iter(brackets.values())).question.norm]} radius",
        y_label="robust accuracy",
    )


def show_slice(radius: RadiusBracket, point: int = 0, direction: ArrayLike | None = None) -> Figure:
    """Draw the decision of a two-layer network on a plane through a point and its nearest adversarial one.

    `direction` (axis,) is the other way that the plane is spanned by: the universal one, by default the mean descent of
    the margin over the points of the same label.

    >>> import featavg as fa
    >>> exact = fa.robust_radius(([[1.0, 0.0], [0.0, 1.0]], [0, 0], [[1.0, -1.0]], [0.0]), [[3.0, 1.0]], [1])
    >>> fa.show_slice(exact).get_label()
    'Margin on a plane through point 0; its nearest adversarial point is 1.414 away.'
    """
    from featavg.figures import plane

    question = radius.question
    if not isinstance(question, Question):
        raise InputError("a slice is drawn of a two-layer network, got a bracket of another one")
    if not 0 <= point < len(radius):
        raise InputError(f"point must be one of 0 ... {len(radius) - 1}, got {point}")
    same = question.codes == question.codes[point]
    falls = -question.slopes(question.x)[1][same].mean(axis=0) if direction is None else np.asarray(direction, float)
    if falls.shape != question.x[point].shape or not np.linalg.norm(falls) > 0:
        raise InputError(f"direction must be a vector of {question.x.shape[1]} numbers and not 0; pass another one")
    towards = question.x[~same].mean(axis=0) if (~same).any() else -question.x[point]
    cut = slice_through(question, point, radius.witness[point], falls, towards)
    far = f"{radius.upper[point]:.4g} away" if np.isfinite(radius.upper[point]) else "not known"
    return plane(
        cut.places,
        cut.margins,
        caption=f"Margin on a plane through point {point}; its nearest adversarial point is {far}.",
        boundary=cut.boundary,
        marks=[(0.0, 0.0, "o", "the point")]
        + ([] if cut.witness is None else [(float(cut.witness[0]), float(cut.witness[1]), "X", "nearest adversarial")]),
        x_label="along the universal direction",
        y_label="across it",
    )
