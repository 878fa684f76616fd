"""Your own network: digits, and the nearest images that fool it"""

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier

import featavg as fa

x, digit = load_digits(return_X_y=True)
x, y = x / 16, digit % 2
model = MLPClassifier((10,), max_iter=1000, random_state=0).fit(x[:1000], y[:1000])
radius = fa.robust_radius(model, x[1000:1020], y[1000:1020])
right = np.flatnonzero(radius.upper > 0)[:6]
figure = Figure(figsize=(6.4, 2.4), layout="constrained")
axes = figure.subplots(2, len(right))
for column, point in enumerate(right):
    for row, image in enumerate((x[1000 + point], radius.witness[point])):
        axes[row, column].imshow(image.reshape(8, 8), cmap="gray", vmin=0, vmax=1)
        axes[row, column].axis("off")
    axes[0, column].set_title(f"{radius.upper[point]:.2f}", fontsize=9)
figure.set_label("Digits (above) and the nearest images that are decided otherwise (below), with their distances.")

if __name__ == "__main__":
    figure.savefig("own_network.png")
