"""Pages show a user's own images: the most fragile ones, and what sub-classes look like."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from featavg.data import dataset
from featavg.record import Evidence, Result
from featavg.refine.results import SHOWN, with_fragile_images, with_subclass_images

NOTHING = Result("nothing", "Nothing was found.", (), {}, (), Evidence())
BRIGHT = np.array([0.0, 4.0, 8.0, 2.0, 6.0])
POINTS = dataset(np.repeat(BRIGHT[:, None], 4, axis=1), ["cat", "dog", "dog", "cat", "dog"], shape=(2, 2))


def test_the_most_fragile_images_are_shown_in_their_order():
    found = with_fragile_images(NOTHING, POINTS, np.array([2, 0]))
    shown = found.evidence.table["fragile_images"]
    assert shown.shape == (1, 2, 2, 2)
    assert_array_equal(shown[0, :, 0, 0], [1.0, 0.0])  # brightness is stretched: 8 is white, 0 black
    assert found.evidence.drawings[0].options["columns"] == ["2: dog", "0: cat"]


def test_a_sub_class_is_its_mean_image_and_missing_ones_are_white():
    found = with_subclass_images(NOTHING, POINTS, np.array(["cat.1", "dog.1", "dog.2", "cat.1", "dog.1"]))
    shown = found.evidence.table["subclass_images"][..., 0, 0]
    # Means 1 of cat.1; 5 of dog.1, the larger one, and 8 of dog.2; from 1 to 8.
    assert_allclose(shown, [[0.0, 1.0], [4 / 7, 1.0]])
    assert found.evidence.drawings[0].options["rows"] == ["cat", "dog"]


def test_no_more_than_fits_is_shown_and_other_points_have_no_picture():
    many = with_fragile_images(NOTHING, POINTS, np.zeros(30, dtype=int))
    assert many.evidence.table["fragile_images"].shape[1] == SHOWN
    plain = dataset(POINTS.x, POINTS.y)
    assert with_fragile_images(NOTHING, plain, np.array([0])) is NOTHING
    assert with_subclass_images(NOTHING, plain, POINTS.y) is NOTHING
