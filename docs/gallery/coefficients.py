"""λ(t): one neuron takes up all features of its class at once"""

import featavg as fa

data = fa.sample_clusters(clusters=8, dim=3072, samples=300, seed=0)
run = fa.train(fa.BinaryNetwork.random(data, neurons_per_class=4, seed=1), data, save_at=fa.every(2))
figure = fa.show_coefficients(run, data, neuron=0)

if __name__ == "__main__":
    figure.savefig("coefficients.png")
