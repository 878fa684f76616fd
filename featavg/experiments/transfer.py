"""On frozen ImageNet features: do coarse heads average, and do finer labels gain in features and in pixels?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from featavg.arrays import Array
from featavg.experiments import Progress, record_of
from featavg.experiments._features import (
    Draw,
    Heads,
    HeadSetting,
    accuracies,
    averaging_of,
    cosine_blocks,
    draw,
    head_radii,
    trained_heads,
)
from featavg.record import Claim, Drawing, Record

if TYPE_CHECKING:
    from torch import nn

COST = ("long", 760)
NEEDS = ("cifar10",)
SOURCE = "our own question; the paper has no number for transfer"


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


def run(config: Config, progress: Progress) -> Record:
    """Train both heads over seeds; measure cosines, averaging, exact feature radii and attacked pixel radii."""
    from featavg.deep.efficientnet import imagenet_backbone

    backbone, rows, flags = imagenet_backbone(), [], set()
    for number in range(config.seeds):
        seed = config.first_seed + number
        drawn = draw(backbone, config, seed)
        progress((number + 0.2) / config.seeds, f"seed {seed}: features")
        heads = trained_heads(drawn.data, config, config.scale, seed)
        row = cosine_blocks(heads, drawn.data) | averaging_of(heads, drawn.data)
        row |= accuracies(heads, drawn.test) | head_radii(heads, drawn.test, config.radius_points)
        attacked, said = _attacked(backbone, heads, drawn, config)
        flags |= set(said)
        rows.append(row | attacked)
        progress((number + 1) / config.seeds, f"seed {seed}")
    found = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    found |= {f"mean_{name}": found[name].mean(axis=0) for name in ("coarse_cosines", "fine_cosines")}
    found |= _curves(found, config)
    return record_of(
        config,
        claims=[*_learned(found), *_robust(found)],
        arrays=found,
        drawings=_drawings(),
        notes=_notes(found, config, flags),
    )


def _attacked(backbone: nn.Module, heads: Heads, drawn: Draw, config: Config) -> tuple[dict[str, Any], list[str]]:
    """Upper bounds of the pixel radii of both coarse decisions, and what the attacks say against themselves."""
    from featavg.deep import HeadedNetwork, ask_deep, channels_first
    from featavg.deep.attacks import BoundaryWalk, DeepAttack, MinimalNorm, attack_all

    images, y = channels_first(drawn.images.images), drawn.images.y
    few = slice(config.attacked)
    attacks: dict[str, DeepAttack] = {
        "minimal": MinimalNorm(steps=config.attack_steps),
        "walk": BoundaryWalk(candidates=images, steps=config.walk_steps),
    }
    as_binary: dict[str, Any] = {"readout": "maximum", "class_labels": drawn.data.center_labels}
    found: dict[str, Any] = {}
    flags: list[str] = []
    for name, head, options in (("coarse", heads.coarse, {}), ("fine", heads.fine, as_binary)):
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
    return found, flags


def _curves(found: dict[str, Array], config: Config) -> dict[str, Array]:
    """Robust accuracy over radii, all seeds together: exact in features, by the best attack in pixels."""
    curves = {}
    for space, names in (("feature", ("coarse_radius", "fine_radius")),
                         ("pixel", ("coarse_pixel_best", "fine_pixel_best"))):  # fmt: skip
        both = np.stack([found[name].ravel() for name in names])
        radii = np.linspace(0, np.quantile(both[np.isfinite(both)], 0.98), config.curve_points)
        curves[f"{space}_radii"] = radii
        curves[f"{space}_robust"] = (both[:, None] > radii[:, None]).mean(axis=2)
    return curves


def _learned(found: dict[str, Array]) -> list[Claim]:
    """What the heads hold."""
    return [
        Claim.over_seeds(
            found["same"] - found["cross"],
            "A neuron of the coarse head is closer to the features of its class than to the others.",
            source=SOURCE, expected=0.05, tolerance=0.0, relation="at least",
            tolerance_reason="random directions of 1280 axes have cosines of 0.03, their means over 50 pairs 0.004",
            how="mean cosine of equivalent weights with mean features, same class minus other class",
        ),
        Claim.over_seeds(
            found["diagonal"] - found["off"],
            "A class's neurons of the fine head are closer to its feature than to the others.",
            source=SOURCE, expected=0.05, tolerance=0.0, relation="at least",
            tolerance_reason="as for the coarse head", how="mean diagonal minus mean off-diagonal cosine",
        ),
        Claim.over_seeds(
            found["coarse_index"],
            "The neurons of the coarse head average the features of their class.",
            source=SOURCE, expected=0.5, tolerance=0.0, relation="at least",
            tolerance_reason="half way between decoupled and averaging",
            how="median index of live neurons against centred features; "
            f"p = {np.median(found['coarse_p']):.2g} in the median over seeds",
        ),
        Claim.over_seeds(
            found["fine_index"],
            "The neurons of the fine head do not.",
            source=SOURCE, expected=0.25, tolerance=0.0, relation="at most",
            tolerance_reason="a quarter: two features of five held alike",
            how="median index of live neurons against centred features; "
            f"p = {np.median(found['fine_p']):.2g} in the median over seeds",
        ),
    ]  # fmt: skip


def _robust(found: dict[str, Array]) -> list[Claim]:
    """How far the coarse decision of either head holds."""
    gain = found["fine_accuracy"] - found["coarse_accuracy"]
    return [
        Claim.over_seeds(
            gain,
            "The fine head decides the coarse task no worse than the coarse head.",
            source=SOURCE, expected=0.0, tolerance=0.02, relation="at least",
            tolerance_reason="two points in a hundred: an image more or less of a small test draw",
            how=f"difference of accuracies on test images; means {found['coarse_accuracy'].mean():.3f} (coarse) and "
            f"{found['fine_accuracy'].mean():.3f} (fine, maximum read-out)",
        ),
        Claim.over_seeds(
            found["ratio"],
            "The fine head has the larger radius in feature space.",
            source=SOURCE, expected=1.0, tolerance=0.0, relation="at least", tolerance_reason="larger is larger",
            how="mean exact ℓ2 radius of the coarse decision, fine head (maximum read-out) over coarse head, at test "
            "points that both put right",
        ),
        Claim.over_seeds(
            found["pixel_ratio"],
            "The fine head has the larger radius in pixels.",
            source=SOURCE, expected=1.0, tolerance=0.0, relation="at least", tolerance_reason="larger is larger",
            how="mean ℓ2 radius in pixels of [0, 1] under the best of two attacks (both upper bounds: minimal norm, "
            "boundary walk), fine head (maximum read-out) over coarse head, at points that both put right",
        ),
        Claim.over_seeds(
            np.log(found["pixel_ratio"]) - np.log(found["ratio"]),
            "A gain in feature space arrives whole in pixels.",
            source=SOURCE, expected=0.0, tolerance=0.2,
            tolerance_reason="20 %: attacks and a curved backbone may distort lengths that much",
            how="logarithm of the ratio of radii in pixels over that in features",
        ),
    ]  # fmt: skip


def _drawings() -> list[Drawing]:
    blocks: dict[str, Any] = {"row_blocks": [5], "column_blocks": [5], "columns": "class feature"}
    said = "Cosine of equivalent weights, means of 3 neurons, with the mean ImageNet feature of each CIFAR-10 class. "
    names = {"labels": ["coarse head", "fine head"], "y_label": "robust accuracy"}
    return [
        Drawing("heatmap", {"values": "mean_coarse_cosines"}, caption=said + "Coarse head, mean over seeds.",
                options=blocks | {"rows": "group of neurons"}),
        Drawing("heatmap", {"values": "mean_fine_cosines"}, caption=said + "Fine head, mean over seeds.",
                options=blocks | {"rows": "class"}),
        Drawing(
            "curves", {"x": "feature_radii", "y": "feature_robust"},
            caption="Robust accuracy of the coarse decision in feature space: exact radii, all seeds together.",
            options=names | {"x_label": "ℓ2 radius in feature space"},
        ),
        Drawing(
            "curves", {"x": "pixel_radii", "y": "pixel_robust"},
            caption="Robust accuracy of the coarse decision in pixel space, as far as the best of two attacks can "
            "tell (an upper bound), all seeds together.",
            options=names | {"x_label": "ℓ2 radius in pixels of [0, 1]"},
        ),
    ]  # fmt: skip


def _notes(found: dict[str, Array], config: Config, flags: set[str]) -> list[str]:
    said = "; ".join(sorted(flags)) or "nothing"
    walk = np.mean([(found[f"{n}_pixel_walk"] < found[f"{n}_pixel_minimal"]).mean() for n in ("coarse", "fine")])
    return [
        f"Mean pixel radii under the best attack: {found['coarse_pixel_mean'].mean():.3f} (coarse) and "
        f"{found['fine_pixel_mean'].mean():.3f} (fine); the boundary walk was shorter than the minimal-norm attack "
        f"at {100 * walk:.0f} % of points. The attacks say against themselves: {said}.",
        f"Of the feature radii {100 * found['exact'].mean():.1f} % are exact. Images are enlarged inside the network, "
        "so radii are those of the 32 x 32 image.",
        f"Rate {config.rate:g}/E‖x‖², {config.steps} full-batch steps and the scale were chosen on trial seeds from "
        "1000 upward.",
    ]
