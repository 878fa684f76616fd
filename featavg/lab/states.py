"""Everything that the page shows of a setting, as JSON values."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from featavg import __version__
from featavg.analysis import alignment, averaging, theory
from featavg.arrays import Array, Ints
from featavg.data import Dataset
from featavg.lab.powers import PowerQuestion
from featavg.lab.run import TEST_POINTS, data_of, groups, run_of
from featavg.lab.sentence import sentence
from featavg.lab.setting import Setting
from featavg.model import Network
from featavg.robustness import (
    Attack,
    Attackable,
    Budget,
    GradientWalk,
    NewtonWalk,
    Question,
    RadiusBracket,
    UniversalDirection,
    ask,
    attack_all,
    robust_accuracy,
    robust_radius,
)
from featavg.show import slice_through
from featavg.training import Trajectory

PLACES = 81  # of a curve
DIGITS = 6  # of drawn numbers; those that are written keep all


def state(setting: Setting, budget: Budget = Budget()) -> dict[str, Any]:  # noqa: B008  (frozen)
    """Train, decompose, attack and prove a setting, and tell it in one sentence.

    What the budget of the search leaves open is told, and drawn as a band.

    >>> small = Setting(clusters=4, dim=10**9, samples=50, steps=20, neurons=4)
    >>> sorted(state(small))
    ['alignment', 'code', 'coefficients', 'curve', 'numbers', 'seconds', 'sentence', 'setting', 'slice',
     'version']
    """
    began = time.perf_counter()
    data, run = data_of(setting), run_of(setting)
    network, test = run.final, data.resample(TEST_POINTS, seed=setting.seed + 1)
    question = _question(setting, network, test)
    brackets = radii_of(setting, question, data.center_labels @ data.centers, budget)
    numbers = _numbers(setting, run, data, brackets)
    return {
        "version": __version__,
        "setting": asdict(setting),
        "code": setting.code,
        "sentence": sentence(setting, numbers),
        "numbers": numbers,
        "alignment": _alignment(setting, network, data),
        "coefficients": _coefficients(setting, run, data),
        "curve": _curve(setting, brackets),
        "slice": _slice(question, brackets, data, test),
        "seconds": time.perf_counter() - began,
    }


def _question(setting: Setting, network: Network, test: Dataset) -> Attackable:
    read = network.reading("maximum") if setting.labels > 2 else network
    if setting.power == 1:
        return ask(read, test.x, test.y)
    return PowerQuestion(read, test.x, (test.y > 0).astype(np.int64), read.readout)


def radii_of(setting: Setting, question: Attackable, direction: Array, budget: Budget) -> dict[str, RadiusBracket]:
    """What is known of the radii of the test points: proved where the activation is ReLU, and by attacks.

    `direction` (axis,) is the theorem's, Σ_{J+} μ_j − Σ_{J-} μ_j.
    """
    universal = UniversalDirection(direction=direction / setting.clusters)  # about √(d/k) long, the scale of the search
    attacks: dict[str, Attack] = {"gradient walk": GradientWalk(restarts=1), "universal direction": universal}
    if setting.power > 1:
        return attack_all(question, attacks | {"Newton walk": NewtonWalk()})
    assert isinstance(question, Question)
    exact = robust_radius(
        question.network, question.x, question.y, readout=question.readout, budget=budget, proofs=False
    )
    return {"exact": exact, **{name: attack.on(question) for name, attack in attacks.items()}}


def neuron_labels(setting: Setting, network: Network) -> Ints:
    """The trained label of each neuron as a number from 0: (neuron,)."""
    own = network.neuron_class
    return (own < 0).astype(np.int64) if setting.labels == 2 else own


def _numbers(setting: Setting, run: Trajectory, data: Dataset, brackets: Mapping[str, RadiusBracket]) -> dict[str, Any]:
    best = brackets.get("exact", brackets.get("best"))
    assert best is not None
    signs = neuron_signs(setting, run.final, data)
    found = averaging(run.final.weights, signs, data.centers, data.center_labels)
    expected = theory.Setting(setting.clusters, setting.dim, noise=setting.noise, samples=setting.samples)
    proved = "exact" in brackets
    return {
        "index": _or_none(found.median_index),
        "accuracy": float((best.upper > 0).mean()),
        "median": _or_none(float(np.median(best.upper))),
        "median_lower": float(np.median(best.lower)) if proved else None,
        "exact": int(sum(status == "exact" for status in best.status)) if proved else 0,
        "points": len(best),
        "averaging_radius": None if setting.correlation else theory.averaging_radius(expected),
        "optimal_radius": None if setting.correlation else theory.optimal_radius(expected),
        "loss": _or_none(float(run.losses[-1])),
        "status": run.status,
    }


def neuron_signs(setting: Setting, network: Network, data: Dataset) -> Ints:
    """The coarse class, -1 or +1, of each neuron: (neuron,)."""
    own = network.neuron_class
    if setting.labels == 2:
        return own
    group = groups(data.center_labels, setting.labels)
    return np.array([data.center_labels[group == label][0] for label in own])


def _alignment(setting: Setting, network: Network, data: Dataset) -> dict[str, Any]:
    return {
        "values": _drawn(alignment(network, data.centers)),
        "rows": neuron_labels(setting, network).tolist(),
        "columns": groups(data.center_labels, setting.labels).tolist(),
    }


def _coefficients(setting: Setting, run: Trajectory, data: Dataset) -> dict[str, Any]:
    """λ_j(t) of one neuron = α‖μ_j‖² Σ_{i in cluster j} C_i(t); all lines, and which are of its label and class."""
    number = min(setting.neuron, run.final.neurons - 1)
    assert run.coefficients is not None, "the engine keeps coefficients"
    squares = np.einsum("ij,ij->i", data.centers, data.centers)
    lines = data.signal * squares * (run.coefficients[:, :, number] @ data.membership)  # (time, cluster)
    label = neuron_labels(setting, run.final)[number]
    own = groups(data.center_labels, setting.labels) == label
    same = data.center_labels == neuron_signs(setting, run.final, data)[number]
    kinds = np.where(own, "own label", np.where(same, "own class", "other class"))
    return {"steps": run.steps.tolist(), "lines": _drawn(lines.T), "kinds": kinds.tolist(), "neuron": number}


def _curve(setting: Setting, brackets: Mapping[str, RadiusBracket]) -> dict[str, Any]:
    expected = theory.Setting(setting.clusters, setting.dim, noise=setting.noise, samples=setting.samples)
    best = theory.optimal_radius(expected)
    largest = max(float(np.median(b.upper)) for b in brackets.values())
    end = 1.3 * max(best, min(largest, 3 * best))
    radii = np.linspace(0.0, end, PLACES)
    lines = []
    for name, bracket in brackets.items():
        found = robust_accuracy(bracket, radii)
        proved = name == "exact"
        text = name if proved else f"{name} (upper bound)"
        line = {"name": text, "kind": "exact" if proved else "attack", "y": _drawn(found.upper)}
        lines.append({**line, "lower": _drawn(found.lower)} if proved and (found.lower < found.upper).any() else line)
    marks = []
    if not setting.correlation:
        marks = [
            {"x": theory.averaging_radius(expected), "name": "√(d/k), averaging"},
            {"x": best, "name": "√(d/2), best possible"},
        ]
        if setting.labels == 2 and setting.power == 1 and setting.noise > 0:
            predicted = theory.averaging_accuracy(expected, radii)
            lines.append({"name": "theory of averaging", "kind": "theory", "y": _drawn(predicted)})
    return {"radii": _drawn(radii), "lines": lines, "marks": marks}


def _slice(
    question: Attackable, brackets: Mapping[str, RadiusBracket], data: Dataset, test: Dataset
) -> dict[str, Any] | None:
    """The plane through the test point whose radius is the median one; none if all points are fooled as they are."""
    best = brackets.get("exact", brackets.get("best"))
    assert best is not None
    alive = np.flatnonzero(best.upper > 0)
    if not len(alive):
        return None
    point = int(alive[np.argsort(best.upper[alive], kind="stable")[len(alive) // 2]])
    sign = test.y[point]
    other = data.centers[data.center_labels != sign]
    nearest = other[np.argmin(((other - test.x[point]) ** 2).sum(axis=1))]
    found = slice_through(question, point, best.witness[point], -sign * (data.center_labels @ data.centers), nearest)
    scale = float(np.abs(found.margins).max()) or 1.0
    return {
        "places": _drawn(found.places),
        "margins": _drawn(found.margins / scale, 3),
        "boundary": [_drawn(line) for line in found.boundary],
        "witness": None if found.witness is None else found.witness.tolist(),
        "radius": _or_none(float(best.upper[point])),
        "universal": found.universal,
        "point": point,
    }


def _or_none(value: float) -> float | None:
    """A number as JSON knows it: none where there is no finite one."""
    return value if np.isfinite(value) else None


def _drawn(values: Array, digits: int = DIGITS) -> Any:
    """Numbers of a picture, with few digits; what is not finite is left out of it."""
    found = np.asarray(values, dtype=np.float64)
    size = np.floor(np.log10(np.abs(found), where=found != 0, out=np.zeros_like(found)))
    factor = 10.0 ** (digits - 1 - np.clip(size, -250, 250))
    rounded = np.where(np.isfinite(found), np.round(found * factor) / factor, 0.0)
    return rounded.tolist()
