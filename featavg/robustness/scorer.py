"""Robust accuracy as a score of scikit-learn: to choose a classifier by what it withstands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import ArrayLike

from featavg.errors import InputError
from featavg.robustness.radius import robust_accuracy_at


@dataclass(frozen=True)
class RobustAccuracyScorer:
    """A callable (estimator, X, y): the proved share of points that stay right up to a radius."""

    radius: float
    asked: Mapping[str, Any] = field(default_factory=dict)  # arguments of `robust_accuracy_at`

    def __call__(self, estimator: Any, X: ArrayLike, y: ArrayLike) -> float:
        """The lower bound of the robust accuracy."""
        return float(robust_accuracy_at(estimator, X, y, [self.radius], **self.asked).lower[0])


def robust_accuracy_scorer(radius: float, **asked: Any) -> RobustAccuracyScorer:
    """Return a scorer for `GridSearchCV` and its kind: the lower bound of robust accuracy at `radius`.

    A point counts only if it is proved that no perturbation up to `radius` fools the classifier. The estimator may be
    all that `robust_radius` reads, pipelines of affine steps too; the radius is in the units of their inputs.

    Args:
        radius: how far points may be moved.
        asked: norm, box, budget and workers of `robust_accuracy_at`.

    >>> from sklearn.linear_model import LogisticRegression
    >>> x, y = [[-3.0], [-1.0], [1.0], [3.0]], [0, 0, 1, 1]
    >>> robust_accuracy_scorer(2.0)(LogisticRegression().fit(x, y), x, y)
    0.5
    """
    if not radius >= 0:
        raise InputError(f"radius must not be negative, got {radius}")
    unknown = set(asked) - {"norm", "readout", "box", "budget", "workers"}
    if unknown:
        raise InputError(f"a scorer takes norm, readout, box, budget and workers, got {min(unknown)!r}")
    return RobustAccuracyScorer(radius, asked)
