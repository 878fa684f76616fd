"""Networks from elsewhere say the same thing in our words."""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.neural_network import MLPClassifier

from featavg import BinaryNetwork, InputError, as_network
from featavg.registry import Registry

rng = np.random.default_rng(0)
X = rng.standard_normal((60, 5))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("classes", [2, 3])
def test_a_scikit_learn_network_keeps_its_probabilities(classes: int) -> None:
    model = MLPClassifier((7,), max_iter=30, random_state=0).fit(X, rng.integers(classes, size=60))
    network = as_network(model)
    if classes == 2:
        assert network.readout.name == "sign"
        assert_allclose(1 / (1 + np.exp(-network.score(X))), model.predict_proba(X)[:, 1], rtol=1e-9)
    else:
        assert network.readout.name != "sign"
        assert_allclose(network.probabilities(X), model.predict_proba(X), rtol=1e-9)
        assert_array_equal(network.predict(X), model.predict(X))


@pytest.mark.parametrize(("outputs", "bias"), [(1, True), (3, True), (3, False)])
def test_a_torch_network_keeps_its_outputs(outputs: int, bias: bool) -> None:
    model = torch.nn.Sequential(
        torch.nn.Linear(5, 8, bias=bias), torch.nn.ReLU(), torch.nn.Linear(8, outputs, bias=bias)
    ).double()
    network = as_network(model)
    assert network.readout.name == ("sign" if outputs == 1 else "argmax")
    assert_allclose(network.outputs(X), model(torch.tensor(X)).detach().numpy(), rtol=1e-12, atol=1e-12)


def test_our_own_networks_pass_through() -> None:
    network = as_network((np.eye(5)[:2], [0, 0], [1.0, -1.0], 0.5))
    assert as_network(network) is network
    assert_allclose(network.outputs(X)[:, 0], np.maximum(X[:, 0], 0) - np.maximum(X[:, 1], 0) + 0.5)


@pytest.mark.parametrize(
    ("model", "complaint"),
    [
        (MLPClassifier(), "this MLPClassifier is not fitted"),
        (
            torch.nn.Sequential(torch.nn.Linear(5, 2), torch.nn.ReLU()),
            "of Linear, ReLU: a network needs a linear layer before the end",
        ),
        (
            torch.nn.Sequential(torch.nn.Linear(5, 2), torch.nn.Tanh(), torch.nn.Linear(2, 1)),
            "cannot read a torch module with a Tanh; supported is a chain of Linear, ReLU",
        ),
        ("a network", "cannot read a str"),
        ((np.eye(5), [0.0]), "cannot read a tuple"),
        ((np.eye(5), np.zeros(5), np.ones((1, 4)), [0.0]), "second must have 5 columns, got 4"),
    ],
)
def test_what_cannot_be_read_is_named_with_what_can(model: Any, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        as_network(model)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_other_activations_of_scikit_learn_are_refused() -> None:
    model = MLPClassifier(max_iter=2, random_state=0, activation="tanh").fit(X, rng.integers(2, size=60))
    with pytest.raises(InputError, match="needs ReLU hidden layers, got tanh"):
        as_network(model)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_networks_of_any_depth_keep_their_outputs_and_labels() -> None:
    names = np.array(["benign", "malignant"])[rng.integers(2, size=60)]
    model = MLPClassifier((6, 4), max_iter=20, random_state=0).fit(X, names)
    network = as_network(model)
    assert len(network.layers) == 3
    assert_array_equal(network.predict(X), model.predict(X))
    deep = torch.nn.Sequential(
        torch.nn.Linear(5, 4), torch.nn.ReLU(), torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Linear(4, 3)
    ).double()
    assert_allclose(as_network(deep).outputs(X), deep(torch.tensor(X)).detach().numpy(), rtol=1e-12, atol=1e-12)
    linear = torch.nn.Linear(5, 1).double()
    assert_allclose(as_network(linear).score(X), linear(torch.tensor(X)).detach().numpy()[:, 0], rtol=1e-12, atol=1e-12)


def test_a_new_library_is_a_new_module(monkeypatch: pytest.MonkeyPatch) -> None:
    """The package of the model's type, or of a type it derives from, names the adapter."""
    from fractions import Fraction

    from featavg.model import adapters

    class Strange(Fraction):
        pass

    monkeypatch.setattr(adapters, "ADAPTERS", Registry())
    with pytest.raises(InputError, match="register_adapter"):
        as_network(Strange(1, 2))
    reader = ModuleType("strange_reader")
    reader.read = lambda model: BinaryNetwork([[float(model)]], [0.0], [[1.0]], [0.0])  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "strange_reader", reader)
    adapters.register_adapter("fractions", "strange_reader")
    assert as_network(Strange(1, 2)).score([[3.0]]).tolist() == [1.5]


def test_neither_library_is_imported_by_reading() -> None:
    code = "import sys, featavg; featavg.as_network(([[1.0]], [0.0], [[1.0]], [0.0])); print('torch' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"
