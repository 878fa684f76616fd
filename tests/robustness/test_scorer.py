"""Robust accuracy as a score: in a grid search, and for pipelines in the units of their inputs."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from featavg import InputError, SubclassClassifier, robust_accuracy_scorer, robust_radius

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 2)) + 8 * RNG.integers(2, size=(120, 2))
Y = np.where((X[:, 0] > 4) ^ (X[:, 1] > 4), "mixed", "pure")


def test_the_score_of_a_plane_is_the_share_of_points_beyond_the_radius() -> None:
    labels = np.where(X[:, 0] + 0.5 * X[:, 1] > 6, "right", "left")
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, labels)
    slope = model[-1].coef_[0] / model[0].scale_  # in raw units
    side = model.decision_function(X) * np.where(labels == "right", 1, -1) / np.linalg.norm(slope)
    for radius in (0.0, 0.7, 2.0):
        assert robust_accuracy_scorer(radius)(model, X, labels) == np.mean(side > radius)


def test_a_grid_search_chooses_by_what_is_proved_also_inside_a_pipeline() -> None:
    pipeline = make_pipeline(StandardScaler(), SubclassClassifier(steps=30, random_state=0))
    scorer = pickle.loads(pickle.dumps(robust_accuracy_scorer(1.0)))
    search = GridSearchCV(pipeline, {"subclassclassifier__n_subclasses": [1, 2]}, scoring=scorer, cv=3).fit(X, Y)
    assert search.best_params_ == {"subclassclassifier__n_subclasses": 2}
    best = search.best_estimator_
    assert scorer(best, X, Y) == np.mean(robust_radius(best, X, Y).lower > 1.0)


def test_bad_requests_are_one_sentence() -> None:
    with pytest.raises(InputError, match="must not be negative"):
        robust_accuracy_scorer(-1.0)
    with pytest.raises(InputError, match="got 'speed'"):
        robust_accuracy_scorer(1.0, speed=3)
