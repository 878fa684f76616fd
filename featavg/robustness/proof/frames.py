"""The network as the checker computes with it: neurons scaled by powers of two, their norms, products and errors.

a ReLU(w·x + b) = (a 2ˢ) ReLU(2⁻ˢ(w·x + b)) exactly, so every neuron is scaled to a largest weight in [1/2, 1).
Pre-activations, θ, thresholds and second-layer weights below are those of the scaled neurons.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from featavg.arrays import Ints
from featavg.robustness.proof.arithmetic import TINY, U, gamma, norms_up, preactivations
from featavg.robustness.proof.compiled import entry, kernel
from featavg.robustness.proof.format import Floats, Neurons
from featavg.robustness.proof.pools import Products
from featavg.robustness.proof.references import by_reference

# Products over the axes are summed block by block, so that their error grows with √d.
BLOCK = 64


class Scaled(NamedTuple):
    """Neurons divided by 2^exponent, with what the division lost (only where it left the normal range)."""

    weights: Floats  # (neuron, axis)
    biases: Floats  # (neuron,)
    exponent: Ints  # (neuron,)
    lost: Floats  # (neuron,)  at least ‖exact − weights‖, in any norm
    size: Floats  # (neuron,)  at least ‖weights‖ of ℓ2


@by_reference
class Frame(NamedTuple):
    """Vectors v_j that stand for the weights: ‖Σ c_j w_j‖_* <= stretch·‖Σ c_j v_j‖_* + Σ |c_j| residual_j.

    `gram` is v_i·v_j within gram_error·norm_i·norm_j, or empty where vectors themselves are to be used.
    """

    vectors: Floats  # (neuron, coordinate)
    norm: Floats  # (neuron,)  at least ‖w_j‖_*
    square: Floats  # (neuron,)  nearly ‖w_j‖², of ℓ2, for choosing numbers that are free
    residual: Floats  # (neuron,)
    stretch: float
    gram: Floats  # (neuron, neuron) or (0, 0)
    gram_error: float
    euclidean: bool
    compensated: bool  # Σ θ_j v_j in double-double


@by_reference
class Centers(NamedTuple):
    """Pre-activations at the points: z0 = high + low within `error`."""

    high: Floats  # (point, neuron)
    low: Floats  # (point, neuron)
    error: Floats  # (point, neuron)


def scale_neurons(neurons: Neurons) -> Scaled:
    """Divide every neuron by the power of two that brings its largest weight into [1/2, 1)."""
    largest = np.abs(neurons.weights).max(axis=1, initial=0.0)
    exponent = np.where(largest > 0, np.frexp(largest)[1], 0).astype(np.int64)
    weights = np.ascontiguousarray(np.ldexp(neurons.weights, -exponent[:, None]))
    inexact = (np.ldexp(weights, exponent[:, None]) != neurons.weights).any(axis=1)
    lost = np.where(inexact, weights.shape[1] * TINY, 0.0)
    with np.errstate(over="ignore"):
        biases = np.ldexp(neurons.biases, -exponent)
    return Scaled(weights, biases, exponent, lost, norms_up(weights, euclidean=True))


def gram_frame(scaled: Scaled) -> Frame:
    """Inner products in floats: the cheapest arithmetic, whose error grows with (Σ|θ_j|‖w_j‖ / ‖h‖)²."""
    frame = vector_frame(scaled, euclidean=True, compensated=False)
    gram = blocked_product(scaled.weights, scaled.weights)
    return frame._replace(vectors=np.zeros((len(gram), 0)), gram=gram, gram_error=_blocked_error(scaled.weights))


def vector_frame(scaled: Scaled, euclidean: bool, compensated: bool) -> Frame:
    """The weights themselves."""
    norm = (scaled.size if euclidean else norms_up(scaled.weights, euclidean)) + scaled.lost
    square = np.einsum("ij,ij->i", scaled.weights, scaled.weights)
    return Frame(scaled.weights, norm, square, scaled.lost, 1.0, np.zeros((0, 0)), 0.0, euclidean, compensated)


def reduced_frame(scaled: Scaled) -> Frame:
    """Coordinates in an orthonormal basis of the weights' span: W = BQᵀ + E, all three bounded in double-double.

    ‖Σ c_j w_j‖ <= ‖Q‖‖Σ c_j B_j‖ + Σ |c_j|‖E_j‖ with ‖Q‖² <= 1 + ‖QᵀQ − I‖. The error of h is linear in Σ|θ_j|‖w_j‖.
    """
    basis = np.ascontiguousarray(np.linalg.qr(scaled.weights.T)[0].T)  # (coordinate, axis)
    vectors = blocked_product(scaled.weights, basis)
    rank, axes = basis.shape
    share = 2.0 * gamma(max(rank, axes) + 2.0) ** 2
    sizes = norms_up(basis, euclidean=True)
    # Entries of QᵀQ − I: computed in double-double, rounded, and known within share·‖q‖‖q‖.
    skew = np.abs(_fine_products(basis, basis, -np.eye(rank)))
    skew = skew * (1.0 + 4.0 * U) + share * 1.01 * np.outer(sizes, sizes) + axes * TINY
    stretch = math.sqrt(1.0 + float(norms_up(skew.reshape(1, -1), euclidean=True)[0])) * (1.0 + 4.0 * U)
    # Entries of W − BQᵀ: the same, with share·Σ|B_jk||q_ki|.
    left = np.abs(_fine_products(vectors, np.ascontiguousarray(basis.T), -scaled.weights))
    doubt = share * 1.01 * (np.abs(vectors) @ np.abs(basis) * (1.0 + gamma(rank + 2.0)) + np.abs(scaled.weights))
    residual = norms_up(left * (1.0 + 4.0 * U) + doubt + rank * TINY, euclidean=True) + scaled.lost
    frame = vector_frame(scaled, euclidean=True, compensated=False)
    return frame._replace(vectors=vectors, residual=residual, stretch=stretch)


def products_of(scaled: Scaled) -> Products:
    """Inner products in floats, with the error that they have at most."""
    gram = blocked_product(scaled.weights, scaled.weights)
    return Products(gram, scaled.size + scaled.lost, _blocked_error(scaled.weights))


def no_products() -> Products:
    """For decisions that need none."""
    return Products(np.zeros((0, 0)), np.zeros(0), 0.0)


def centers(scaled: Scaled, x: Floats) -> Centers:
    """Pre-activations by ordinary matrix products: |error| <= gamma·(‖x‖‖w_j‖ + |b_j|)."""
    share = _blocked_error(scaled.weights) + 2.0 * U
    with np.errstate(over="ignore", invalid="ignore"):
        high = blocked_product(x, scaled.weights) + scaled.biases
        error = share * _sizes(scaled, x)
    return Centers(high, np.zeros_like(high), _with_losses(error, scaled, x))


def fine_centers(scaled: Scaled, x: Floats) -> Centers:
    """Pre-activations in double-double: |error| <= 2·gamma(d + 2)²·(‖x‖‖w_j‖ + |b_j|)."""
    count, axes = x.shape
    high = np.empty((count, len(scaled.biases)))
    low = np.empty_like(high)
    _all_preactivations(np.ascontiguousarray(x), np.ascontiguousarray(scaled.weights.T), scaled.biases, high, low)
    with np.errstate(over="ignore", invalid="ignore"):
        error = 2.0 * gamma(axes + 2.0) ** 2 * _sizes(scaled, x) + 8.0 * (axes + 1) * TINY
    return Centers(high, low, _with_losses(error, scaled, x))


def blocked_product(a: Floats, b: Floats) -> Floats:
    """a bᵀ, summed over blocks of axes: within gamma(BLOCK + d/BLOCK + 2)·|a||b|ᵀ."""
    # The other way round it takes half the time where there are many more points than neurons.
    product = np.zeros((len(b), len(a)))
    for start in range(0, a.shape[1], BLOCK):
        product += b[:, start : start + BLOCK] @ a[:, start : start + BLOCK].T
    return np.ascontiguousarray(product.T)


def _blocked_error(weights: Floats) -> float:
    return 1.01 * gamma(BLOCK + weights.shape[1] / BLOCK + 4.0)


def _sizes(scaled: Scaled, x: Floats) -> Floats:
    return (norms_up(x, euclidean=True)[:, None] * scaled.size + np.abs(scaled.biases)) * (1.0 + 8.0 * U)


def _with_losses(error: Floats, scaled: Scaled, x: Floats) -> Floats:
    """Add what scaling lost in weights and biases, and what products in the subnormal range lose."""
    error = error * (1.0 + 4.0 * U) + (2.0 * x.shape[1] + 4.0) * TINY
    if scaled.lost.any():
        # Every entry of w is within TINY, so w·x within TINY·‖x‖_1, and within d·TINY·⌈‖x‖_1⌉ in floats too.
        reach = np.ceil(norms_up(x, euclidean=False))[:, None] * x.shape[1]
        error += np.where(scaled.lost > 0, TINY * reach, 0.0)
    return error


def _fine_products(a: Floats, b: Floats, c: Floats) -> Floats:
    """a bᵀ + c in double-double, rounded to floats at the end."""
    result = np.empty((len(a), len(b)))
    _fill_products(np.ascontiguousarray(a), np.ascontiguousarray(b.T), np.ascontiguousarray(c), result)
    return result


@kernel
def _fill_products(a: Floats, columns: Floats, c: Floats, result: Floats) -> None:
    low = np.zeros(result.shape[1])
    for i in range(len(a)):
        preactivations(a[i], columns, c[i], result[i], low)
        for k in range(len(low)):
            result[i, k] += low[k]


@entry
def _all_preactivations(x: Floats, columns: Floats, biases: Floats, high: Floats, low: Floats) -> None:
    for i in range(len(x)):
        preactivations(x[i], columns, biases, high[i], low[i])
