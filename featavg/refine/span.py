"""Few points of many columns: all that is computed of them lives in the span of their differences, which is small."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from featavg.arrays import Array
from featavg.model import Layer, Network

NEGLIGIBLE = 1e-9  # share of the longest axis below which one is rounding


@dataclass(frozen=True)
class Span:
    """c = V(x − mean), V with orthonormal rows: distances between the points stay as they are."""

    mean: Array  # (axis,)
    basis: Array  # (coordinate, axis)  V

    @classmethod
    def of(cls, x: Array) -> Span:
        """That of points x (sample, axis).

        >>> x = np.array([[0.0, 0.0, 1.0], [3.0, 4.0, 1.0]])
        >>> np.abs(Span.of(x).inside(x)).round(6).tolist()
        [[2.5], [2.5]]
        """
        mean = x.mean(axis=0)
        _, sizes, basis = np.linalg.svd(x - mean, full_matrices=False)
        return cls(mean, basis[sizes > NEGLIGIBLE * sizes.max()])

    def inside(self, x: Array) -> Array:
        """c of points x."""
        return (x - self.mean) @ self.basis.T

    def raw(self, network: Network) -> Network:
        """A network on c as one on x: W c + b = (W V) x + b − (W V) mean."""
        first, *rest = network.layers
        weights = first.weights @ self.basis
        return replace(network, layers=(Layer(weights, first.biases - weights @ self.mean), *rest))
