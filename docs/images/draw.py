"""Draw the picture of the README: `python docs/images/draw.py`, a few seconds.

Exact robust accuracy of two networks of one architecture, and what ℓ2 PGD says of them with the default settings of a
widely used attack library.
"""

from pathlib import Path

import numpy as np

import featavg as fa
from featavg.experiments.paper.default_pgd import default_pgd
from featavg.figures import curves

RADII = np.concatenate([np.arange(13.0, 27.0, 1.0), np.arange(28.0, 50.0, 2.0)])
GRID = np.arange(8.0, 48.0, 0.1)


def survivors(network: fa.Network, classes: np.ndarray, readout: str | None = None) -> list[float]:
    """The share of test points on whose own side the attack on the cross-entropy of `classes` ends, per radius."""
    rng = np.random.default_rng(3)
    ends = (default_pgd(network, test.x, classes, radius, data.dim, rng) for radius in RADII)
    return [float((network.predict_binary(end, readout) == test.y).mean()) for end in ends]


data = fa.sample_clusters(clusters=10, dim=3072, samples=1000, seed=0, coordinates="ambient")
test = data.resample(500, seed=1)
coarse = fa.train(fa.BinaryNetwork.random(data, neurons_per_class=5, seed=2), data).final
fine = fa.train(fa.MulticlassNetwork.random(data, neurons_per_class=1, seed=2), data).final
exact = [
    fa.robust_radius(coarse, test.x, test.y).lower,
    fa.robust_radius(fine, test.x, test.y, readout="maximum").lower,
]
said = [
    survivors(coarse, (test.y > 0).astype(int)),
    survivors(fine, test.cluster, "maximum"),
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
