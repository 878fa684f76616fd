"""A small autoencoder, whose decoder's Jacobian spans the tangent plane of the data at a point."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from featavg.arrays import Array
from featavg.model import Layer, Network


@dataclass(frozen=True)
class Autoencoder:
    """x ↦ decoder(encoder(x)), both of two layers with ReLU."""

    encoder: Network  # x -> latent
    decoder: Network  # latent -> x

    @classmethod
    def fit(cls, x: Array, latent: int, seed: int, hidden: int = 128, epochs: int = 200) -> Self:
        """Fit to points (sample, axis) in mean square."""
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.neural_network import MLPRegressor

        sizes = (hidden, latent, hidden)
        model: Any = MLPRegressor(hidden_layer_sizes=sizes, max_iter=epochs, random_state=seed, tol=0.0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # a fixed number of epochs is wanted
            model.fit(x, x)
        layers = [Layer(w.T, b) for w, b in zip(model.coefs_, model.intercepts_, strict=True)]
        first, second, third, fourth = layers
        return cls(_network(first, second), _network(third, fourth))

    def latent(self, x: Array) -> Array:
        """ReLU(encoder(x)): (sample, latent)."""
        return np.maximum(self.encoder.outputs(x), 0.0)

    def __call__(self, x: Array) -> Array:
        """What the points become: (sample, axis)."""
        return self.decoder.outputs(self.latent(x))

    def planes(self, x: Array) -> Array:
        """Orthonormal bases of the tangent planes at points x: (sample, axis, latent).

        The Jacobian of the decoder at the latent code of x, W₂ diag(1[z > 0]) W₁, then QR.
        """
        first, second = self.decoder.layers
        on = self.decoder.preactivations(self.latent(x)) > 0
        jacobians = np.einsum("ah,sh,hl->sal", second.weights, on.astype(np.float64), first.weights)
        return np.linalg.qr(jacobians)[0]


def _network(first: Layer, second: Layer) -> Network:
    from featavg.model import Argmax

    return Network((first, second), Argmax(np.arange(len(second.weights))))
