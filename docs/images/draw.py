"""Draw the picture of the README: `python docs/images/draw.py`, a few minutes of one core.

Exact robust accuracy of two networks of one architecture, and what ℓ2 PGD says of them with the default settings of a
widely used attack library (50 steps of 0.025 of the radius, one uniform start in the ball, the last iterate counts).
"""

from pathlib import Path

import numpy as np

import featavg as fa
from featavg.figures import curves

STEPS, RELATIVE_STEP = 50, 0.025
RADII = np.concatenate([np.arange(13.0, 27.0, 1.0), np.arange(28.0, 50.0, 2.0)])
GRID = np.arange(8.0, 48.0, 0.1)


def survivors(network: fa.Network, x: np.ndarray, classes: np.ndarray, sides: np.ndarray, seed: int = 3) -> list[float]:
    """The share of points (sample, axis) on whose own side PGD on the cross-entropy of `classes` ends, per radius."""
    rng, own = np.random.default_rng(seed), np.eye(2 if network.output_count == 1 else network.output_count)[classes]
    return [float((decided(network, x + attack(network, x, own, radius, rng)) == sides).mean()) for radius in RADII]


def attack(network: fa.Network, x: np.ndarray, own: np.ndarray, radius: float, rng: np.random.Generator) -> np.ndarray:
    """δ ← project(δ + 0.025·radius·∇/‖∇‖), ∇ of the cross-entropy at x + δ: (sample, axis)."""
    delta = normalised(rng.standard_normal(x.shape)) * radius * rng.random((len(x), 1)) ** (1 / x.shape[1])
    for _ in range(STEPS):
        delta += RELATIVE_STEP * radius * normalised(gradient(network, x + delta, own))
        delta *= np.minimum(1.0, radius / np.linalg.norm(delta, axis=1, keepdims=True))
    return delta


def gradient(network: fa.Network, x: np.ndarray, own: np.ndarray) -> np.ndarray:
    """∇ₓ of the cross-entropy; a network of one output f has the logits 0 and f."""
    hidden = x @ network.weights.T + network.biases
    second = np.vstack([np.zeros(network.neurons), network.second]) if network.output_count == 1 else network.second
    logits = np.maximum(hidden, 0) @ second.T
    shares = np.exp(logits - logits.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    return ((shares - own) @ second * (hidden > 0)) @ network.weights


def normalised(vectors: np.ndarray) -> np.ndarray:
    """Vectors (sample, axis) of length 1; 0 stays 0."""
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(length > 0, length, 1.0)


def decided(network: fa.Network, x: np.ndarray) -> np.ndarray:
    """The side -1 or +1 of each point: the sign of one output, or the side of the largest of several."""
    outputs = network.outputs(x)
    return np.where(outputs[:, 0] >= 0, 1, -1) if outputs.shape[1] == 1 else data.center_labels[outputs.argmax(axis=1)]


data = fa.sample_clusters(clusters=10, dim=3072, samples=1000, seed=0, coordinates="ambient")
test = data.resample(500, seed=1)
coarse = fa.train(fa.BinaryNetwork.random(data, neurons_per_class=5, seed=2), data).final
fine = fa.train(fa.MulticlassNetwork.random(data, neurons_per_class=1, seed=2), data).final
exact = [
    fa.robust_radius(coarse, test.x, test.y).lower,
    fa.robust_radius(fine, test.x, test.y, readout="maximum").lower,
]
said = [
    survivors(coarse, test.x, (test.y > 0).astype(int), test.y),
    survivors(fine, test.x, test.cluster, test.y),
]
lines = [(radii > GRID[:, None]).mean(axis=1) for radii in exact]
lines += [np.interp(GRID, RADII, shares, right=np.nan) for shares in said]
figure = curves(
    GRID,
    np.array(lines),
    caption="",
    labels=[
        "coarse labels, exact",
        "fine labels, exact",
        "coarse labels, a library's default PGD",
        "fine labels, a library's default PGD",
    ],
    marks=[(float(np.sqrt(3072 / 10)), "√(d/k)"), (float(np.sqrt(3072 / 2)), "√(d/2)")],
    x_label="ℓ2 radius (d = 3072, k = 10)",
    y_label="robust accuracy",
    width=7.2,
)
figure.savefig(Path(__file__).parent / "curves.png", dpi=110)
at = int(np.abs(RADII - 18.0).argmin())
print(f"at radius 18: exact {(exact[0] > 18).mean():.3f}, PGD {said[0][at]:.3f}")
