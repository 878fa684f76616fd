"""Robust accuracy: proved, and what two attacks say"""

import featavg as fa

data = fa.sample_clusters(clusters=8, dim=3072, samples=300, seed=0)
network = fa.train(fa.BinaryNetwork.random(data, neurons_per_class=4, seed=1), data).final
test = data.resample(100, seed=2)
found = {
    "exact": fa.robust_radius(network, test.x, test.y),
    "gradient walk (upper bound)": fa.GradientWalk()(network, test.x, test.y),
    "Newton walk (upper bound)": fa.NewtonWalk()(network, test.x, test.y),
}
figure = fa.show_curves(found, marks=[((3072 / 8) ** 0.5, "√(d/k)")])

if __name__ == "__main__":
    figure.savefig("curves.png")
