"""The averaging network breaks at √(d/k), the decoupled one near √(d/2): exact curves, attacks beside them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr

from featavg.analysis import alignment, theory
from featavg.arrays import Array
from featavg.experiments import Expect, Quantity
from featavg.experiments.paper.default_pgd import REACH, default_pgd
from featavg.experiments.paper.setting import Setting
from featavg.model import Network
from featavg.record import Column, Drawing, Table
from featavg.robustness import (
    PGD,
    GradientWalk,
    RadiusBracket,
    Readout,
    UniversalDirection,
    lipschitz_bound,
    robust_accuracy,
    robust_radius,
)

COST = ("quick", 40)
NEEDS: tuple[str, ...] = ()
# Robust accuracy read off the paper's Fig. 3 (left), radius by radius.
PUBLISHED = {
    "coarse": {12: 1.0, 14: 0.913, 16: 0.314, 18: 0.024, 20: 0.010, 22: 0.003},
    "fine": {32: 1.0, 34: 0.998, 36: 0.866, 38: 0.350, 40: 0.146, 42: 0.037, 44: 0.003},
}
RADII = {"coarse": np.arange(10.0, 27.0), "fine": np.arange(30.0, 47.0)}
READOUTS: dict[str, Readout] = {"coarse": "sign", "fine": "maximum"}
SCALES = (1e-5, 1e-3, 2e-3, 3e-3)
CASES = {"network": tuple(READOUTS)}
COLUMNS = {
    "radius": Quantity("exact ℓ2 radius; of the k-class network under the maximum read-out", ("point",)),
    "median": "median exact ℓ2 radius over {config.test_points} test points per seed; of the k-class network under the "
    "maximum read-out",
    "least": "smallest exact ℓ2 radius of {config.test_points} test points per seed, maximum read-out",
    "proved": "share of test points whose radius is exact",
    "verified": "share of test points whose certificate is verified by weak duality",
    "excess": "median of the radius along −y Σ y_j μ_j, in its whole length, over the exact one",
    "radii": Quantity("ℓ2 radius at which robust accuracies are computed", ("place",)),
    "exact": Quantity("exact robust accuracy", ("place",)),
    "certified": Quantity("robust accuracy by the Lipschitz certificate", ("place",)),
    "universal": Quantity("robust accuracy by the universal direction", ("place",)),
    "walk": Quantity("robust accuracy by a gradient walk", ("place",)),
    "pgd": Quantity("robust accuracy by PGD of 40 steps", ("place",)),
    "default": Quantity(
        "robust accuracy by PGD with the default settings of foolbox's L2PGD, in our own code: 50 steps of 0.025 of "
        "the radius, one uniform start in the ball; an upper bound",
        ("place",),
    ),
    "theory": Quantity("Φ((√(d/k) − δ)/σ); for the k-class network a step at √(d/2)", ("place",)),
    "shape_error": "largest difference of exact robust accuracy and Φ((m − δ)/σ), m the median radius, over the radii",
    "shift": "by how much the published curve must move to the right to be nearest to the exact one, in mean distance",
    "overstated": Quantity(
        "robust accuracy of 40-step PGD (zero start and one start in span(W)) minus exact, same points", ("place",)
    ),
    "default_overstated": Quantity("robust accuracy of PGD with default settings minus exact, same points", ("place",)),
    "reach": "largest length of the perturbation inside span(W) by PGD with default settings, in radii",
}
CLAIMS = [
    Expect(
        "median", "Half of all test points of the averaging network are fooled at √(d/k).", "Theorem 1(3), Fig. 3 left",
        expected=lambda config, _: theory.averaging_radius(config.theory), tolerance=0.5, at={"network": "coarse"},
        because="imperfect averages cost up to 0.3; two independent prototypes gave 17.3 to 17.5",
    ),
    Expect("median", "The binary network's curve falls where the published one does.", "Fig. 3 left",
           expected=15.4, published=15.4, tolerance=0.5, at={"network": "coarse"},
           because="one quarter of the figure's grid step, around the 50 % crossing of the published PGD curve"),
    Expect("shape_error", "Around its own median m the curve of the trained network is Φ((m − δ)/σ).", "derived",
           expected=0.0, tolerance=0.05, relation="at most", at={"network": "coarse"},
           because="sampling of {config.test_points} points leaves 0.03; the closed form is that of the ideal network"),
    *(
        Expect("shift", f"The published curve of the {network} network is the exact one, one grid step to the left.",
               "hypothesis about Fig. 3 left", expected=2.0, tolerance=0.5, at={"network": network},
               because="a quarter of the figure's grid step")
        for network in READOUTS
    ),
    Expect("left", "At 1.25 √(d/k) nothing is left of the averaging network's accuracy.", "Theorem 1(3)",
           expected=0.0, tolerance=0.01, relation="at most", because="the theorem's o(1)"),
    Expect("median", "The decoupled network is nearly as robust as any classifier can be.",
        "Theorem 4(3), Theorem 5, Fig. 3 left",
        expected=38.38, published=37.4, tolerance=0.5, at={"network": "fine"},
        because="38.38 is the median of the nearest-center rule on two million noisy points, the optimum; "
        "imperfect features cost up to 0.3"),
    Expect("least", "Every test point of the decoupled network is robust up to the proof's √d/10.", "Theorem 4(3)",
           expected=lambda config, _: theory.proved_radius(config.theory), tolerance=0.0, relation="at least",
           because="a bound", at={"network": "fine"}),
    Expect("gain", "Fine labels multiply the radius by √(k/2).", "Theorems 1(3) and 5",
           expected=lambda config, _: np.sqrt(config.clusters / 2), published=2.43, tolerance=0.1,
           because="both medians are known to 0.5"),
    Expect("both_verified", "Every radius behind these curves is proved, and its certificate verifies.", "exact search",
           expected=1.0, tolerance=0.0, relation="at least", because="a count", check=True),
    Expect("excess", "On the averaging network the theorem's one direction is as good as the best perturbation.",
           "Theorem 1(3); Frei et al., Theorem 4.2",
           expected=1.0, tolerance=0.01, because="a percent, a sixth of the noise's σ", at={"network": "coarse"}),
    *(
        Expect("overstated", f"PGD overstates the robustness of the {name} network at radius {radius}.",
               "reviewers' question", expected=0.02, tolerance=0.0, relation="at least",
               because="two points of accuracy are visible in a figure",
               at={"network": network, "place": int(np.searchsorted(RADII[network], radius))})
        for network, name, radius in (("coarse", "averaging", 18), ("fine", "decoupled", 39))
    ),
    Expect("default_overstated",
           "At radius 18 a library's default PGD takes half of all points for robust that are not (averaging network).",
           "reviewers' question", expected=0.5, tolerance=0.0, relation="at least",
           because="foolbox itself gave 0.69 with 20 of the 50 steps, in the benchmark; more steps get further",
           at={"network": "coarse", "place": int(np.searchsorted(RADII["coarse"], 18))}),
    Expect("reach", "A library's default PGD uses at most tanh(1.25) of its radius, wherever it goes.",
           "derived: its start fills the ball, and a step of 0.025 gains at most what the projection leaves",
           expected=REACH, tolerance=0.03, relation="at most", at={"network": "coarse"},
           because="the network sees up to 0.1 of a start in d dimensions, which is worth 0.1 (1 − 0.85²)"),
]  # fmt: skip


@dataclass(frozen=True)
class Config(Setting):
    """The paper's setting; the k-class network is read out by its maximum, for which the radius is exact."""

    test_points: int = 1000
    pgd_points: int = 300
    seeds: int = 8


def measure(config: Config, seed: int, case: str) -> dict[str, Any]:
    """Compute the exact radius of every test point of a network, and what attacks say instead."""
    data = config.data(seed)
    test = config.test(data, seed, config.test_points)
    network = config.trained(case, data, seed, [config.steps]).final
    x, y, radii, readout = test.x, test.y, RADII[case], READOUTS[case]
    exact = robust_radius(network, x, y, readout=readout)
    # The theorem's direction, not the one of the trained weights.
    direction = data.center_labels @ data.centers
    universal = UniversalDirection(direction=direction)(network, x, y, readout=readout)
    few = slice(config.pgd_points)
    # Each radius is attacked by itself and no iterate is moved back to the boundary: PGD as people use it.
    attacks = [PGD(radii=float(r), steps=40, restarts=1, shorten=False) for r in radii]
    survived = [np.isinf(attack(network, x[few], y[few], readout=readout).upper).mean() for attack in attacks]
    truth = np.mean(exact.upper[few] > radii[:, None], axis=1)
    rng, classes = np.random.default_rng(seed), (y > 0).astype(np.int64) if case == "coarse" else test.cluster
    ends = [default_pgd(network, x[few], classes[few], r, config.dim, rng) for r in radii]
    unset = [(network.predict_binary(end, readout) == y[few]).mean() for end in ends]
    curve, predicted = robust_accuracy(exact, radii).upper, _theory(config, case)
    return {
        "radius": exact.upper,
        "median": np.median(exact.upper),
        "least": exact.upper.min(),
        "proved": np.mean([status == "exact" for status in exact.status]),
        "verified": np.mean(exact.verify()),
        "excess": np.median(universal.upper / exact.upper) * _unseen(network, direction),
        "radii": radii,
        "exact": curve,
        "certified": robust_accuracy(lipschitz_bound(network, x, y, readout=readout), radii).lower,
        "universal": robust_accuracy(universal, radii).upper,
        "walk": robust_accuracy(GradientWalk()(network, x, y, readout=readout), radii).upper,
        "pgd": survived,
        "default": unset,
        "theory": predicted,
        "shape_error": np.abs(curve - ndtr(np.median(exact.upper) - radii)).max(),
        "shift": _shift(exact, PUBLISHED[case]),
        "overstated": np.array(survived) - truth,
        "default_overstated": np.array(unset) - truth,
        "reach": max(np.linalg.norm(end - x[few], axis=1).max() / r for end, r in zip(ends, radii, strict=True)),
    }


def _unseen(network: Network, direction: Array) -> float:
    """By how much a direction is longer than the part of it that the neurons see, which is what an attack needs."""
    basis = np.linalg.qr(network.weights.T)[0]
    return float(np.linalg.norm(direction) / np.linalg.norm(direction @ basis))


def _shift(exact: RadiusBracket, published: dict[int, float]) -> float:
    """The shift of the published points (radius, accuracy) that brings them nearest to the exact curve."""
    radii, accuracy, shifts = np.array(list(published)), np.array(list(published.values())), np.linspace(-2, 5, 141)
    distance = [np.abs(robust_accuracy(exact, radii + shift).upper - accuracy).mean() for shift in shifts]
    return float(shifts[np.argmin(distance)])


def _theory(config: Config, case: str) -> Any:
    """Φ((√(d/k) − δ)/σ); for the decoupled network a step at √(d/2), which no classifier can pass."""
    if case == "coarse":
        return theory.averaging_accuracy(config.theory, RADII[case])
    return (RADII[case] < theory.optimal_radius(config.theory)).astype(np.float64)


def derive(config: Config, table: Table) -> Table:
    """What compares the two networks, and the published curves."""
    coarse, fine = (table.sel("median", network=network) for network in READOUTS)
    beyond = np.searchsorted(RADII["coarse"], 1.25 * theory.averaging_radius(config.theory))
    left = table.sel("exact", network="coarse")[:, beyond]
    columns = {
        "gain": Column(fine / coarse, ("seed",), "ratio of the median exact ℓ2 radii"),
        "both_verified": Column(table["verified"].min(axis=0), ("seed",), table.columns["verified"].text),
        "left": Column(left, ("seed",), "exact ℓ2 robust accuracy at radius 22", points=config.test_points),
    }
    for network, curve in PUBLISHED.items():
        axes = (f"{network}_grid",)
        columns[f"{network}_published_x"] = Column(np.array(list(curve)), axes, "radius in the paper's figure")
        columns[f"{network}_published_y"] = Column(np.array(list(curve.values())), axes, "robust accuracy there")
    return table.plus(columns)


def drawings(config: Config) -> list[Drawing]:
    """The curves of both networks."""
    lines = {"exact": "exact", "theory": "theory", "certified": "Lipschitz certificate", "pgd": "PGD, 40 steps",
             "default": "PGD, a library's default", "walk": "gradient walk",
             "universal": "universal direction"}  # fmt: skip
    shown = (
        ("coarse", "Binary network trained on two classes", theory.averaging_radius(config.theory), "√(d/k)"),
        ("fine", "k-class network trained on fine labels, maximum read-out", theory.optimal_radius(config.theory),
         "√(d/2)"),
    )  # fmt: skip
    return [
        Drawing("curves",
            {"x": "radii", "y": tuple(lines),
             "published_x": f"{network}_published_x", "published_y": f"{network}_published_y"},
            caption=f"{name}: share of test points that no ℓ2 perturbation of a given size can turn. The exact curve "
            "is proved point by point; every attack lies on or above it, every certificate below. A library's "
            "default is foolbox's L2PGD in our own code, nothing set. Circles are the paper's Fig. 3 (left).",
            options={"labels": list(lines.values()), "published_labels": ["paper, PGD"], "x_label": "ℓ2 radius",
                     "y_label": "robust accuracy", "marks": [[mark, word]]},
            at={"network": network})
        for network, name, mark, word in shown
    ]  # fmt: skip


def notes(config: Config) -> list[str]:
    """What larger initial weights do to radius and cosine: the published curve and the published cosines disagree."""
    data = config.data(config.first_seed)
    test = config.test(data, config.first_seed, config.pgd_points)
    same = np.repeat([1, -1], config.neurons_per_class)[:, None] == data.center_labels
    seen = []
    for scale in SCALES:
        network = config.coarse(data, config.first_seed, [config.steps], scale=scale).final
        median = np.median(robust_radius(network, test.x, test.y).upper)
        seen.append(f"{scale:g}: {median:.1f} and {alignment(network, data.centers)[same].mean():.2f}")
    return [
        "The published binary curve falls at 15.4, the published cosines are 0.443. Median exact radius and same-class "
        f"cosine by scale of the initial weights (seed {config.first_seed}, {config.pgd_points} points) are "
        f"{'; '.join(seen)}. "
        "No scale gives both, so the two panels do not come from one recipe; the stated one is 1e-5.",
        "The k-class network is read out by its maximum here; the claim `readouts` compares all read-outs.",
    ]
