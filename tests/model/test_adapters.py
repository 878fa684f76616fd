"""Models as people have them: pipelines, modules of their own, ONNX and skops files; each says what it said before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import skops.io
import torch
from numpy.testing import assert_allclose, assert_array_equal
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import LinearSVC
from torch import nn
from torch.nn import functional

from featavg import InputError, SubclassClassifier, as_network, load_network, robust_radius, save_network
from featavg.model import read_about
from featavg.refine import read_decision
from featavg.robustness import ask

RNG = np.random.default_rng(0)
X = RNG.standard_normal((80, 6)) * np.array([1.0, 5.0, 0.1, 2.0, 1.0, 30.0]) + 3.0
TWO = np.array(["no", "yes"])[(X[:, 0] + X[:, 1] > 6).astype(int)]
THREE = np.digitize(X[:, 1], [0.0, 5.0])
SCALERS = [
    StandardScaler(),
    StandardScaler(with_mean=False),
    StandardScaler(with_std=False),
    MinMaxScaler((-1, 2)),
    MaxAbsScaler(),
    RobustScaler(),
    PCA(4),
    PCA(3, whiten=True),
    TruncatedSVD(3),
    FunctionTransformer(),
    "passthrough",
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("scaler", SCALERS, ids=str)
def test_a_pipeline_of_affine_steps_keeps_its_decisions_on_raw_points(scaler: Any) -> None:
    model = make_pipeline(scaler, MLPClassifier((7,), max_iter=40, random_state=0)).fit(X, TWO)
    network = as_network(model)
    assert network.inputs == X.shape[1]
    assert_allclose(1 / (1 + np.exp(-network.score(X))), model.predict_proba(X)[:, 1], rtol=1e-7, atol=1e-9)
    assert_array_equal(network.predict(X), model.predict(X))


@pytest.mark.parametrize("labels", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize("kind", [LogisticRegression, LinearSVC, RidgeClassifier])
def test_linear_classifiers_keep_their_decision_function(kind: Any, labels: Any) -> None:
    model = make_pipeline(StandardScaler(), kind(max_iter=50000)).fit(X, labels)
    wanted = model.decision_function(X)
    assert_allclose(as_network(model).outputs(X), wanted.reshape(len(X), -1), rtol=1e-9, atol=1e-9)


def test_the_radius_of_a_linear_pipeline_is_its_margin_over_the_length_of_its_raw_weights() -> None:
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, TWO)
    scaler, linear = model[0], model[1]
    raw = linear.coef_[0] / scaler.scale_
    wanted = np.abs(model.decision_function(X)) / np.linalg.norm(raw)
    found = robust_radius(model, X[:10], model.predict(X[:10]))
    assert_allclose(found.upper, wanted[:10], rtol=1e-6)


@pytest.mark.parametrize(
    ("model", "complaint"),
    [
        (make_pipeline(Normalizer(), LogisticRegression()), "cannot read a Normalizer of scikit-learn"),
        (make_pipeline(MinMaxScaler(clip=True), LogisticRegression()), "clip=True is not affine"),
        (make_pipeline(FunctionTransformer(np.abs), LogisticRegression()), "FunctionTransformer may do anything"),
    ],
)
def test_steps_that_are_not_affine_are_refused_by_name(model: Any, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        as_network(model.fit(X, TWO))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_several_labels_at_once_are_refused() -> None:
    both = np.stack([X[:, 0] > 3, X[:, 1] > 3], axis=1).astype(int)
    with pytest.raises(InputError, match="decides 2 labels at once"):
        as_network(MLPClassifier((4,), max_iter=3, random_state=0).fit(X, both))
    with pytest.raises(InputError, match="StandardScaler is not fitted"):
        as_network(make_pipeline(StandardScaler(), LogisticRegression()))


class Own(nn.Module):
    """As people write them: functions in the forward pass, images in."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm, self.last = nn.Linear(6, 5), nn.BatchNorm1d(5), nn.Linear(5, 3)

    def forward(self, x: Any) -> Any:
        """Flat images, a dropout that does nothing, log-probabilities."""
        x = x.view(x.size(0), -1)
        x = functional.relu(self.norm(self.first(x)))
        return functional.log_softmax(self.last(functional.dropout(x, 0.5, self.training)), dim=1)


class Residual(nn.Module):
    """No chain."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(6, 6)

    def forward(self, x: Any) -> Any:
        """The identity and a layer, added."""
        return x + self.layer(x)


class Bent(nn.Module):
    """A chain with a function that no ReLU network has."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(6, 5), nn.Linear(5, 3)

    def forward(self, x: Any) -> Any:
        """As people write it."""
        return self.last(torch.tanh(self.first(x)))


class Branching(nn.Module):
    """No graph."""

    def forward(self, x: Any) -> Any:
        """Depend on the values."""
        return x if x.sum() > 0 else -x


def warmed(module: nn.Module) -> nn.Module:
    """Running statistics that are not those of the start."""
    torch.manual_seed(0)
    module = module.double().train()
    for _ in range(3):
        module(torch.tensor(X))
    return module.eval()


def test_a_module_of_ones_own_keeps_its_log_probabilities() -> None:
    module = warmed(Own())
    network = as_network(module)
    wanted = module(torch.tensor(X).reshape(-1, 2, 3)).detach().numpy()
    assert_allclose(np.log(network.probabilities(X)), wanted, rtol=1e-9, atol=1e-9)


def test_wrapping_a_module_does_not_change_what_is_read() -> None:
    plain = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 2)).double()
    wrapped = nn.Sequential(nn.Flatten(), nn.Dropout(0.3), nn.Sequential(*plain), nn.Softmax(1)).eval()
    for one, other in zip(as_network(plain).layers, as_network(wrapped).layers, strict=True):
        assert_array_equal(one.weights, other.weights)
        assert_array_equal(one.biases, other.biases)


@pytest.mark.parametrize(
    ("module", "complaint"),
    [
        (nn.Sequential(nn.Linear(6, 2), nn.Dropout(0.5)), "call .eval"),
        (Own(), "call .eval"),
        (Residual(), "no plain chain"),
        (Branching(), "register_adapter"),
        (Bent(), "calls tanh; supported is .* register_adapter"),
        (nn.Sequential(nn.Linear(6, 2), nn.Softmax(1), nn.Linear(2, 2)), "goes on after Softmax"),
        (nn.Sequential(nn.Linear(6, 3), nn.ReLU(), nn.Linear(3, 3), nn.LeakyReLU(), nn.Linear(3, 1)), "one activation"),
    ],
)
def test_modules_that_are_no_chain_in_evaluation_mode_are_refused(module: Any, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        as_network(module)


def test_an_estimator_of_this_package_decides_as_its_predict_does() -> None:
    model = SubclassClassifier(n_subclasses=2, steps=20, random_state=0).fit(X, TWO)
    assert_array_equal(as_network(model).predict(X), model.predict(X))
    with pytest.raises(InputError, match=r"call \.fit first"):
        as_network(SubclassClassifier())


@pytest.mark.parametrize("classes", [TWO, THREE], ids=["two", "three"])
def test_onnx_files_go_out_and_come_back(tmp_path: Path, classes: Any) -> None:
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000)).fit(X, classes)
    hidden = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 1), nn.Sigmoid()).double()
    for number, given in enumerate((model, hidden)):
        network, path = as_network(given), tmp_path / f"{number}.onnx"
        save_network(given, path, about={"from": "a test"})
        onnx.checker.check_model(onnx.load(path), full_check=True)
        assert_allclose(ReferenceEvaluator(str(path)).run(None, {"points": X})[0], network.outputs(X), rtol=1e-12)
        back = load_network(path)
        assert_array_equal(back.outputs(X), network.outputs(X))
        assert_array_equal(back.readout.labels, network.readout.labels)
        assert read_about(path) == {"from": "a test"}


def foreign_graph(nodes: list[Any], arrays: dict[str, Any]) -> Any:
    """A graph as other exporters write them, float32."""
    tensors = [numpy_helper.from_array(np.asarray(value, dtype=np.float32), name) for name, value in arrays.items()]
    points = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["n", 6])
    out = helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)
    return helper.make_model(
        helper.make_graph(nodes, "g", [points], [out], tensors), opset_imports=[helper.make_opsetid("", 15)]
    )


def test_onnx_nodes_of_other_exporters_are_folded() -> None:
    arrays = {
        "mean": X.mean(axis=0), "scale": X.std(axis=0), "half": [0.5], "w": RNG.standard_normal((6, 4)),
        "b": [1, 2, 3, 4.0], "g": [1.0, 2.0, 1.0, 0.5], "s": [0.0, 1.0, 0.0, 2.0], "m": [0.1, 0.2, 0.3, 0.4], 
        "v": [1.0, 2.0, 3.0, 4.0], "c": RNG.standard_normal((2, 4)),
    }  # fmt: skip
    make = helper.make_node
    nodes = [
        make("Flatten", ["x"], ["1"]), make("Sub", ["1", "mean"], ["2"]), make("Div", ["2", "scale"], ["3"]),
        make("Mul", ["half", "3"], ["4"]), make("MatMul", ["4", "w"], ["5"]), make("Add", ["b", "5"], ["6"]),
        make("BatchNormalization", ["6", "g", "s", "m", "v"], ["7"], epsilon=0.25), make("Relu", ["7"], ["8"]),
        make("Gemm", ["8", "c"], ["9"], transB=1, alpha=2.0), make("Softmax", ["9"], ["y"], axis=1),
    ]  # fmt: skip
    model = foreign_graph(nodes, arrays)
    wanted = ReferenceEvaluator(model).run(None, {"x": X.astype(np.float32)})[0]
    assert_allclose(as_network(model).probabilities(X), wanted, rtol=1e-4, atol=1e-5)
    for bad, complaint in (
        ([make("Tanh", ["x"], ["y"])], "cannot read the ONNX node Tanh"),
        ([make("Add", ["x", "x"], ["y"])], "needs a linear layer|cannot read|no constant"),
        ([make("Gemm", ["x", "w", "b"], ["1"]), make("Add", ["1", "x"], ["y"])], "plain chain"),
        ([make("Gemm", ["x", "c"], ["y"])], "must"),
    ):
        with pytest.raises(InputError, match=complaint):
            as_network(foreign_graph(bad, {"w": arrays["w"], "b": arrays["b"], "c": np.ones((2, 2, 2))}))


class Frame:
    """As much of a table of pandas as is needed."""

    def __init__(self, columns: list[str]) -> None:
        self.columns = columns

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.asarray(X, dtype)


def test_a_table_with_permuted_columns_is_refused_by_every_verb() -> None:
    model = LogisticRegression().fit(X, TWO)
    names = [f"u{axis}" for axis in range(X.shape[1])]
    model.feature_names_in_ = np.array(names, dtype=object)  # as fitting on a table of pandas leaves it
    for verb in (ask, read_decision):
        verb(model, Frame(names), TWO)
        with pytest.raises(InputError, match="columns must come as in training"):
            verb(model, Frame(names[::-1]), TWO)


def test_skops_files_are_read_and_strange_types_are_refused(tmp_path: Path) -> None:
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, TWO)
    skops.io.dump(model, tmp_path / "m.skops")
    assert_array_equal(load_network(tmp_path / "m.skops").predict(X), model.predict(X))
    for solver in ("adam", "sgd", "lbfgs"):  # the first two leave an optimiser in the file
        trained = MLPClassifier((3,), solver=solver, max_iter=300, tol=1.0, random_state=0).fit(X, TWO)
        skops.io.dump(trained, tmp_path / "m.skops")
        assert_array_equal(load_network(tmp_path / "m.skops").predict(X), trained.predict(X))
    skops.io.dump(make_pipeline(FunctionTransformer(warmed), LogisticRegression()).fit, tmp_path / "bad.skops")
    with pytest.raises(InputError, match="refused"):
        load_network(tmp_path / "bad.skops")


@pytest.mark.parametrize("name", ["m.onnx", "m.skops"])
def test_damaged_files_end_in_one_sentence(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"\x08\x08PK\x03\x04 nothing")
    for path in (tmp_path / name, tmp_path / f"absent-{name}"):
        with pytest.raises(InputError, match=r"damaged|no network file|needs one input"):
            load_network(path)
