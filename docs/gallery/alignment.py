"""Averaging: cosines of neurons and features"""

import featavg as fa

data = fa.sample_clusters(clusters=8, dim=3072, samples=300, seed=0)
run = fa.train(fa.BinaryNetwork.random(data, neurons_per_class=4, seed=1), data)
figure = fa.show_alignment(run.final, data)

if __name__ == "__main__":
    figure.savefig("alignment.png")
