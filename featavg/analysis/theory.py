"""What the theory predicts, with its constants: cosines, radii, accuracies, margins, assumptions.

Radii are ℓ2, for orthogonal centers of norm √d and signal α; predictions for other centers are refused.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import lambertw, ndtr, wrightomega

from featavg.arrays import Array
from featavg.data import Dataset
from featavg.errors import InputError


@dataclass(frozen=True)
class Setting:
    """The numbers that predictions depend on."""

    clusters: int  # k
    dim: int  # d
    signal: float = 1.0  # α
    noise: float = 1.0  # σ
    samples: int = 1000  # n
    positive: int | None = None  # |J+|, half of k by default

    @classmethod
    def of(cls, data: Dataset) -> Setting:
        """Read the setting off a sample; its centers must be orthogonal and of norm √d."""
        gram = data.centers @ data.centers.T
        if not np.allclose(gram, data.dim * np.eye(data.clusters), rtol=1e-6, atol=1e-6 * data.dim):
            raise InputError("the theory's predictions need orthogonal centers of norm √dim; these are not")
        positive = int((data.center_labels > 0).sum())
        return cls(data.clusters, data.dim, data.signal, data.noise_scale, len(data), positive)

    @property
    def class_sizes(self) -> tuple[int, int]:
        """|J+| and |J-|."""
        positive = (self.clusters + 1) // 2 if self.positive is None else self.positive
        return positive, self.clusters - positive


def averaging_cosine(setting: Setting) -> float:
    """Cosine of an averaging neuron with a feature of its class, α n_j/√(α² Σ n_j² + σ² Σ n_j) with n_j = n/k.

    Without sampling noise it is 1/√|J|.

    >>> round(averaging_cosine(Setting(clusters=10, dim=3072)), 3)
    0.445
    """
    size, per_cluster = setting.class_sizes[0], setting.samples / setting.clusters
    signal = setting.signal * per_cluster
    return float(signal / np.sqrt(size * signal**2 + setting.noise**2 * size * per_cluster))


def averaging_radius(setting: Setting) -> float:
    """α √(d/k): how far a center is from the boundary of the feature-averaging network, whatever the split of classes.

    >>> round(averaging_radius(Setting(clusters=10, dim=3072)), 2)
    17.53
    """
    return setting.signal * float(np.sqrt(setting.dim / setting.clusters))


def averaging_accuracy(setting: Setting, radii: ArrayLike) -> Array:
    """Φ((α√(d/k) − δ)/σ): robust accuracy of the averaging network at radius δ over noisy test points."""
    return np.asarray(ndtr((averaging_radius(setting) - np.asarray(radii, dtype=np.float64)) / setting.noise))


def optimal_radius(setting: Setting) -> float:
    """α √(d/2): half the distance of two centers, the most that any classifier can have at both of them."""
    return setting.signal * float(np.sqrt(setting.dim / 2))


def summed_logits_radius(setting: Setting, label: int = 1) -> float:
    """α √(d/(k_other + 1)): a center of the decoupled network read out by summed logits, k_other rival centers."""
    rivals = setting.class_sizes[1 if label == 1 else 0]
    return setting.signal * float(np.sqrt(setting.dim / (rivals + 1)))


def filtered_radius(setting: Setting, threshold: float, label: int = 1) -> float:
    """√d · min(α − θ, min_{1<=p<=k_other} (α + (p−1)θ)/√(p+1)): a center of the bias-filtered network.

    Best for θ between √1.5 − 1 and 1 − 1/√2 (α = 1), where it is √(d/2).
    """
    rivals = np.arange(1, setting.class_sizes[1 if label == 1 else 0] + 1)
    joint = (setting.signal + (rivals - 1) * threshold) / np.sqrt(rivals + 1)
    return float(np.sqrt(setting.dim) * min(setting.signal - threshold, joint.min()))


def proved_radius(setting: Setting) -> float:
    """√d/10: what the proof of the paper's positive theorem certifies for the k-class network."""
    return float(np.sqrt(setting.dim) / 10)


def residual(setting: Setting) -> float:
    """‖w − λ Σ μ_j/‖μ_j‖²‖ √d / λ = σ k/(α √(2n)) from the sampled noises alone, equal class sizes.

    >>> round(residual(Setting(clusters=10, dim=3072, samples=1000)), 3)
    0.224
    """
    return float(setting.noise * setting.clusters / (setting.signal * np.sqrt(2 * setting.samples)))


def averaging_margin(setting: Setting, neurons_per_class: int) -> float:
    """√(d/(m k)) α: normalised margin of the averaging network with second layer ±1/m."""
    return setting.signal * float(np.sqrt(setting.dim / (neurons_per_class * setting.clusters)))


def decoupled_margin(setting: Setting, neurons_per_class: int) -> float:
    """√(2d/(m k²)) α: normalised margin of the decoupled network of as many neurons; smaller by √(k/2)."""
    return averaging_margin(setting, neurons_per_class) / float(np.sqrt(setting.clusters / 2))


def decoupled_growth(
    setting: Setting, times: ArrayLike, neurons_per_class: int, share: ArrayLike | None = None
) -> Array:
    """λ of a class's own feature at time t of the gradient flow on fine labels, for points without noise.

    Softmax cross-entropy drives it by λ' = (α d s/h) (k − 1)/(e^(αλ) + k − 1) from 0, with a share s of all points in
    the class (1/k by default), so that e^(αλ) + (k − 1) αλ = 1 + (k − 1) α² d s t/h. Times and shares broadcast.

    >>> decoupled_growth(Setting(clusters=10, dim=3072), [1.0, 1e8], neurons_per_class=3).round(2)
    array([ 6.76, 25.25])
    """
    others, each = setting.clusters - 1, 1 / setting.clusters if share is None else np.asarray(share, dtype=np.float64)
    driven = setting.signal**2 * setting.dim / neurons_per_class * each * np.asarray(times, dtype=np.float64)
    # With u = e^(αλ)/(k − 1): u + ln u = 1/(k − 1) + driven − ln(k − 1).
    return np.asarray(np.log(others * wrightomega(1 / others + driven - np.log(others))) / setting.signal)


def first_clusters_with_a_time_window() -> float:
    """The k from which 1/η <= exp(√k) is possible at all, with η = d⁻², d = k¹⁰ (Assumption 3, constants 1).

    Below it the theorem's window of training times is empty. √k = 40 ln √k, so √k = −40 W₋₁(−1/40).

    >>> round(first_clusters_with_a_time_window(), -2)
    46100.0
    """
    return float((-40 * lambertw(-1 / 40, k=-1).real) ** 2)
