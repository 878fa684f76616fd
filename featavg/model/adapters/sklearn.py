"""scikit-learn's networks and linear classifiers, alone or behind affine steps of a pipeline, in their own labels."""

from __future__ import annotations

from dataclasses import replace
from functools import singledispatch
from typing import Any

import numpy as np
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier, SGDClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.validation import check_is_fitted

from featavg.errors import InputError
from featavg.model.activation import RELU
from featavg.model.adapters import own
from featavg.model.adapters.chain import Affine, Step, network_of
from featavg.model.network import Network

SUPPORTED = (
    "MLPClassifier, linear classifiers, and pipelines of StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler, PCA "
    "and TruncatedSVD before one of them"
)


def read(model: Any) -> Network:
    """A fitted classifier as a network on raw inputs, so that radii are in the units of what the pipeline is given."""
    if model is None or isinstance(model, str | type):
        raise InputError(f"cannot read {model!r}; pass a fitted classifier of scikit-learn: {SUPPORTED}")
    if isinstance(model, Pipeline) and hasattr(model[-1], "network_"):
        return _behind(steps(model[:-1]), own.read(model[-1]))
    return network_of(steps(model), getattr(model, "classes_", None))


def _behind(before: list[Step], network: Network) -> Network:
    """An estimator of this package behind affine steps."""
    first = Affine(network.weights, network.biases)
    layer = network_of([*before, first, RELU, Affine.of(np.eye(len(network.weights)))]).layers[0]
    return replace(network, layers=(layer, *network.layers[1:]))


@singledispatch
def steps(model: Any) -> list[Step]:
    """What a part of scikit-learn does to a point, as affine maps and activations."""
    raise InputError(
        f"cannot read a {type(model).__name__} of scikit-learn: it is no affine step and no ReLU network; supported "
        f"are {SUPPORTED}"
    )


@steps.register
def _(model: Pipeline) -> list[Step]:
    return [step for _, part in model.steps if part not in (None, "passthrough") for step in steps(part)]


@steps.register
def _(model: MLPClassifier) -> list[Step]:
    _check_fitted(model)
    if model.activation not in ("relu", "identity"):
        raise InputError(f"an MLPClassifier needs ReLU hidden layers, got {model.activation}; fit it with relu")
    if model.out_activation_ == "logistic" and model.n_outputs_ > 1:
        raise InputError(
            f"this MLPClassifier decides {model.n_outputs_} labels at once; radii need one label for each point, so "
            "fit one classifier per label"
        )
    found: list[Step] = []
    for weights, biases in zip(model.coefs_, model.intercepts_, strict=True):
        found += [RELU] if found and model.activation == "relu" else []
        found.append(Affine.of(weights.T, biases))
    return found


@steps.register(LogisticRegression)
@steps.register(LinearDiscriminantAnalysis)
@steps.register(LinearSVC)
@steps.register(Perceptron)
@steps.register(RidgeClassifier)
@steps.register(SGDClassifier)
def _linear(model: Any) -> list[Step]:
    _check_fitted(model)
    return [Affine.of(np.atleast_2d(model.coef_), model.intercept_)]


@steps.register
def _(model: StandardScaler) -> list[Step]:
    return [_centred(model, model.mean_ if _check_fitted(model) and model.with_mean else None, model.scale_)]


@steps.register
def _(model: RobustScaler) -> list[Step]:
    return [_centred(model, model.center_ if _check_fitted(model) and model.with_centering else None, model.scale_)]


@steps.register
def _(model: MaxAbsScaler) -> list[Step]:
    _check_fitted(model)
    return [_centred(model, None, model.scale_)]


@steps.register
def _(model: MinMaxScaler) -> list[Step]:
    _check_fitted(model)
    if model.clip:
        raise InputError("a MinMaxScaler with clip=True is not affine; fit it with clip=False")
    return [Affine.of(model.scale_, model.min_)]


@steps.register
def _(model: PCA) -> list[Step]:
    """W (x − mean), and with whitening each component over its standard deviation."""
    _check_fitted(model)
    matrix = model.components_
    if model.whiten:
        deviation = np.sqrt(model.explained_variance_)
        matrix = matrix / np.maximum(deviation, np.finfo(deviation.dtype).eps)[:, None]
    return [Affine.of(matrix, -(matrix @ model.mean_))]


@steps.register
def _(model: TruncatedSVD) -> list[Step]:
    _check_fitted(model)
    return [Affine.of(model.components_)]


@steps.register
def _(model: FunctionTransformer) -> list[Step]:
    if model.func is not None:
        raise InputError("a FunctionTransformer may do anything and cannot be read; put an affine step in its place")
    return []


def _centred(model: Any, center: Any, scale: Any) -> Affine:
    """(x − center) / scale, either of which may be absent."""
    size = np.ones(model.n_features_in_) if scale is None else np.asarray(scale, dtype=np.float64)
    return Affine.of(1.0 / size, None if center is None else -np.asarray(center) / size)


def _check_fitted(model: Any) -> bool:
    try:
        check_is_fitted(model)
    except NotFittedError:
        raise InputError(f"this {type(model).__name__} is not fitted; call .fit first") from None
    return True
