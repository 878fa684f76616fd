"""A chain of affine maps and activations, folded into the layers of a network.

Folding is exact for the mathematical maps; in floats it moves outputs by the rounding of one product.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from featavg.arrays import Array
from featavg.errors import InputError
from featavg.model.activation import RELU, Activation
from featavg.model.adapters.arrays import decided
from featavg.model.network import Layer, Network


@dataclass(frozen=True, eq=False)
class Affine:
    """x ↦ W x + b; a diagonal W is stored as a vector, so that scaling many features costs no matrix."""

    weights: Array  # (out, in), or (axis,) for a diagonal, or (1,) for one factor of all features
    shift: Array  # (out,)

    @classmethod
    def of(cls, weights: ArrayLike, shift: ArrayLike | None = None) -> Affine:
        """From anything that becomes float64 arrays; no shift is a shift by 0."""
        matrix = np.asarray(weights, dtype=np.float64)
        moved = np.zeros(len(matrix)) if shift is None else np.asarray(shift, dtype=np.float64)
        return cls(matrix, np.broadcast_to(moved, (len(matrix),)))

    def then(self, after: Affine) -> Affine:
        """after ∘ self: W' (W x + b) + b'.

        >>> Affine.of([2.0, 3.0], [1.0, 0.0]).then(Affine.of([[1.0, 1.0]])).weights
        array([[2., 3.]])
        """
        try:
            if after.weights.ndim == 1:
                return Affine((self.weights.T * after.weights).T, after.weights * self.shift + after.shift)
            product = after.weights * self.weights if self.weights.ndim == 1 else after.weights @ self.weights
            moved = np.broadcast_to(self.shift, (after.weights.shape[1],))
            return Affine(product, after.weights @ moved + after.shift)
        except ValueError:
            raise InputError(
                f"neighbouring layers must fit each other, got weights of shapes {self.weights.shape} and "
                f"{after.weights.shape}"
            ) from None


Step = Affine | Activation


def network_of(steps: Sequence[Step], labels: ArrayLike | None = None) -> Network:
    """The network that takes these steps: neighbouring affine maps become one layer.

    >>> network_of([Affine.of([2.0]), Affine.of([[1.0], [-1.0]]), RELU, Affine.of([[1.0, 1.0]])]).outputs([[-3.0]])
    array([[6.]])
    """
    layers: list[Layer] = []
    waiting: Affine | None = None
    activation: Activation | None = None
    for step in steps:
        if isinstance(step, Affine):
            waiting = step if waiting is None else waiting.then(step)
            continue
        if activation not in (None, step):
            raise InputError(f"all hidden layers need one activation, got {activation} and {step}")
        layers.append(_layer(waiting, "an activation"))
        waiting, activation = None, step
    layers.append(_layer(waiting, "the end"))
    return Network(tuple(layers), decided(tuple(layers), labels), activation or RELU)


def _layer(map_before: Affine | None, where: str) -> Layer:
    if map_before is None or map_before.weights.ndim == 1:
        raise InputError(f"a network needs a linear layer before {where}, got none there")
    return Layer(map_before.weights, map_before.shift)
