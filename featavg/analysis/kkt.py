"""Is a network a KKT point of margin maximisation, min ½‖θ‖² subject to q_i(θ) >= 1?"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from featavg.analysis.margins import TRAINED, homogeneous_degree, parameter_norm
from featavg.arrays import Array, Bools, Ints
from featavg.data import Dataset
from featavg.errors import InputError
from featavg.model import Network

# A pre-activation below this share of the mean is at the kink of ReLU, where Clarke's derivative may be anything
# between 0 and 1.
KINK = 0.02
ROUNDS = 30


@dataclass(frozen=True)
class KKTResiduals:
    """How far a network, scaled to a smallest margin of 1, is from a KKT point; all free of its size."""

    feasibility: float  # by how much the smallest margin falls short of 1: 0 once every point is classified
    stationarity: float  # ‖θ − Σ_i λ_i h_i‖/‖θ‖ with h_i in Clarke's derivative of q_i
    complementarity: float  # Σ_i λ_i (q_i − 1)/Σ_i λ_i
    multipliers: Array  # (sample,)  λ >= 0


def kkt_residuals(
    network: Network, data: Dataset, *, trained: Collection[str] = TRAINED, kink: float = KINK
) -> KKTResiduals:
    """Find the multipliers λ >= 0 that come nearest to θ = Σ_i λ_i h_i, for ReLU, two layers and one output.

    h_i is the derivative of q_i = y_i f(x_i) by the trained parameters. At the kink of ReLU it is a set: a neuron
    counts by any share between 0 and 1 there. All of these are non-negative sums of derivatives in which it counts
    fully or not at all; those that are needed are added one by one, where they shorten what is left. Where points
    depend on each other linearly, other multipliers may be as near and have another complementarity.

    >>> import featavg as fa
    >>> network = fa.BinaryNetwork([[1.0, 0.0]], [0.0], [[1.0]], [0.0])
    >>> point = fa.Points([[1.0, 0.0], [-1.0, 1.0]], [1, -1], [0, 1])
    >>> round(kkt_residuals(network, point.take([0]), trained=["weights"]).stationarity, 9)
    0.0
    """
    degree = homogeneous_degree(network, trained)
    if network.output_count != 1 or len(network.layers) != 2 or not network.activation.is_relu:
        raise InputError("KKT residuals are found for ReLU networks of two layers and one output")
    margins = np.asarray(network.targets(data), dtype=np.float64) * network.outputs(data.x)[:, 0]
    smallest = float(margins.min())
    if smallest <= 0:
        raise InputError(
            f"a KKT point classifies every training point, and this network does not (smallest margin {smallest:.3g}); "
            "train it further, or separable points"
        )
    derivatives = _Derivatives(network, data, network.block_names(trained), kink)
    shares, change = _multipliers(derivatives)
    # θ = Σ λ h at margin γ becomes θ' = Σ λ' h' at margin 1, with λ' = λ γ^(2/L − 1): the shares stay.
    left = parameter_norm(network, trained) ** 2 + change
    each = np.bincount(derivatives.owners, shares, minlength=len(margins))
    scaled = each * smallest ** (1 - 2 / degree)
    total = max(float(each.sum()), np.finfo(np.float64).tiny)
    return KKTResiduals(
        feasibility=0.0,
        stationarity=float(np.sqrt(max(float(left), 0.0)) / parameter_norm(network, trained)),
        complementarity=float(each @ (margins / smallest - 1) / total),
        multipliers=scaled,
    )


class _Derivatives:
    """Derivatives of margins, each of one point and one choice of active neurons; only inner products are formed."""

    def __init__(self, network: Network, data: Dataset, names: set[str], kink: float) -> None:
        self.signs = np.asarray(network.targets(data), dtype=np.float64)
        self.second = network.second[0]
        self.z = network.preactivations(data.x)
        self.first = float("weights_1" in names)
        self.gram = self.first * (data.x @ data.x.T) + ("biases_1" in names)
        heights = np.maximum(self.z, 0) * ("weights_2" in names)
        self.above = heights @ heights.T + ("biases_2" in names)
        self.heights = heights
        self.free: Bools = np.abs(self.z) < kink * np.abs(self.z).mean()
        self.bias_part = float("biases_2" in names) * float(network.output_bias[0])
        self.owners: Ints = np.arange(len(self.z))
        self.on = (self.z >= 0).astype(np.float64)  # (derivative, neuron)

    @property
    def with_parameters(self) -> Array:
        """⟨θ, h⟩: (derivative,)."""
        own = self.owners
        below = (self.on * self.z[own]) @ self.second if self.first else np.zeros(len(own))
        return self.signs[own] * (below + self.heights[own] @ self.second + self.bias_part)

    def inner(self) -> Array:
        """⟨h, h'⟩: (derivative, derivative)."""
        own = self.owners
        weighed = self.on * self.second
        products = self.gram[np.ix_(own, own)] * (weighed @ weighed.T) + self.above[np.ix_(own, own)]
        return np.outer(self.signs[own], self.signs[own]) * products

    def add_steepest(self, shares: Array) -> bool:
        """Drop what is not used, add for each point at a kink the choice that shortens the rest most; False if none."""
        used = shares > 0
        own, on = self.owners[used], self.on[used]
        factors = (shares[used] * self.signs[own])[:, None] * on * self.second
        rest = self.first * self.z - self.gram[:, own] @ factors  # (sample, neuron)
        gain = self.signs[:, None] * self.second * rest
        wanted = np.where(self.free, gain > 0, self.z >= 0)
        kinked = np.flatnonzero(self.free.any(axis=1))
        known = {(i, tuple(row)) for i, row in zip(own.tolist(), (on > 0).tolist(), strict=True)}
        new = [i for i in kinked.tolist() if (i, tuple(wanted[i].tolist())) not in known]
        base = np.setdiff1d(np.arange(len(self.z)), own)
        self.owners = np.concatenate([own, base, new]).astype(np.int64)
        self.on = np.concatenate([on, (self.z[base] >= 0), wanted[new]]).astype(np.float64)
        return bool(new)


def _multipliers(derivatives: _Derivatives) -> tuple[Array, float]:
    """λ >= 0 of the derivatives that come nearest to θ, and ‖θ − Σ λ h‖² − ‖θ‖²."""
    shares, best = _nearest(derivatives)
    for _ in range(ROUNDS):
        before = derivatives.owners, derivatives.on
        if not derivatives.add_steepest(shares):
            derivatives.owners, derivatives.on = before
            break
        last, (shares, best) = best, _nearest(derivatives)
        if best > last - 1e-9 * abs(last):
            break
    return shares, best


def _nearest(derivatives: _Derivatives) -> tuple[Array, float]:
    """min_λ>=0 ‖θ − Σ λ h‖² − ‖θ‖² from inner products alone, with its λ."""
    inner, aim = derivatives.inner(), derivatives.with_parameters
    values, vectors = np.linalg.eigh(inner)
    kept = values > 1e-14 * values[-1]
    roots = np.sqrt(values[kept])
    turned = vectors[:, kept].T
    found: Array = nnls(roots[:, None] * turned, turned @ aim / roots)[0]
    return found, float(found @ (inner @ found) - 2 * found @ aim)
