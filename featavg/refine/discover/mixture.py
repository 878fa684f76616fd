"""A mixture of Gaussians with axis-parallel ellipses, from the centers of k-means."""

from __future__ import annotations

import numpy as np

from featavg.arrays import Array, Ints


def mixture(points: Array, centers: Array, seed: int) -> Ints:
    """The likeliest component (sample,) of each point, in a mixture that starts at centers (component, axis).

    >>> mixture(np.array([[0.0], [0.1], [9.0], [9.1]]), np.array([[1.0], [8.0]]), seed=0)
    array([0, 0, 1, 1])
    """
    from sklearn.mixture import GaussianMixture

    # Diagonal: in fifty axes a full covariance has more numbers than a small cluster has points.
    spread = float(points.var(axis=0).mean()) or 1.0
    model = GaussianMixture(
        len(centers), covariance_type="diag", means_init=centers, reg_covar=1e-3 * spread, random_state=seed,
        init_params="random_from_data", max_iter=200, tol=1e-2,
    )  # fmt: skip
    return np.asarray(model.fit(points).predict(points), dtype=np.int64)
