"""What the records of the image claims show."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from featavg.arrays import Array
from featavg.experiments._images.attacks import ATTACKS, control_radii
from featavg.experiments._images.gaps import NETWORKS, Found, matched, median_radius
from featavg.record import Drawing, interval

if TYPE_CHECKING:
    from featavg.experiments._images.robustness import ImageSetting, Subject

READOUT = "the ten-class network is read out by summed probabilities"
BAND = "Bands are 95 % intervals over seeds."


def curves_of(config: ImageSetting, subject: Subject, found: Found) -> dict[str, Array]:
    """Curves, gaps and times as the drawings take them, from upper bounds (seed, point)."""
    radii = config.radii
    arrays: dict[str, Array] = {"radii": radii, "radii_normalised": radii / subject.std}
    standing = {}
    for kind in NETWORKS:
        standing[kind] = _standing(found[f"{kind}_best"], radii)
        arrays[f"{kind}_attacks"] = np.stack(
            [_standing(found[f"{kind}_{name}"], radii).mean(axis=0) for name in ATTACKS]
        )
    arrays |= _with_band("best", np.stack([standing[kind] for kind in NETWORKS]), 0.0)
    arrays |= _with_band("gap", (standing["fine"] - standing["coarse"])[None], -1.0)
    shown = found["control"].shape[1]
    few = control_radii(config)
    arrays["control_radii"] = few
    arrays["control_curves"] = np.stack(
        [_standing(upper, few).mean(axis=0) for upper in (found["control"], found["fine_best"][:, :shown])]
    )
    arrays["moments"] = np.array(config.moments)
    arrays |= _over_time("", found, "over_time")
    if config.marks:
        arrays["marks"] = np.array(config.marks)
        arrays |= _over_time("two_layer_", found, "upper")
    if subject.published:
        for kind in NETWORKS:
            assert list(subject.published[kind]) == list(subject.published["coarse"])
        arrays["published_x"] = np.array(list(subject.published["coarse"]))
        arrays["published_y"] = np.array([list(subject.published[kind].values()) for kind in NETWORKS])
    return arrays


def _standing(upper: Array, radii: Array) -> Array:
    """Robust accuracy (seed, radius)."""
    return np.mean(upper[:, :, None] > radii, axis=1)


def _over_time(prefix: str, found: Found, name: str) -> dict[str, Array]:
    """Robust accuracy at each moment, at one radius: the coarse network's final median, its mean over seeds."""
    upper = {kind: found[f"{prefix}{kind}_{name}"] for kind in NETWORKS}  # (seed, moment, point)
    radius = float(median_radius(upper["coarse"][:, -1]).mean())
    lines = np.stack([np.mean(upper[kind] > radius, axis=2) for kind in NETWORKS])
    clean = np.stack([found[f"{prefix}{kind}_clean"].mean(axis=0) for kind in NETWORKS])
    matched_at, left = matched(found, prefix, name)
    return _with_band(f"{prefix}time", lines, 0.0) | {
        f"{prefix}time_clean": clean,
        f"{prefix}time_radius": np.array(radius),
        f"{prefix}matched_gap": matched_at.mean(axis=1),
        f"{prefix}matched_left": left,
    }


def _with_band(name: str, lines: Array, least: float) -> dict[str, Array]:
    """Mean (line, place) over the seeds of (line, seed, place), with its 95 % interval inside [least, 1]."""
    ends = np.array([[interval(place, 0.95) for place in line.T] for line in lines])
    return {f"{name}_mean": lines.mean(axis=1), f"{name}_low": ends[..., 0].clip(least, 1.0),
            f"{name}_high": ends[..., 1].clip(least, 1.0)}  # fmt: skip


def drawings(config: ImageSetting, subject: Subject, arrays: Mapping[str, Array]) -> list[Drawing]:
    """All drawings of a record, from its arrays."""
    made = [_curves(config, subject, "radii", "pixels of [0, 1]")]
    if subject.published:
        made.append(_curves(config, subject, "radii_normalised", f"normalised units (pixels / {subject.std:.4g})"))
    made += [_gap(), *(_attacks(kind) for kind in NETWORKS), _control()]
    made += _time("", "moments", "epoch", float(arrays["time_radius"]), "minimal-norm attack, an upper bound")
    if config.marks:
        radius = float(arrays["two_layer_time_radius"])
        how = "exact radii of two-layer networks on raw pixels, maximum read-out, no box"
        made += _time("two_layer_", "marks", "step", radius, how)
    return made + _pictures(len(arrays["examples"]))


def _curves(config: ImageSetting, subject: Subject, x: str, unit: str) -> Drawing:
    arrays = {"x": x, "y": "best_mean", "lower": "best_low", "upper": "best_high"}
    options: dict[str, Any] = {"labels": ["coarse labels", "fine labels"]}
    circles = ""
    if subject.published:
        arrays |= {"published_x": "published_x", "published_y": "published_y"}
        options["published_labels"] = ["paper, 2 classes", "paper, 10 classes"]
        circles = f" Circles are the paper's figure, its radii read as {unit}."
    return Drawing(
        "curves",
        arrays,
        caption=f"{config.data}, {config.task}: share of test points that no attack turned, best of all attacks per "
        f"point, an upper bound; {READOUT}. {BAND}{circles}",
        options=options | {"x_label": f"ℓ2 radius in {unit}", "y_label": "robust accuracy (upper bound)"},
    )


def _gap() -> Drawing:
    return Drawing(
        "curves",
        {"x": "radii", "y": "gap_mean", "lower": "gap_low", "upper": "gap_high"},
        caption="Robust accuracy of the fine network minus that of the coarse one, at the same points, best attack for "
        f"each. {BAND}",
        options={"x_label": "ℓ2 radius in pixels of [0, 1]", "y_label": "fine − coarse", "levels": [[0.0, "no gain"]]},
    )


def _attacks(kind: str) -> Drawing:
    return Drawing(
        "curves",
        {"x": "radii", "y": f"{kind}_attacks"},
        caption=f"The {kind} network under each attack, mean over seeds; best is the smallest perturbation of all at "
        "each point. PGD looks at its own radii only, so its curve falls in steps and ends at the largest.",
        options={
            "labels": [name.replace("_", " ") for name in ATTACKS],
            "x_label": "ℓ2 radius in pixels of [0, 1]",
            "y_label": "robust accuracy (upper bound)",
        },
    )


def _control() -> Drawing:
    return Drawing(
        "curves",
        {"x": "control_radii", "y": "control_curves"},
        caption="The fine network under PGD on 10-way cross-entropy, scored on the binary decision, and under the best "
        "attack on that decision, at the same points. The first one moves points to other classes of the same side: it "
        "levels off above zero, the sign of a failed attack.",
        options={
            "labels": ["PGD on 10-way cross-entropy", "best attack on the decision"],
            "x_label": "ℓ2 radius in pixels of [0, 1]",
            "y_label": "robust accuracy (upper bound)",
        },
    )


def _time(prefix: str, x: str, unit: str, radius: float, how: str) -> list[Drawing]:
    lines: Mapping[str, str] = {"y": f"{prefix}time_mean", "lower": f"{prefix}time_low", "upper": f"{prefix}time_high"}
    options: dict[str, Any] = {
        "labels": ["coarse labels", "fine labels"],
        "y_label": f"robust accuracy at {radius:.3g}",
    }
    at = f"Robust accuracy at ℓ2 radius {radius:.3g}, the coarse networks' median at the end; {how}."
    return [
        Drawing(
            "curves",
            {"x": x, **lines},
            caption=f"{at} {BAND}",
            options=options | {"x_label": unit, "log_x": unit == "step", "title": "Over training time"},
        ),
        Drawing(
            "curves",
            {"x": f"{prefix}time_clean", **lines},
            caption=f"{at} Over the clean accuracy at the same moments of training: at equal height on the horizontal "
            "axis the networks are equally accurate.",
            options=options | {"x_label": "clean accuracy of the binary decision", "title": "At equal clean accuracy"},
        ),
    ]


def _pictures(examples: int) -> list[Drawing]:
    return [
        Drawing(
            "images",
            {"images": "examples"},
            caption="Adversarial examples of the first seed: the smallest perturbation that any attack found. Grey is "
            "no change; perturbations of one row are amplified alike, until the largest change is black or white.",
            options={
                "rows": [f"image {number + 1}" for number in range(examples)],
                "columns": ["original", "against coarse", "result", "against fine", "result "],
            },
        ),
        Drawing(
            "images",
            {"images": "universal"},
            caption="The universal perturbation of the first seed: the averaged direction of feature space mapped back "
            "to pixels, one for all images of a label. Grey is no change.",
            options={"rows": ["coarse", "fine"], "columns": ["images of −1", "images of +1"]},
        ),
    ]
