"""Which of the paper's assumptions hold, number by number."""

from __future__ import annotations

import numpy as np
import pytest

from featavg import BinaryNetwork, GradientDescent, assumptions, sample_clusters
from featavg.analysis import Assumption


def by_name(*args: object, **kwargs: object) -> dict[str, Assumption]:
    return {check.name: check for check in assumptions(*args, **kwargs)}  # type: ignore[arg-type]


def test_the_papers_own_experiment_meets_the_geometry_and_not_the_sizes() -> None:
    checks = by_name(sample_clusters(seed=0))
    holding = [name for name, check in checks.items() if check.holds]
    assert holding == ["orthogonal centers", "equal norms √d", "balanced classes", "width", "initial weights"]
    assert checks["dimension"].low == 10**10
    assert checks["samples"].low == 10**7
    assert checks["step size"].value == pytest.approx(1e-3)
    assert checks["training time"].high == pytest.approx(np.exp(np.sqrt(10)))


@pytest.mark.parametrize("positive", [2, 8])
def test_other_geometries_are_seen(positive: int) -> None:
    checks = by_name(sample_clusters(clusters=10, positive=positive, correlation=0.3, norms=50.0, samples=20))
    assert checks["orthogonal centers"].value == pytest.approx(0.3)
    assert checks["equal norms √d"].value == pytest.approx(1 - 50 / np.sqrt(3072))
    assert checks["balanced classes"].value == pytest.approx(0.2)
    assert not any(checks[name].holds for name in ("orthogonal centers", "equal norms √d", "balanced classes"))


def test_numbers_come_from_the_rule_and_the_network() -> None:
    data = sample_clusters(clusters=2, dim=2000, samples=200, seed=0)
    rule = GradientDescent(step_size=1e-7, steps=10**8)
    network = BinaryNetwork.random(data, 2, scale=1e-9)
    checks = by_name(data, neurons_per_class=2, rule=rule, network=network)
    assert checks["initial weights"].value == pytest.approx(1e-18, rel=0.1)
    assert checks["step size"].holds
    assert checks["dimension"].holds  # 2¹⁰ = 1024
    assert checks["samples"].holds  # 2⁷ = 128
    assert not checks["training time"].holds
    assert by_name(data, scale=3.0)["initial weights"].value == 9.0


def test_any_dimension_can_be_asked_about() -> None:
    checks = by_name(sample_clusters(clusters=4, dim=10**12, samples=50))
    assert checks["dimension"].holds
    assert np.isfinite(checks["samples"].high)


def test_a_bound_is_met_up_to_rounding_and_read_aloud() -> None:
    edge = Assumption("size", "somewhere", 1.0 + 1e-12, 0.0, 1.0)
    assert edge.holds
    assert str(edge) == "size (somewhere): 0 <= 1 <= 1 holds"
    assert str(Assumption("size", "somewhere", 2.0, 0.0, 1.0)).endswith("fails")
