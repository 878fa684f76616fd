"""Does the nearest adversarial point leave the data manifold? On clusters no, on digits mostly (Shamir et al.).

The dimpled-manifold picture says that a boundary clings to the manifold of the data and that adversarial perturbations
are nearly perpendicular to it. In the cluster model the manifold is the span of the k centers among d dimensions. For
images it is known only through a model: the tangent plane at x is spanned by the Jacobian of an autoencoder's decoder.

All radii are exact: the whole space, the manifold alone (the network with weights W B for an orthonormal basis B of the
tangent plane, biases W x + b, at 0), and what is perpendicular to it. A random direction has √(k/d) of its length
inside.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from featavg.arrays import Array
from featavg.data import Dataset, load_images
from featavg.experiments import Expect, Quantity
from featavg.experiments.implicit_bias.autoencoder import Autoencoder
from featavg.experiments.paper.setting import Setting
from featavg.model import Network, as_network
from featavg.record import Drawing, Table
from featavg.robustness import Readout, robust_radius

COST = ("long", 120)
NEEDS = ("mnist",)
CASES = {"data": ("coarse", "fine", "digits", "mnist")}
COORDS = {"along": lambda config: config.grid, "across": lambda config: config.grid}
COLUMNS = {
    "inside": "median over points of the share of the length of the nearest exact perturbation that lies in the "
    "manifold",
    "chance": "√(k/d), the share of a random direction",
    "cosine": "median cosine of the nearest perturbation with −y Σ y_j μ_j; for digits with the mean difference of "
    "classes",
    "on_manifold": "median ratio of the exact radius inside the manifold and the exact radius",
    "off_manifold": "median ratio of the exact radius perpendicular to the manifold and the exact radius",
    "error": "reconstruction error of the autoencoder over the spread of the data; 0 for clusters",
    "slice": Quantity("margin at x + a·r·u + b·r·v in units of its value at x, u along the nearest perturbation of "
                      "length r, v along its largest perpendicular part in the manifold", ("across", "along"),
                      once=True),
}  # fmt: skip
SOURCE = "Shamir et al. 2021"
CLAIMS = [
    Expect("inside", "The averaging network's nearest adversarial points lie inside the manifold.",
           "contrast with Shamir et al. 2021", expected=0.99, tolerance=0.02, at={"data": "coarse"},
           because="a prototype gave a cosine of 0.994 with a direction inside it; noise parts of the weights stand "
               "out"),
    Expect("cosine", "They lie along one universal direction, −y Σ y_j μ_j.", "Theorem 1(3)",
           expected=0.994, tolerance=0.02, at={"data": "coarse"}, because="a prototype gave 0.994"),
    Expect("on_manifold", "Staying on the manifold costs the attacker of the averaging network nothing.",
           "contrast with Shamir et al. 2021", expected=1.0, tolerance=0.03, at={"data": "coarse"},
           because="1/inside is 1.01, plus the curvature that ReLUs bring"),
    Expect("inside", "Those of the decoupled network lie inside as well.", "contrast with Shamir et al. 2021",
           expected=0.95, tolerance=0.0, relation="at least", at={"data": "fine"},
           because="its weights have a cosine of 0.993 with their centers"),
    *(
        expect
        for case, name in (("digits", "8×8 digits"), ("mnist", "MNIST"))
        for expect in (
            Expect("inside", f"On {name} the nearest adversarial points lie mostly outside.", SOURCE,
                   expected=0.7, tolerance=0.0, relation="at most", at={"data": case},
                   because="below 1/√2 more of the squared length is perpendicular than inside"),
            Expect("on_manifold", f"On {name} staying on the manifold costs the attacker more than half again.", SOURCE,
                   expected=1.5, tolerance=0.0, relation="at least", at={"data": case},
                   because="the paper says far larger norms; half again is visible"),
        )
    ),
]  # fmt: skip
NOTES = [
    "Bearing on averaging: averaging is a fragility inside the data manifold, along the features themselves. It is no "
    "dimple, and moving data off or onto the manifold cannot cure it.",
]


@dataclass(frozen=True)
class Config(Setting):
    """The paper's setting, and the digits that come with scikit-learn."""

    test_points: int = 100
    train_images: int = 5000  # of MNIST; of the digits all
    neurons: int = 30
    latent: int = 8  # of the digits; twice as many for MNIST
    epochs: int = 300  # of the autoencoder on the digits; a tenth on MNIST
    grid: tuple[float, ...] = tuple(np.linspace(-1.5, 1.5, 31).round(2).tolist())
    seeds: int = 8


@dataclass(frozen=True)
class Question:
    """A network, points with labels, the tangent plane at each, and a direction to compare with."""

    network: Network
    x: Array  # (point, axis)
    y: Any  # (point,)
    readout: Readout | None
    planes: Array  # (point, axis, tangent)  orthonormal columns
    direction: Array  # (axis,)
    dim: int
    error: float = 0.0


@dataclass(frozen=True)
class Images:
    """Training images and the model of their manifold, the same for every seed."""

    name: str
    train: Dataset
    manifold: Autoencoder


def prepare(config: Config, case: str) -> Images | str:
    """Fit the autoencoder of an image set once."""
    if case in ("coarse", "fine"):
        return case
    mnist = case == "mnist"
    train = load_images(case, "train", samples=config.train_images if mnist else None)
    latent, epochs = (2 * config.latent, max(1, config.epochs // 10)) if mnist else (config.latent, config.epochs)
    return Images(case, train, Autoencoder.fit(train.x, latent, seed=0, epochs=epochs))


def measure(config: Config, seed: int, case: Images | str) -> dict[str, Any]:
    """Exact nearest perturbations, split into what lies in the manifold and what does not."""
    asked = clusters(config, seed, case) if isinstance(case, str) else images(config, seed, case)
    whole = robust_radius(asked.network, asked.x, asked.y, readout=asked.readout)
    right = (whole.upper > 0) & np.isfinite(whole.upper)
    steps = (whole.witness - asked.x)[right]
    planes = asked.planes[right]
    inside = np.einsum("pat,pa->pt", planes, steps)
    toward = -np.asarray(asked.y)[right] * (steps @ asked.direction)
    lengths = np.linalg.norm(steps, axis=1)
    few = np.flatnonzero(right)[: config.test_points // 4]
    return {
        "inside": np.median(np.linalg.norm(inside, axis=1) / lengths),
        "chance": np.sqrt(planes.shape[2] / asked.dim),
        "cosine": np.median(toward / (lengths * np.linalg.norm(asked.direction))),
        "on_manifold": np.median([_restricted(asked, i, asked.planes[i]) / whole.upper[i] for i in few]),
        "off_manifold": np.median([_restricted(asked, i, _rest(asked.planes[i])) / whole.upper[i] for i in few]),
        "error": asked.error,
        "slice": _slice(config, asked, int(few[0]), whole.witness[few[0]] - asked.x[few[0]]),
    }


def clusters(config: Config, seed: int, case: str) -> Question:
    """The paper's network on coarse or fine labels; the manifold is the span of the centers."""
    data = config.data(seed)
    test = config.test(data, seed, config.test_points)
    network = config.trained(case, data, seed, [config.steps]).final
    basis = np.linalg.qr(data.centers.T)[0]
    planes = np.broadcast_to(basis, (len(test), *basis.shape))
    readout: Readout | None = None if case == "coarse" else "maximum"
    return Question(network, test.x, test.y, readout, planes, data.center_labels @ data.centers, data.dim)


def images(config: Config, seed: int, case: Images) -> Question:
    """A two-layer network on even against odd digits, and tangent planes of an autoencoder."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPClassifier

    train, manifold = case.train, case.manifold
    test = load_images(case.name, "test", samples=config.test_points, seed=seed)
    model = MLPClassifier((config.neurons,), max_iter=200, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a fixed number of epochs is wanted
        model.fit(train.x, train.y)
    between = train.x[train.y == 1].mean(axis=0) - train.x[train.y == -1].mean(axis=0)
    error = float(np.sqrt(np.mean((manifold(test.x) - test.x) ** 2) / np.var(train.x - train.x.mean(axis=0))))
    return Question(as_network(model), test.x, test.y, None, manifold.planes(test.x), between, test.x.shape[1], error)


def _restricted(asked: Question, i: int, basis: Array) -> float:
    """The exact radius of point i among perturbations B t: the same network seen from x, W B and W x + b."""
    network = asked.network
    seen = network.changed(weights=network.weights @ basis, biases=network.preactivations(asked.x[i : i + 1])[0])
    origin = np.zeros((1, basis.shape[1]))
    return float(robust_radius(seen, origin, asked.y[i : i + 1], readout=asked.readout).lower[0])


def _rest(plane: Array) -> Array:
    """An orthonormal basis of what is perpendicular to a plane (axis, tangent): (axis, axis − tangent)."""
    return np.linalg.svd(plane, full_matrices=True)[0][:, plane.shape[1] :]


def _slice(config: Config, asked: Question, i: int, step: Array) -> Array:
    """The margin on the plane through x that holds the nearest perturbation and a direction of the manifold."""
    x, y, plane = asked.x[i], asked.y[i : i + 1], asked.planes[i]
    length = float(np.linalg.norm(step))
    along = step / length
    others = plane - np.outer(along, along @ plane)
    across = others[:, np.argmax(np.linalg.norm(others, axis=0))]
    across = across / np.linalg.norm(across)
    grid = length * np.array(config.grid)
    points = x + grid[:, None, None] * across + grid[None, :, None] * along
    flat, network = points.reshape(-1, len(x)), asked.network.reading(asked.readout)
    labels = np.repeat(y, len(flat))
    values = network.margins(flat, labels).reshape(len(grid), len(grid))
    return np.asarray(values / network.margins(x[None], y)[0])


def drawings(config: Config) -> list[Drawing]:
    """The shares, and slices through the boundary."""
    pictures = [
        Drawing("heatmap", {"values": "slice", "row_labels": "across", "column_labels": "along"}, at={"data": case},
            caption=f"{name}: margin on the plane through a test point (middle) that holds the nearest adversarial "
            "point (to the right, at 1) and a direction of the manifold (downwards), in units of the margin at the "
            "point; first seed. White is the boundary.",
            options={"rows": "along the manifold / r", "columns": "towards the nearest adversarial point / r",
                     "scale_label": "margin"})
        for case, name in (("coarse", "Averaging network"), ("mnist", "MNIST"))
    ]  # fmt: skip
    return [
        Drawing("dots", {"measured": "inside", "labels": "data", "expected": "chance"}, band=0.95,
            caption="Share of the length of the nearest exact perturbation that lies in the data manifold, median over "
            "points, 95 % intervals over seeds; the tick is that of a random direction. Coarse and fine are networks "
            "on clusters.", options={"x_label": "share inside"}),
        *pictures,
    ]  # fmt: skip


def notes(config: Config, table: Table) -> list[str]:
    """What is called the manifold of images, and how much of it chance would find."""
    digits, mnist = (float(table.sel("error", data=name).mean()) for name in ("digits", "mnist"))
    own, chance = (
        " and ".join(f"{table.sel(column, data=name).mean():.2f}" for name in ("digits", "mnist"))
        for column in ("inside", "chance")
    )
    return [
        f"Images in [0, 1], even against odd, two-layer networks of {config.neurons} neurons; tangent planes of one "
        f"autoencoder for each set, with {config.latent} and {2 * config.latent} latent numbers, whose reconstruction "
        f"errors are {digits:.2f} and {mnist:.2f} of the spread of the data. What is called outside depends on that "
        "model.",
        f"Of the length of these perturbations {own} lie inside, of a random direction {chance}: that most of them "
        "is outside is also a matter of how few directions a manifold has.",
    ]
