"""Margins of homogeneous networks: what gradient descent goes on to raise once every point is classified."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import ArrayLike

from featavg.arrays import Array, Ints, finite_matrix
from featavg.errors import InputError
from featavg.model import Network
from featavg.training import Loss, LossName, loss_for

TRAINED = ("weights", "biases")


def normalized_margin(
    network: Network, x: ArrayLike, target: ArrayLike, *, trained: Collection[str] = TRAINED
) -> float:
    """γ̄ = min_i q_i / ρ^L: the smallest margin of the network scaled to norm 1.

    ρ is the norm of the trained parameters, and L the degree in which the outputs scale with them.

    >>> import featavg as fa
    >>> normalized_margin(fa.BinaryNetwork([[3.0, 4.0]], [0.0], [[1.0]], [0.0]), [[1.0, 0.0]], [1])
    0.6
    """
    return float(network.margins(x, target).min()) / _size(network, trained)


def smoothed_margin(
    network: Network,
    x: ArrayLike,
    target: ArrayLike,
    *,
    trained: Collection[str] = TRAINED,
    loss: LossName | Loss | None = "exponential",
) -> float:
    """γ̃ = ℓ⁻¹(Σ_i ℓ(q_i)) / ρ^L (Lyu & Li 2020), log(1/L)/ρ^L for the exponential loss; γ̄ − ρ^(−L) log n <= γ̃ <= γ̄.

    Below the loss of one point on the boundary it grows along gradient flow.

    >>> import featavg as fa
    >>> network = fa.BinaryNetwork([[3.0, 4.0]], [0.0], [[1.0]], [0.0])
    >>> round(smoothed_margin(network, [[1.0, 0.0], [1.0, 0.0]], [1, 1]), 4)  # (3 − log 2)/5
    0.4614
    """
    measure = loss_for(network, loss)
    codes = labels_of(network, target)
    log_total = log_sum(measure, network.outputs(x), codes)
    return float(measure.log_inverse(log_total)) / _size(network, trained)


def stable_rank(weights: ArrayLike) -> float:
    """‖W‖_F² / ‖W‖²: how many directions the rows of a matrix really have.

    >>> stable_rank(np.diag([2.0, 2.0, 0.0]))
    2.0
    """
    values = np.linalg.svd(finite_matrix(weights, "weights"), compute_uv=False)
    if not values.size or not values[0]:
        raise InputError("the stable rank of a matrix of zeros has no meaning; train it first")
    return float((values**2).sum() / values[0] ** 2)


def homogeneous_degree(network: Network, trained: Collection[str]) -> int:
    """L with f(cθ) = c^L f(θ) for the trained parameters θ, or one sentence that says there is none."""
    degree = network.degree(trained)
    if not degree:
        raise InputError(
            f"this needs outputs that scale with a power of {', '.join(trained)}, which they do not; train every "
            "bias that is not zero, or name other parameters in trained="
        )
    return degree


def parameter_norm(network: Network, trained: Collection[str]) -> float:
    """ρ = ‖θ‖ over the trained parameters."""
    names = network.block_names(trained)
    blocks: list[Array] = []
    for number, layer in enumerate(network.layers, start=1):
        blocks += [layer.weights] * (f"weights_{number}" in names) + [layer.biases] * (f"biases_{number}" in names)
    return float(np.sqrt(sum((block**2).sum() for block in blocks)))


def labels_of(network: Network, target: ArrayLike) -> Ints:
    """Labels as a loss takes them: −1 and +1 for one output, positions for several."""
    codes = network.readout.encode(target)
    return 2 * codes - 1 if network.output_count == 1 else codes


def log_sum(loss: Loss, outputs: Array, codes: Ints) -> Array:
    """log Σ_i ℓ_i, whatever the reduction of the loss."""
    total = loss.log_total(outputs, codes)
    return total if loss.reduction == "sum" else total + np.log(len(codes))


def _size(network: Network, trained: Collection[str]) -> float:
    size = parameter_norm(network, trained) ** homogeneous_degree(network, trained)
    if not size:
        raise InputError(f"a network whose {', '.join(trained)} are all 0 has no normalised margin; train it first")
    return size
