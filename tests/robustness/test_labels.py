"""A scikit-learn classifier is asked in its own labels."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier

from featavg import InputError, robust_radius, targeted_radius

X, DIGITS = load_digits(n_class=3, return_X_y=True)
X = X / 16


def fitted(labels):
    return MLPClassifier((6,), max_iter=400, tol=0.1, random_state=0).fit(X, labels)


@pytest.mark.parametrize("names", [(0, 1), (-1, 1), ("no", "yes")])
def test_two_classes_of_any_name(names):
    labels = np.array(names)[(DIGITS == 1).astype(int)]
    model = fitted(labels)
    right = np.flatnonzero(model.predict(X) == labels)[:8]
    radius = robust_radius(model, X[right], labels[right])
    assert (radius.upper > 0).all()
    turned = model.predict(X[right] + 1.001 * (radius.witness - X[right]))
    assert (turned != labels[right]).all()


def test_several_classes_by_name_and_their_rivals():
    names = np.array(["ant", "bee", "cow"])
    model = fitted(names[DIGITS])
    right = np.flatnonzero(model.predict(X) == names[DIGITS])[:6]
    radius = robust_radius(model, X[right], names[DIGITS[right]])
    rivals = [targeted_radius(model, X[right], names[DIGITS[right]], names[(DIGITS[right] + s) % 3]) for s in (1, 2)]
    assert np.allclose(np.minimum(rivals[0].upper, rivals[1].upper), radius.upper, rtol=1e-5)


def test_other_labels_are_refused_with_those_it_knows():
    model = fitted(np.array(["ant", "bee", "cow"])[DIGITS])
    with pytest.raises(InputError, match="ant"):
        robust_radius(model, X[:2], [0, 1])


def test_two_classes_of_any_name_may_be_asked_by_their_signs_unless_that_is_another_name():
    right = np.flatnonzero(DIGITS < 2)[:6]
    signs = np.where(DIGITS[right] == 1, 1, -1)
    for names in (("no", "yes"), (0, 1), (1, 2)):
        labels = np.array(names)[(DIGITS == 1).astype(int)]
        model = fitted(labels)
        own = robust_radius(model, X[right], labels[right]).upper
        if names == (1, 2):
            with pytest.raises(InputError, match=r"\[1, 2\]"):
                robust_radius(model, X[right], signs)
        else:
            assert np.array_equal(own, robust_radius(model, X[right], signs).upper)
