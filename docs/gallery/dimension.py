"""The law √(d/k) up to a million million dimensions"""

import numpy as np

import featavg as fa
from featavg.figures import scaling


def median_radius(dim: int) -> float:
    """Of 50 test points of an averaging network."""
    data = fa.sample_clusters(clusters=8, dim=dim, samples=100, seed=0)
    network = fa.train(fa.BinaryNetwork.random(data, neurons_per_class=4, seed=1), data).final
    test = data.resample(50, seed=2)
    return float(np.median(fa.robust_radius(network, test.x, test.y).upper))


dims = [10**power for power in (3, 6, 9, 12)]
figure = scaling(
    dims,
    [median_radius(dim) for dim in dims],
    caption="Median exact radius over the dimension.",
    theory=[(dim / 8) ** 0.5 for dim in dims],
    theory_labels=["√(d/k)"],
    labels=["two labels, eight clusters"],
    x_label="dimension d",
    y_label="median ℓ2 radius",
)

if __name__ == "__main__":
    figure.savefig("dimension.png")
