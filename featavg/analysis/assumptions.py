"""Which of the paper's assumptions a setting meets, with the numbers on both sides (constants taken as 1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from featavg.data import Dataset
from featavg.model import Network
from featavg.training import GradientDescent


@dataclass(frozen=True)
class Assumption:
    """low <= value <= high, as the paper demands it."""

    name: str
    source: str
    value: float
    low: float
    high: float

    @property
    def holds(self) -> bool:
        """Whether the value lies between the bounds, up to rounding."""
        slack = 1e-9 * max(abs(self.value), 1e-300)
        return bool(self.low - slack <= self.value <= self.high + slack)

    def __str__(self) -> str:
        verdict = "holds" if self.holds else "fails"
        return f"{self.name} ({self.source}): {self.low:.3g} <= {self.value:.3g} <= {self.high:.3g} {verdict}"


def assumptions(
    data: Dataset,
    *,
    neurons_per_class: int = 5,
    rule: GradientDescent | None = None,
    scale: float | None = None,
    network: Network | None = None,
) -> tuple[Assumption, ...]:
    """Compare a setting with Assumptions 1 to 3 of the paper.

    Sample and centers are measured; m, η, σ_w and T are taken from the arguments (defaults: the library's own). If
    `network` is given, σ_w is the standard deviation of its weights per ambient coordinate.

    >>> import featavg as fa
    >>> checks = assumptions(fa.sample_clusters(seed=0))
    >>> [check.name for check in checks if check.holds][:2]
    ['orthogonal centers', 'equal norms √d']
    """
    rule = GradientDescent() if rule is None else rule
    k, d, n, eta = data.clusters, float(data.dim), len(data), rule.eta(data)
    if scale is None:
        scale = (
            1e-5 * 3072 / d if network is None else float(np.sqrt((network.weights**2).sum() / (network.neurons * d)))
        )
    norms = np.linalg.norm(data.centers, axis=1)
    cosines = (data.centers / norms[:, None]) @ (data.centers / norms[:, None]).T - np.eye(k)
    share = float((data.center_labels > 0).mean())
    window = np.exp(np.sqrt(k))
    return (
        Assumption("orthogonal centers", "1: max |cos(μ_i, μ_j)|", float(np.abs(cosines).max()), 0.0, 1e-9),
        Assumption("equal norms √d", "1: max |‖μ_j‖/√d − 1|", float(np.abs(norms / np.sqrt(d) - 1).max()), 0.0, 1e-9),
        Assumption("balanced classes", "2: min(|J+|, |J-|)/k", min(share, 1 - share), 0.25, 0.5),
        Assumption("dimension", "3: d >= k¹⁰", d, float(k) ** 10, np.inf),
        Assumption("samples", "3: k⁷ <= n <= exp(log² d)", n, float(k) ** 7, float(np.exp(min(np.log(d) ** 2, 700)))),
        Assumption("width", "3: m of the order of k", neurons_per_class, k / 4, 4 * k),
        Assumption("step size", "3: η <= d⁻²", eta, 0.0, d**-2),
        Assumption("initial weights", "3: σ_w² <= η k⁻⁵", scale**2, 0.0, eta * float(k) ** -5),
        Assumption("training time", "3: 1/η <= T <= exp(√k)", rule.steps, 1 / eta, float(window)),
    )
