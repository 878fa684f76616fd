"""Random two-layer networks that are asked in both rooms."""

import numpy as np

import featavg as fa


def random_network(outputs, seed=0, neurons=12, axes=6):
    rng = np.random.default_rng(seed)
    kind = fa.BinaryNetwork if outputs == 1 else fa.MulticlassNetwork
    labels = {} if outputs == 1 else {"class_labels": np.where(np.arange(outputs) % 2, -1, 1)}
    return kind(
        rng.standard_normal((neurons, axes)),
        rng.standard_normal(neurons),
        rng.standard_normal((outputs, neurons)),
        rng.standard_normal(outputs),
        **labels,
    )
