"""A slice through the decision boundary, with the nearest adversarial point"""

import featavg as fa

data = fa.sample_clusters(clusters=8, dim=3072, samples=300, seed=0)
network = fa.train(fa.BinaryNetwork.random(data, neurons_per_class=4, seed=1), data).final
test = data.resample(5, seed=2)
figure = fa.show_slice(fa.robust_radius(network, test.x, test.y), point=0)

if __name__ == "__main__":
    figure.savefig("slice.png")
