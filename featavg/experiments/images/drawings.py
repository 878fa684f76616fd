"""What the records of the image chapters show, and the columns that only drawings need."""

from __future__ import annotations

from typing import Any

import numpy as np

from featavg.experiments.images.attacks import control_radii
from featavg.experiments.images.expectations import gaps, sanity
from featavg.experiments.images.gaps import NETWORKS, median_radius, standing
from featavg.experiments.images.pairs import ImageSetting, Pair
from featavg.record import Column, Drawing, Table

READOUT = "the ten-class network is read out by summed probabilities"
BAND = "Bands are 95 % intervals over seeds."
PIXELS = "pixels of [0, 1]"
LABELS = {"labels": ["coarse labels", "fine labels"]}


def derive(config: ImageSetting, table: Table, prepared: Pair) -> Table:
    """Gaps, and curves (seed, network, radius) or over training time (seed, network, moment)."""
    radii, few = config.radii, control_radii(config)
    attacks = standing(table["upper"], radii)  # (seed, network, attack, radius)
    best = attacks[:, :, -1]
    fine = table.sel("upper", network="fine", attack="best")
    pair = np.stack([standing(upper, few) for upper in (table["control"], fine[:, : table["control"].shape[1]])])
    columns = {
        **gaps(config, table, prepared),
        **sanity(config, table),
        "radius_normalised": Column(radii / prepared.std, ("radius",), "radius in normalised units"),
        "standing": Column(best, ("seed", "network", "radius"), "robust accuracy under the best attack"),
        "standing_gap": Column(best[:, 1] - best[:, 0], ("seed", "radius"), "fine − coarse robust accuracy"),
        "attack_standing": Column(
            attacks.mean(axis=0), ("network", "attack", "radius"), "robust accuracy under each attack"
        ),
        "control_standing": Column(
            pair.mean(axis=1), ("control_or_best", "control_radius"), "robust accuracy of the fine network"
        ),
        **_over_time(table, "", "over_time", "moment"),
    }
    if config.marks:
        columns |= _over_time(table, "two_layer_", "two_layer_upper", "mark")
    if prepared.published:
        x = np.array(list(prepared.published["coarse"]))
        y = np.array([list(prepared.published[kind].values()) for kind in NETWORKS])
        columns["published_x"] = Column(x, ("published_radius",), "radius in the paper's figure")
        columns["published_y"] = Column(y, ("network", "published_radius"), "robust accuracy in the paper's figure")
    return table.plus(columns, {"radius": radii, "control_radius": few})


def _over_time(table: Table, prefix: str, name: str, axis: str) -> dict[str, Column]:
    """Robust accuracy at each moment, at one radius: the coarse network's final median, its mean over seeds."""
    upper = table[name]  # (seed, network, moment, point)
    radius = float(median_radius(upper[:, 0, -1]).mean())
    line = np.mean(upper > radius, axis=3)
    return {
        f"{prefix}time_standing": Column(line, ("seed", "network", axis), f"robust accuracy at radius {radius:.3g}"),
        f"{prefix}time_radius": Column(radius, (), "the coarse networks' median radius at the end"),
    }


def drawings(config: ImageSetting, table: Table, prepared: Pair) -> list[Drawing]:
    """All drawings of a record."""
    made = [_curves(config, prepared, "radius", PIXELS)]
    if prepared.published:
        made.append(_curves(config, prepared, "radius_normalised", f"normalised units (pixels / {prepared.std:.4g})"))
    made += [GAP, *(_attacks(kind) for kind in NETWORKS), CONTROL]
    radius = float(table["time_radius"])
    made += _time("", "clean", "moment", "epoch", radius, "minimal-norm attack, an upper bound")
    if config.marks:
        radius = float(table["two_layer_time_radius"])
        how = "exact radii of two-layer networks on raw pixels, maximum read-out, no box"
        made += _time("two_layer_", "two_layer_clean", "mark", "step", radius, how)
    return [*made, _examples(len(table["examples"])), UNIVERSAL]


def _curves(config: ImageSetting, pair: Pair, x: str, unit: str) -> Drawing:
    arrays = {"x": x, "y": "standing"}
    options: dict[str, Any] = LABELS | {"x_label": f"ℓ2 radius in {unit}", "y_label": "robust accuracy (upper bound)"}
    circles = ""
    if pair.published:
        arrays |= {"published_x": "published_x", "published_y": "published_y"}
        options["published_labels"] = ["paper, 2 classes", "paper, 10 classes"]
        circles = f" Circles are the paper's figure, its radii read as {unit}."
    return Drawing("curves", arrays, options=options, band=0.95, within=(0.0, 1.0),
        caption=f"{config.data}, {config.task}: share of test points that no attack turned, best of all attacks per "
        f"point, an upper bound; {READOUT}. {BAND}{circles}")  # fmt: skip


GAP = Drawing(
    "curves", {"x": "radius", "y": "standing_gap"}, band=0.95, within=(-1.0, 1.0),
    caption="Robust accuracy of the fine network minus that of the coarse one, at the same points, best attack for "
    f"each. {BAND}",
    options={"x_label": f"ℓ2 radius in {PIXELS}", "y_label": "fine − coarse", "levels": [[0.0, "no gain"]]},
)  # fmt: skip
CONTROL = Drawing("curves", {"x": "control_radius", "y": "control_standing"},
    caption="The fine network under PGD on 10-way cross-entropy, scored on the binary decision, and under the best "
    "attack on that decision, at the same points. The first one moves points to other classes of the same side: it "
    "levels off above zero, the sign of a failed attack.",
    options={"labels": ["PGD on 10-way cross-entropy", "best attack on the decision"],
             "x_label": f"ℓ2 radius in {PIXELS}", "y_label": "robust accuracy (upper bound)"})  # fmt: skip
UNIVERSAL = Drawing("images", {"images": "universal"},
    caption="The universal perturbation of the first seed: the averaged direction of feature space mapped back to "
    "pixels, one for all images of a label. Grey is no change.",
    options={"rows": ["coarse", "fine"], "columns": ["images of −1", "images of +1"]})  # fmt: skip


def _attacks(kind: str) -> Drawing:
    return Drawing("curves", {"x": "radius", "y": "attack_standing", "labels": "attack"}, at={"network": kind},
        caption=f"The {kind} network under each attack, mean over seeds; best is the smallest perturbation of all at "
        "each point. PGD looks at its own radii only, so its curve falls in steps and ends at the largest.",
        options={"x_label": f"ℓ2 radius in {PIXELS}", "y_label": "robust accuracy (upper bound)"})  # fmt: skip


def _time(prefix: str, clean: str, axis: str, unit: str, radius: float, how: str) -> list[Drawing]:
    at = f"Robust accuracy at ℓ2 radius {radius:.3g}, the coarse networks' median at the end; {how}."
    options: dict[str, Any] = LABELS | {"y_label": f"robust accuracy at {radius:.3g}"}
    accuracy = {"x_label": "clean accuracy of the binary decision", "title": "At equal clean accuracy"}
    return [
        Drawing("curves", {"x": axis, "y": f"{prefix}time_standing"}, band=0.95, within=(0.0, 1.0),
                caption=f"{at} {BAND}",
                options=options | {"x_label": unit, "log_x": unit == "step", "title": "Over training time"}),
        Drawing("curves", {"x": clean, "y": f"{prefix}time_standing"}, band=0.95, within=(0.0, 1.0),
            caption=f"{at} Over the clean accuracy at the same moments of training: at equal height on the horizontal "
            "axis the networks are equally accurate.",
            options=options | accuracy),
    ]  # fmt: skip


def _examples(count: int) -> Drawing:
    return Drawing("images", {"images": "examples"},
        caption="Adversarial examples of the first seed: the smallest perturbation that any attack found. Grey is no "
        "change; perturbations of one row are amplified alike, until the largest change is black or white.",
        options={"rows": [f"image {number + 1}" for number in range(count)],
                 "columns": ["original", "against coarse", "result", "against fine", "result "]})  # fmt: skip


def shared_notes(table: Table, pair: Pair) -> list[str]:
    """What holds of every image chapter."""
    flags = zip(table["seed"], table["flags"], strict=True)
    said = [f"seed {seed}: {flag}" for seed, flag in flags if str(flag)]
    clean = 100 * table.mean("clean")[:, -1]
    return [
        f"Clean accuracy of the binary decision on all test images at the end: coarse {clean[0]:.2f} %, fine "
        f"{clean[1]:.2f} %, mean over seeds.",
        "Every curve of the deep networks is an upper bound of robust accuracy: what no attack here turned may still "
        f"be turned. A radius in normalised units is one in pixels divided by {pair.std:.4g}, the standard deviation "
        "of the training pixels, mean over channels.",
        "Equal clean accuracy: the network that ends less accurate is taken at its end, the other one back to when it "
        "first had that accuracy on all test images, between two saved moments in proportion to accuracy; both at the "
        "coarse network's median radius at the end. equal_accuracy_left is the difference of accuracy that remains "
        "where the other one was more accurate already at the first moment.",
        "What the attacks say against themselves: " + ("; ".join(said) or "nothing") + ".",
    ]
