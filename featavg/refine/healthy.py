"""A diagnosis as a result: what a classifier without averaging would satisfy, claim by claim, with figures in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from featavg.arrays import Ints
from featavg.intervals import bootstrap_ratio
from featavg.record import Claim, Column, Drawing, Evidence, Provenance, Result, Table
from featavg.refine.choice import WORTH

if TYPE_CHECKING:
    from featavg.refine.diagnosis import Diagnosis

MOST_ROWS = 40  # of the alignment matrix that are drawn
UNIVERSAL = 1.5  # a common direction that needs no more than this times the attack's radius is nearly as good


def result_of(found: Diagnosis) -> Result:
    """Return the result of a diagnosis: a claim that fails is a finding about the classifier."""
    shown = _shown(found)
    flips = np.stack([found.flips.attack, found.flips.universal, found.flips.chance])
    columns = {
        "alignment": Column(found.averages.alignment[shown], ("row", "subclass"), "cosine with centred means"),
        "flipped": Column(flips, ("perturbation", "radius"), "share of points that are flipped"),
        "fragile": Column(found.fragile, ("rank",), "the most fragile points"),
        "attack": Column(found.attack, ("measured",), "radius under attack, an upper bound"),
    }
    perturbations = ["attack", "common direction", "random direction"]
    table = Table(columns, {"radius": found.flips.radii, "perturbation": perturbations})
    notes = (
        f"The most fragile points, by their row in the data: {', '.join(map(str, found.fragile.tolist()))}.",
        "Radii under attack are upper bounds of the true ones, by a Newton walk; the true ones are bracketed at "
        f"{len(found.exact_upper)} points. Null of the p-value: a random direction in the span of the centred "
        "sub-class means of its class. Sub-classes that were not given are found on one half and tested on the "
        "other; gains are trained on one half and measured on the other.",
    )
    evidence = Evidence(table, _drawings(found, shown), notes, Provenance(seconds=found.seconds))
    settings = {"seed": found.seed}
    return Result("diagnosis", found.verdict, tuple(found.table()), settings, _claims(found), evidence)


def _claims(found: Diagnosis) -> tuple[Claim, ...]:
    flip = found.flips
    if not np.isfinite(flip.ratio):
        return (*_index_claim(found), *_labels_claim(found))
    direction = Claim(
        "One common direction is much weaker than an attack made for each point.",
        source="universal averaged direction", expected=UNIVERSAL, measured=flip.ratio,
        interval=flip.ratio_interval, tolerance=0.0, tolerance_reason="half as long again is much weaker",
        relation="at least", how="ratio of median radii over right points, bootstrap interval",
    )  # fmt: skip
    return (*_index_claim(found), direction, *_labels_claim(found))


def _labels_claim(found: Diagnosis) -> tuple[Claim, ...]:
    """The claim about finer labels, none where there are no sub-classes to name."""
    if not found.per_class.max() > 1:
        return ()
    ratio, interval = found.gain.surest
    claim = Claim(
        "Finer labels would not raise the robust radius.",
        source="refined on one half, measured on the other", expected=WORTH, measured=ratio, interval=interval,
        tolerance=0.0, tolerance_reason="less than 5 % is not worth new labels", relation="at most",
        how="mean radius over that of this model or over that of coarse labels, whichever grew less surely; "
        f"{found.gain.subclasses} sub-classes per class",
    )  # fmt: skip
    return (claim,)


def _index_claim(found: Diagnosis) -> tuple[Claim, ...]:
    """The claim about averaging, none where no class has two sub-classes."""
    index = found.averages.index[np.isfinite(found.averages.index)]
    if not len(index):
        return ()
    spread = bootstrap_ratio(index, np.ones(len(index)), np.median, np.random.default_rng(found.seed))[1]
    claim = Claim(
        "The weights of a class do not hold all of its sub-classes alike.",
        source="averaging index", expected=0.5, measured=found.averages.median_index, interval=spread,
        tolerance=0.0, tolerance_reason="0.5 is half way between decoupled and averaging", relation="at most",
        how=f"median over {len(index)} rows, bootstrap interval; p = {found.averages.p_value:.2g}",
    )  # fmt: skip
    return (claim,)


def _shown(found: Diagnosis) -> Ints:
    """Rows to draw, by class: all of them, or evenly chosen ones."""
    order = np.argsort(found.row_class, kind="stable")
    return order[np.linspace(0, len(order) - 1, min(len(order), MOST_ROWS)).round().astype(np.int64)]


def _drawings(found: Diagnosis, shown: Ints) -> tuple[Drawing, ...]:
    row_blocks = np.flatnonzero(np.diff(found.row_class[shown])) + 1
    column_blocks = np.flatnonzero(np.diff(found.class_of)) + 1
    return (
        Drawing(
            "heatmap", {"values": "alignment"},
            caption="Cosine of each row of weights with the centred mean of each sub-class. Blocks of one colour are "
            "averages; single bright cells are features learned by themselves.",
            options={"rows": "row of weights", "columns": "sub-class", "row_blocks": row_blocks.tolist(),
                     "column_blocks": column_blocks.tolist()},
        ),
        Drawing(
            "curves", {"x": "radius", "y": "flipped", "labels": "perturbation"},
            caption="Share of points that a perturbation of each size flips: an attack made for each point, one common "
            "direction per class (towards the average of the others), and random directions.",
            options={"x_label": "ℓ2 size", "y_label": "share misclassified"},
        ),
    )  # fmt: skip
