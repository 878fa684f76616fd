"""A `SubclassClassifier` on disk: its network, and the names of its classes and sub-classes beside it."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from featavg.arrays import labels_among
from featavg.errors import InputError
from featavg.model import load_network, read_about, save_network
from featavg.refine.classifier import SubclassClassifier


def save_classifier(model: SubclassClassifier, path: str | os.PathLike[str]) -> None:
    """Write a fitted classifier to .npz or .safetensors, whole or not at all; `load_network` reads its network alone.

    >>> import tempfile
    >>> x, y = np.arange(40.0)[:, None], np.repeat(["low", "high"], 20)
    >>> model = SubclassClassifier(n_subclasses=2, steps=50, random_state=0).fit(x, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_classifier(model, folder + "/model.npz")
    ...     load_classifier(folder + "/model.npz").predict([[3.0], [33.0]]).tolist()
    ['low', 'high']
    """
    names = {"classes": model.classes_, "class_of": model.class_of_, "subclass_names": model.subclass_names_}
    save_network(model.network_, path, {name: values.tolist() for name, values in names.items()})


def load_classifier(path: str | os.PathLike[str]) -> SubclassClassifier:
    """Read what `save_classifier` wrote: it predicts as before, and does not remember what it was trained on."""
    network, about = load_network(path), read_about(path)
    if not is_classifier(about) or network.output_count == 1:
        raise InputError(f"{path} must hold a network with the names of its classes, got one without; use load_network")
    model = SubclassClassifier()
    model.network_ = network
    model.classes_ = np.array(about["classes"])
    model.class_of_ = labels_among(about["class_of"], range(len(model.classes_)), network.output_count, "class_of")
    model.subclass_names_ = np.array(about["subclass_names"])
    model.n_features_in_ = network.weights.shape[1]
    return model


def is_classifier(about: dict[str, Any]) -> bool:
    """Whether a network file tells of classes and sub-classes."""
    return {"classes", "class_of", "subclass_names"} <= set(about)
