"""Prototypes: Bayes' rule for spheres, and radii that no attack gets below."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal
from sklearn.utils.estimator_checks import parametrize_with_checks

from featavg import InputError, PrototypeClassifier, as_network, best_of, load_images, robust_radius
from featavg.robustness import PGD, GradientWalk

rng = np.random.default_rng(0)
X = np.concatenate([rng.normal(size=(60, 2)) + center for center in ([0, 0], [6, 6], [0, 6], [6, 0])])
Y = np.repeat(["same", "same", "different", "different"], 60)


@parametrize_with_checks([PrototypeClassifier(n_prototypes=3)])
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)


def test_probabilities_are_those_of_a_mixture_of_equal_spheres():
    model = PrototypeClassifier(2, sharpness=0.7, random_state=0).fit(X, Y)
    density = np.array([multivariate_normal(c, np.eye(2) / 0.7).pdf(X) for c in model.prototypes_]).T
    wanted = density @ (model.class_of_[:, None] == np.arange(2))
    assert_allclose(model.predict_proba(X), wanted / wanted.sum(axis=1, keepdims=True), rtol=1e-9)
    assert_array_equal(as_network(model).predict(X), model.predict(X))


def test_one_prototype_per_class_is_a_half_space_whose_distance_is_known():
    two = X[:120], np.repeat([0, 1], 60)
    model = PrototypeClassifier(1, sharpness=2.0, random_state=0).fit(*two)
    a, b = model.prototypes_
    distance = ((X[:60] - (a + b) / 2) @ (a - b)) / np.linalg.norm(a - b)
    assert_allclose(model.certified_radius(X[:60], np.zeros(60, dtype=int)), np.maximum(distance, 0), rtol=1e-8)


def test_no_attack_and_no_search_gets_below_the_certificate():
    model = PrototypeClassifier(3, random_state=0).fit(X, Y)
    few, labels = X[::12], Y[::12]
    certified = model.certified_radius(few, labels)
    network, signs = as_network(model), np.where(labels == "same", 1, -1)
    options = {"readout": "summed-probabilities"}
    assert len(network.layers) == 1
    exact = robust_radius(model, few, labels, **options)
    attacked = best_of(PGD(radii=4.0)(model, few, labels, **options), GradientWalk()(model, few, labels, **options))
    assert (certified <= exact.upper).all()
    assert (certified <= attacked.upper).all()
    assert np.median(certified / exact.upper) > 0.5
    assert signs.shape == certified.shape


def test_wrong_points_have_no_radius_and_digits_are_classified():
    train, test = load_images("digits", "train"), load_images("digits", "test")
    model = PrototypeClassifier(20, random_state=0).fit(train.x, train.y)
    wrong = model.predict(test.x) != test.y
    assert wrong.mean() < 0.05
    assert (model.certified_radius(test.x, test.y)[wrong] == 0).all()
    assert np.median(model.certified_radius(test.x, test.y)) > 0.2


WRONG = [({"n_prototypes": 0}, "from 1, got 0"), ({"sharpness": -1}, "positive")]


@pytest.mark.parametrize(("options", "complaint"), WRONG)
def test_wrong_options_are_refused(options, complaint):
    with pytest.raises(InputError, match=complaint):
        PrototypeClassifier(**options).fit(X, Y)
