"""On frozen ImageNet features: do coarse heads average, and do finer labels gain in features and in pixels?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from featavg.experiments import Expect, Quantity
from featavg.experiments.images import heads
from featavg.experiments.images.heads import Heads, HeadSetting, Sample
from featavg.record import Column, Drawing, Table
from featavg.robustness import Attack, BoundaryWalk, MinimalNorm, attack_all

if TYPE_CHECKING:
    from torch import nn

COST = ("long", 760)
NEEDS = ("cifar10",)
SOURCE = "our own question; the paper has no number for transfer"
PIXELS = {
    f"{head}_pixel_{attack}": Quantity(f"ℓ2 radius in pixels of the {head} head, {name}: an upper bound", ("attacked",))
    for head in ("coarse", "fine")
    for attack, name in (("minimal", "minimal norm"), ("walk", "boundary walk"), ("best", "best of two attacks"))
}
COLUMNS: dict[str, str | Quantity] = {
    **heads.COSINES,
    **heads.AVERAGING,
    **heads.ACCURACY,
    **heads.RADII,
    **PIXELS,
    "coarse_gap": "mean cosine of equivalent weights with mean features, same class minus other class",
    "fine_gap": "mean diagonal minus mean off-diagonal cosine",
    "accuracy_gain": "difference of accuracies on test images; means {mean[coarse_accuracy]:.3f} (coarse) and "
    "{mean[fine_accuracy]:.3f} (fine, maximum read-out)",
    "coarse_pixel_mean": "mean pixel radius of the coarse head under the best attack",
    "fine_pixel_mean": "mean pixel radius of the fine head under the best attack",
    "pixel_ratio": "mean ℓ2 radius in pixels of [0, 1] under the best of two attacks (both upper bounds: minimal norm, "
    "boundary walk), fine head (maximum read-out) over coarse head, at points that both put right",
    "distortion": "logarithm of the ratio of radii in pixels over that in features",
    "flags": "what the attacks say against themselves",
}
CLAIMS = [
    Expect(
        "coarse_gap", "A neuron of the coarse head is closer to the features of its class than to the others.", SOURCE,
        expected=0.05, tolerance=0.0, relation="at least",
        because="random directions of 1280 axes have cosines of 0.03, their means over 50 pairs 0.004",
    ),
    Expect("fine_gap", "A class's neurons of the fine head are closer to its feature than to the others.", SOURCE,
           expected=0.05, tolerance=0.0, relation="at least", because="as for the coarse head"),
    Expect("coarse_index", "The neurons of the coarse head average the features of their class.", SOURCE,
           expected=0.5, tolerance=0.0, relation="at least", because="half way between decoupled and averaging"),
    Expect("fine_index", "The neurons of the fine head do not.", SOURCE,
           expected=0.25, tolerance=0.0, relation="at most", because="a quarter: two features of five held alike"),
    Expect("accuracy_gain", "The fine head decides the coarse task no worse than the coarse head.", SOURCE,
           expected=0.0, tolerance=0.02, relation="at least",
           because="two points in a hundred: an image more or less of a small test draw"),
    Expect("ratio", "The fine head has the larger radius in feature space.", SOURCE,
           expected=1.0, tolerance=0.0, relation="at least", because="larger is larger"),
    Expect("pixel_ratio", "The fine head has the larger radius in pixels.", SOURCE,
           expected=1.0, tolerance=0.0, relation="at least", because="larger is larger"),
    Expect("distortion", "A gain in feature space arrives whole in pixels.", SOURCE, expected=0.0, tolerance=0.2,
           because="20 %: attacks and a curved backbone may distort lengths that much"),
]  # fmt: skip
SEEN = "Cosine of equivalent weights, means of 3 neurons, with the mean ImageNet feature of each CIFAR-10 class. "
LINES = {"labels": ["coarse head", "fine head"], "y_label": "robust accuracy"}
DRAWINGS = [
    heads.cosine_map("coarse_cosines", SEEN + "Coarse head, mean over seeds."),
    heads.cosine_map("fine_cosines", SEEN + "Fine head, mean over seeds."),
    Drawing("curves", {"x": "feature_radius", "y": "feature_robust"},
            caption="Robust accuracy of the coarse decision in feature space: exact radii, all seeds together.",
            options=LINES | {"x_label": "ℓ2 radius in feature space"}),
    Drawing("curves", {"x": "pixel_radius", "y": "pixel_robust"},
        caption="Robust accuracy of the coarse decision in pixel space, as far as the best of two attacks can tell (an "
        "upper bound), all seeds together.",
        options=LINES | {"x_label": "ℓ2 radius in pixels of [0, 1]"}),
]  # fmt: skip


@dataclass(frozen=True)
class Config(HeadSetting):
    """Heads on EfficientNet-Lite0 (1280 features) from a small start, and attacks on pixels of the 32 x 32 image."""

    train: int = 1000
    test: int = 200
    scale: float = 0.01
    attacked: int = 40
    attack_steps: int = 40
    walk_steps: int = 5
    curve_points: int = 25
    seeds: int = 8


def prepare() -> nn.Module:
    """Load the backbone."""
    from featavg.deep import imagenet_backbone

    return imagenet_backbone()


def measure(config: Config, seed: int, case: nn.Module) -> dict[str, Any]:
    """Train both heads; measure cosines, averaging, exact feature radii and attacked pixel radii."""
    drawn = heads.draw(case, config, seed)
    trained = heads.trained_heads(drawn.data, config, config.scale, seed)
    row = heads.cosine_blocks(trained, drawn.data) | heads.averaging_of(trained, drawn.data)
    row |= heads.accuracies(trained, drawn.test) | heads.head_radii(trained, drawn.test, config.radius_points)
    row |= _attacked(case, trained, drawn, config)
    return row | {
        "coarse_gap": row["same"] - row["cross"],
        "fine_gap": row["diagonal"] - row["off"],
        "accuracy_gain": row["fine_accuracy"] - row["coarse_accuracy"],
        "distortion": np.log(row["pixel_ratio"]) - np.log(row["ratio"]),
    }


def _attacked(backbone: nn.Module, trained: Heads, drawn: Sample, config: Config) -> dict[str, Any]:
    """Upper bounds of the pixel radii of both coarse decisions, and what the attacks say against themselves."""
    from featavg.deep import HeadedNetwork, as_rows, ask_deep, channels_first

    images, y = channels_first(drawn.images.images), drawn.images.y
    few = slice(config.attacked)
    attacks: dict[str, Attack] = {
        "minimal": MinimalNorm(steps=config.attack_steps),
        "walk": BoundaryWalk(start=as_rows(images), starts=1, steps=config.walk_steps),
    }
    as_binary: dict[str, Any] = {"readout": "maximum", "class_labels": drawn.data.center_labels}
    found: dict[str, Any] = {}
    flags: list[str] = []
    for name, head, options in (("coarse", trained.coarse, {}), ("fine", trained.fine, as_binary)):
        question = ask_deep(HeadedNetwork(backbone, head), images[few], y[few], batch=40, **options)
        for attack, bracket in attack_all(question, attacks).items():
            found[f"{name}_pixel_{attack}"] = bracket.upper
            # The flags of the best say only which attack won where.
            flags += [f"{name} head, {flag}" for flag in bracket.flags if attack != "best"]
    pair = np.stack([found["coarse_pixel_best"], found["fine_pixel_best"]])
    both = ((pair > 0) & np.isfinite(pair)).all(axis=0)  # a point that no attack moved is named by a flag
    for name in ("coarse", "fine"):
        found[f"{name}_pixel_mean"] = found[f"{name}_pixel_best"][both].mean()
    found["pixel_ratio"] = found["fine_pixel_mean"] / found["coarse_pixel_mean"]
    return found | {"flags": "; ".join(sorted(set(flags)))}


def derive(config: Config, table: Table) -> Table:
    """Robust accuracy over radii, all seeds together: exact in features, by the best attack in pixels."""
    columns, coords = {}, {}
    for space, names in (("feature", ("coarse_radius", "fine_radius")),
                         ("pixel", ("coarse_pixel_best", "fine_pixel_best"))):  # fmt: skip
        both = np.stack([table[name].ravel() for name in names])
        radii = np.linspace(0, np.quantile(both[np.isfinite(both)], 0.98), config.curve_points)
        coords[f"{space}_radius"] = radii
        standing = (both[:, None] > radii[:, None]).mean(axis=2)
        columns[f"{space}_robust"] = Column(standing, ("head", f"{space}_radius"), f"robust accuracy, {space} space")
    return table.plus(columns, coords)


def notes(config: Config, table: Table) -> list[str]:
    """Radii in pixels, what the attacks say, and how heads were trained."""
    flags = sorted({flag for seed in table["flags"] for flag in seed.split("; ") if flag})
    shorter = [(table[f"{n}_pixel_walk"] < table[f"{n}_pixel_minimal"]).mean() for n in ("coarse", "fine")]
    return [
        "Mean pixel radii under the best attack: {mean[coarse_pixel_mean]:.3f} (coarse) and "
        "{mean[fine_pixel_mean]:.3f} (fine); the boundary walk was shorter than the minimal-norm attack "
        f"at {100 * np.mean(shorter):.0f} % of points. The attacks say against themselves: "
        f"{'; '.join(flags) or 'nothing'}.",
        "Of the feature radii {percent[exact]:.1f} % are exact. Images are enlarged inside the network, so radii are "
        "those of the 32 x 32 image.",
        f"Rate {config.rate:g}/E‖x‖², {config.steps} full-batch steps and the scale were chosen on trial seeds from "
        "1000 upward.",
    ]
