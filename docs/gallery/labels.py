"""From coarse to fine labels: the radius grows with each label"""

import numpy as np

import featavg as fa
from featavg.figures import curves
from featavg.lab import Setting
from featavg.lab.run import data_of, run_of


def median_radius(labels: int) -> float:
    """Of 50 test points of a network that was trained on so many labels for eight clusters."""
    setting = Setting(clusters=8, samples=100, neurons=8, labels=labels)
    test = data_of(setting).resample(50, seed=1)
    readout = None if labels == 2 else "maximum"
    return float(np.median(fa.robust_radius(run_of(setting).final, test.x, test.y, readout=readout).upper))


counts = range(2, 9)
figure = curves(
    counts,
    [[median_radius(count) for count in counts]],
    caption="Median exact radius of a network over the number of labels that it was trained on.",
    labels=["exact, median of 50 points"],
    levels=[((3072 / 8) ** 0.5, "√(d/k)"), ((3072 / 2) ** 0.5, "√(d/2)")],
    x_label="labels for 8 clusters",
    y_label="ℓ2 radius",
)

if __name__ == "__main__":
    figure.savefig("labels.png")
