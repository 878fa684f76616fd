"""The rule of the curve: many neurons cannot switch at once, because what moves them all is one δ in a ball.

For any numbers s, m and ρ >= 0, q_j = ρ s_j², and κ_j below a_j ReLU(z) − θ_j z + q_j (z − m_j)² on [l_j, u_j],

    G >= c + Σ_j (θ_j z_j + κ_j) − Σ_j q_j (z_j − m_j)².

Where every point of the rival is within τ of a point whose pre-activations are m_j up to e_j,

    Σ_j q_j (z_j − m_j)² <= (1 + ε)·ρμτ² + (1 + 1/ε)·Σ_j q_j e_j²,    μ >= the largest eigenvalue of Σ_j s_j² w_j w_jᵀ.

Chords pay for each neuron as if it were alone; this pays once for all of them. A proof says
θ_j + 2 q_j m_j, so that it does not depend on the center.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from featavg.arrays import Ints
from featavg.robustness.proof.arithmetic import TINY, U, down, gamma, norms_up, up
from featavg.robustness.proof.compiled import borrowing
from featavg.robustness.proof.desk import Desk
from featavg.robustness.proof.format import Floats, Proofs, lengths
from featavg.robustness.proof.frames import Scaled
from featavg.robustness.proof.pools import Ball, Products
from featavg.robustness.proof.references import by_reference

# ε: doubts about m are far smaller.
SPARE_SHARE = 2.0**-40


@by_reference
class Curves(NamedTuple):
    """The s of the trees that have one, in the scaled neurons' units, and μ."""

    root: Floats  # (curve, neuron)
    most: Floats  # (curve,)
    of: Ints  # (tree,)  which one, −1 for none


def has_curve(proofs: Proofs) -> Ints:
    """How many numbers the curve of every tree has: (tree,)."""
    return lengths(proofs.curve_start)


def curves_of(proofs: Proofs, trees: Ints, scaled: Scaled, products: Products) -> Curves:
    """Read the curves of some trees, all of them as long as there are neurons; a curve beyond floats has μ = ∞."""
    of = np.full(len(proofs.point), -1)
    curved = trees[has_curve(proofs)[trees] > 0]
    of[curved] = np.arange(len(curved))
    root = np.zeros((len(curved), len(scaled.biases)))
    for k, tree in enumerate(curved.tolist()):
        with np.errstate(over="ignore", invalid="ignore"):
            root[k] = np.ldexp(proofs.curve[proofs.curve_start[tree] : proofs.curve_start[tree + 1]], scaled.exponent)
    most = np.array([largest_eigenvalue(s, scaled, products) for s in root])
    return Curves(root, most.reshape(len(root)), of)


def largest_eigenvalue(root: Floats, scaled: Scaled, products: Products) -> float:
    """At least the largest eigenvalue of Σ_j s_j² w_j w_jᵀ, which is that of S_ij = s_i s_j ⟨w_i,w_j⟩.

    With S = VΛVᵀ + E, in floats that are not trusted, it is at most max Λ·‖V‖² + ‖E‖, and ‖V‖² <= 1 + ‖VᵀV − I‖.
    Frobenius norms stand for ‖·‖; products of n terms are within gamma(n)·|·||·|, whose norm is at most
    gamma(n)·max|Λ|·‖V‖_F², and those in the Gram matrix within share·|s_i|‖w_i‖·|s_j|‖w_j‖.
    """
    used = np.flatnonzero(root)
    if not np.isfinite(root).all() or scaled.lost.any():
        return np.inf
    if not len(used):
        return 0.0
    s, size = root[used], np.abs(root[used]) * products.size[used] * (1.0 + 4.0 * U)
    with np.errstate(over="ignore", invalid="ignore"):
        inner = products.gram[np.ix_(used, used)] * np.outer(s, s)
        if not np.isfinite(inner).all():
            return np.inf
        values, vectors = np.linalg.eigh(inner)
        left, skew = inner - (vectors * values) @ vectors.T, vectors.T @ vectors - np.eye(len(used))
        share, whole = gamma(len(used) + 8.0), _frobenius(vectors) ** 2 * (1.0 + 4.0 * U)
        length = 1.0 + _frobenius(skew) + share * (whole + len(used))
        error = _frobenius(left) + share * (np.abs(values).max() * whole + 4.0 * _frobenius(inner))
        error += (products.share + share) * float(norms_up(size[None], euclidean=True)[0]) ** 2
        most = (max(values.max(), 0.0) * length + error) * (1.0 + 64.0 * U) + len(used) ** 2 * 8.0 * TINY
    return float(most) if most < np.inf else np.inf


def _frobenius(matrix: Floats) -> float:
    return float(norms_up(np.ascontiguousarray(matrix).reshape(1, -1), euclidean=True)[0])


@borrowing
def price(root: Floats, most: float, rho: float, ball: Ball, desk: Desk) -> float:
    """Write q_j = ρ s_j², rounded down, and θ_j less 2 q_j m_j; return (1 + ε)ρμτ² + (1 + 1/ε)Σ q_j e_j² from above."""
    unsure = 0.0
    for j in range(len(root)):
        square = root[j] * root[j]
        desk.bend[j] = max(0.0, down(down(square) * rho))
        desk.theta[j] -= 2.0 * desk.bend[j] * ball.z[j]
        unsure += up(up(square) * rho) * up(ball.doubt[j] * ball.doubt[j])
    unsure = up(unsure * (1.0 + gamma(len(root) + 4.0)))
    whole = up(up(rho * most) * up(ball.radius * ball.radius))
    return up(up(whole * (1.0 + SPARE_SHARE)) + up(unsure * (1.0 + 1.0 / SPARE_SHARE)))
