"""What a state says, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from featavg.lab.setting import Setting

AVERAGES, DECOUPLED = 0.8, 0.2  # of the averaging index


def sentence(setting: Setting, numbers: Mapping[str, Any]) -> str:
    """One or two sentences on what the neurons hold and how far the decision stands.

    >>> sentence(Setting(), {"status": "finished", "index": 0.97, "accuracy": 1.0, "median": 17.6, "exact": 200,
    ...     "points": 200, "averaging_radius": 17.5, "optimal_radius": 39.2, "median_lower": 17.6})
    'After 100 steps on 2 labels every neuron holds the average of its class (index 0.97). Half of the test points are
    fooled within 17.6, proved point by point; averaging breaks at √(d/k) = 17.5, and the best possible at the centers
    is √(d/2) = 39.2.'
    """
    if numbers["status"] != "finished":
        return f"Training did not end well: {numbers['status']}. Lower the step size."
    return f"{_learned(setting, numbers)} {_stands(setting, numbers)}"


def _learned(setting: Setting, numbers: Mapping[str, Any]) -> str:
    begin = f"After {setting.steps} step{'s' if setting.steps > 1 else ''} on {setting.labels} labels"
    index = numbers["index"]
    told = "" if index is None else f"(index {abs(index) if abs(index) < 0.005 else index:.2f})"
    if index is None:
        return f"{begin} there is nothing to average, since a class has one feature."
    if index > AVERAGES:
        return f"{begin} every neuron holds the average of its class {told}."
    if index < DECOUPLED:
        return f"{begin} neurons hold single features, not their average {told}."
    return f"{begin} neurons hold some features of their class more than others {told}."


def _stands(setting: Setting, numbers: Mapping[str, Any]) -> str:
    if numbers["accuracy"] < 0.6:
        return f"It does not classify yet: {numbers['accuracy']:.0%} of the test points are right."
    if numbers["median"] is None:
        return "No attack has found a way to fool half of the test points."
    how = _how(setting, numbers)
    half = f"Half of the test points are fooled within {_short(numbers['median'])}, {how}"
    if numbers["averaging_radius"] is None:
        return f"{half}; for correlated centers there is no closed form to compare with."
    theory, best = _short(numbers["averaging_radius"]), _short(numbers["optimal_radius"])
    return f"{half}; averaging breaks at √(d/k) = {theory}, and the best possible at the centers is √(d/2) = {best}."


def _how(setting: Setting, numbers: Mapping[str, Any]) -> str:
    if setting.power > 1:
        return "an upper bound by attacks, since nothing is proved for powers above 1"
    if numbers["exact"] == numbers["points"]:
        return "proved point by point"
    return f"proved at {numbers['exact']} of {numbers['points']} points in the time of a drag"


def _short(value: float) -> str:
    """Three digits.

    >>> _short(17.529), _short(316227.77)
    ('17.5', '316000')
    """
    return f"{float(f'{value:.3g}'):.10g}"
