"""What the exact search costs as networks grow: 20, 60 and 200 hidden neurons trained on digits and on MNIST parity.

python -m benchmarks width      writes results/benchmarks/width.json
"""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier

import featavg as fa
from featavg.data import Dataset, load_images
from featavg.record import Claim, Drawing, Evidence, Provenance, Record, Table, write_record

WIDTHS = (20, 60, 200)
SETS = ("digits", "mnist")
SECONDS = 1.0  # what one point may cost
TRAINING_POINTS = 10_000
POINTS = 1000  # test points for the narrow networks, a tenth of them for the wide one


def network(data: Dataset, width: int) -> MLPClassifier:
    """A scikit-learn classifier as a user would train it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return MLPClassifier((width,), max_iter=30, random_state=0).fit(data.x, data.y)


def measure(name: str, width: int, points: int) -> dict[str, Any]:
    """CPU seconds and bracket of each correctly classified test point, one at a time."""
    data = load_images(name, "train", samples=None if name == "digits" else TRAINING_POINTS)
    test = load_images(name, "test")
    model = network(data, width)
    right = np.flatnonzero(model.predict(test.x) == test.y)[:points]
    budget = fa.Budget(nodes=10**9, seconds=SECONDS)
    seconds, ratio, radius = np.empty(len(right)), np.empty(len(right)), np.empty(len(right))
    closed = 0
    for number, i in enumerate(right):
        began = time.process_time()
        bracket = fa.robust_radius(model, test.x[i : i + 1], test.y[i : i + 1], budget=budget, proofs=False)
        seconds[number] = time.process_time() - began
        ratio[number] = bracket.upper[0] / max(bracket.lower[0], 1e-12)
        radius[number] = bracket.upper[0]
        closed += bracket.status[0] == "exact"
    quantiles = f"median {np.median(seconds) * 1e3:.1f} ms, 99 % {np.quantile(seconds, 0.99):.2f} s"
    print(f"{name} {width}: {quantiles}, closed {closed}/{len(right)}, upper/lower {np.median(ratio):.4f}", flush=True)
    return {"seconds": seconds, "ratio": ratio, "radius": radius, "closed": closed / len(right), "points": len(right)}


def claims(name: str, small: dict[str, Any], middle: dict[str, Any], large: dict[str, Any]) -> list[Claim]:
    """The targets for one data set."""
    fields = {"source": "benchmark", "tolerance": 0.0, "tolerance_reason": "the target"}
    return [
        Claim.exact(
            small["closed"],
            f"{name}, 20 neurons: every point is closed.",
            expected=1.0,
            relation="at least",
            how=f"share of {small['points']} test points, {SECONDS:g} CPU s each",
            **fields,
        ),
        Claim.exact(
            float(np.median(small["seconds"])),
            f"{name}, 20 neurons: a point takes 5 ms.",
            expected=0.005,
            relation="at most",
            unit="s",
            how="median CPU seconds, one point at a time",
            **fields,
        ),
        Claim.exact(
            middle["closed"],
            f"{name}, 60 neurons: 99 % of the points are closed within a second.",
            expected=0.99,
            relation="at least",
            how=f"share of {middle['points']} test points",
            **fields,
        ),
        Claim.exact(
            float(np.median(large["ratio"])),
            f"{name}, 200 neurons: brackets are tight to 5 % in a second.",
            expected=1.05,
            relation="at most",
            how=f"median upper/lower of {large['points']} test points",
            **fields,
        ),
    ]


def main() -> None:
    """Measure all, write the record, print the verdicts."""
    began = time.perf_counter()
    counts = {20: POINTS, 60: POINTS, 200: POINTS // 10}
    found = {(name, width): measure(name, width, counts[width]) for name in SETS for width in WIDTHS}
    arrays: dict[str, Any] = {"widths": np.array(WIDTHS)}
    for (name, width), row in found.items():
        arrays |= {f"{name}_{width}_{key}": row[key] for key in ("seconds", "ratio", "radius")}
    arrays["quantiles"] = np.array(
        [[np.quantile(found[name, width]["seconds"], q) for width in WIDTHS] for name in SETS for q in (0.5, 0.99)]
    )
    drawing = Drawing(
        "scaling",
        {"x": "widths", "y": "quantiles"},
        caption="CPU seconds of the exact search for one point over the number of hidden neurons, median and 99th "
        f"percentile. A point may cost {SECONDS:g} s; what is not closed by then keeps an honest bracket.",
        options={
            "labels": [f"{name}, {which}" for name in SETS for which in ("median", "99 %")],
            "x_label": "hidden neurons",
            "y_label": "CPU seconds per point",
        },
    )
    hardest = Drawing(
        "scaling",
        {"x": "mnist_60_radius", "y": "mnist_60_seconds"},
        caption="CPU seconds of the exact search over the radius it finds, one marker a point: 60 neurons, MNIST "
        "parity. Far points cost more, since more neurons can switch on the way.",
        options={"labels": ["a test point"], "x_label": "ℓ2 radius in pixels of [0, 1]", "y_label": "CPU seconds"},
    )
    record = Record(
        name="width",
        title="What the exact search costs as networks grow",
        config={"widths": WIDTHS, "points": counts[20], "seconds": SECONDS, "training_points": TRAINING_POINTS},
        seeds=(0,),
        claims=tuple(claim for name in SETS for claim in claims(name, *(found[name, width] for width in WIDTHS))),
        evidence=Evidence(
            Table.of(arrays),
            (drawing, hardest),
            provenance=Provenance(seconds=round(time.perf_counter() - began, 1)),
        ),
    )
    print(write_record(record, Path("results/benchmarks")))
    for claim in record.claims:
        print(claim.verdict, claim.text, claim.measured)


if __name__ == "__main__":
    main()
