"""Draw the pictures of the README from the committed records: `python docs/images/draw.py`."""

from pathlib import Path

import numpy as np

from featavg.figures import curves
from featavg.record import read_record

here = Path(__file__).parent
found = read_record(here.parents[1] / "results" / "robustness.json").evidence.table
names = {"coarse": "coarse labels", "fine": "fine labels"}
grid = np.arange(8.0, 50.0, 0.1)


def step(values: np.ndarray, radii: np.ndarray) -> np.ndarray:
    """Survivors at each radius of the grid: 1 below the radii that were measured, 0 above."""
    return np.interp(grid, radii, values, left=1.0, right=0.0)


exact = [np.mean(found[f"{name}_radius"].ravel() > grid[:, None], axis=1) for name in names]
attacked = [step(found[f"{name}_pgd"].mean(axis=0), found[f"{name}_radii"]) for name in names]
figure = curves(
    grid,
    np.array([*exact, *attacked]),
    caption="",
    labels=[*(f"{label}, exact" for label in names.values()), *(f"{label}, what PGD says" for label in names.values())],
    marks=[(float(np.sqrt(3072 / 10)), "√(d/k)"), (float(np.sqrt(3072 / 2)), "√(d/2)")],
    x_label="ℓ2 radius (d = 3072, k = 10)",
    y_label="robust accuracy",
)
figure.savefig(here / "curves.png", dpi=110)
