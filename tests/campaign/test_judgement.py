"""The judge on trial: every fault is seen when it is there, and not when it is not."""

from __future__ import annotations

import io
import itertools
import math
from dataclasses import dataclass, replace

import numpy as np
import pytest

from campaign.soundness.corruption import ARRAY_DAMAGES, BYTE_DAMAGES, damaged, outcome
from campaign.soundness.judgement import judged
from campaign.soundness.problem import Problem
from campaign.soundness.product import Answer, asked, interrupted_after
from campaign.soundness.truth import exact_radius
from featavg.errors import InputError

# f(x) = ReLU(x) − 1 at x = 3: the radius is 2.
PROBLEM = Problem("by hand", ((1.0,),), (0.0,), ((1.0,),), (-1.0,), (3.0,), 1, box=((0.0,), (5.0,)))
RIGHT = Answer(2.0, 2.0, (1.0,), "exact", is_verified=True)
ABOVE, BELOW = math.nextafter(2.0, 3.0), math.nextafter(2.0, 1.0)


def faults(**changes: object) -> tuple[str, ...]:
    return judged(PROBLEM, replace(RIGHT, **changes), exact_radius(PROBLEM)).faults


def test_a_right_answer_has_no_fault_and_is_closed() -> None:
    verdict = judged(PROBLEM, RIGHT, exact_radius(PROBLEM))
    assert verdict.faults == ()
    assert verdict.is_closed
    assert verdict.excess == 0


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"lower": ABOVE, "upper": 3.0, "witness": (0.5,)}, "lower above the truth"),
        ({"lower": math.nan}, "lower above the truth"),
        ({"upper": math.nan}, "upper below the truth"),
        ({"upper": -math.inf}, "upper below the truth"),
        ({"upper": BELOW, "lower": 0.0}, "upper below the truth"),
        ({"lower": math.inf, "upper": math.inf}, "lower above the truth"),
        ({"lower": 2.0, "upper": BELOW}, "lower above upper"),
        ({"is_verified": False}, "not verified"),
        ({"is_audited": False}, "not verified by the audit"),
        ({"witness": (math.nextafter(1.0, 2.0),)}, "witness not fooled"),
        ({"witness": (math.nan,)}, "witness not fooled"),
        ({"witness": (-1.0,), "upper": 4.0}, "witness outside the box"),
        ({"witness": (0.5,)}, "witness farther than upper"),
        ({"error": "ValueError"}, "traceback"),
        ({"refusal": "no"}, "refused"),
    ],
)
def test_every_fault_is_seen(changes: dict[str, object], fault: str) -> None:
    assert fault in faults(**changes)


def test_open_brackets_are_not_closed_and_the_lattice_is_allowed_for() -> None:
    truth = exact_radius(PROBLEM)
    opened = judged(PROBLEM, replace(RIGHT, lower=1.9), truth)
    assert not opened.is_closed
    assert not opened.is_closed_as_floats_go
    nothing_found = judged(PROBLEM, replace(RIGHT, upper=math.inf), truth)
    assert not nothing_found.is_closed
    assert not nothing_found.is_closed_as_floats_go
    near = replace(PROBLEM, constants=(math.nextafter(-3.0, 0.0),))
    tiny = judged(near, Answer(1e-16, 4.5e-16, (math.nextafter(3.0, 0.0),), is_verified=True), exact_radius(near))
    assert tiny.faults == ()
    assert not tiny.is_closed
    assert tiny.is_closed_as_floats_go


def test_the_product_is_asked_through_its_public_verbs() -> None:
    answer = asked(replace(PROBLEM, box=None))
    assert answer.error == answer.refusal == ""
    assert answer.lower == pytest.approx(2.0, rel=2e-6)
    assert answer.is_verified
    assert asked(replace(PROBLEM, y=7)).refusal


def test_what_never_returns_is_interrupted() -> None:
    with pytest.raises(TimeoutError), interrupted_after(0.05):
        for _ in itertools.count():
            pass


@dataclass
class Loaded:
    """A bracket as it comes from a file, whose proof proves so much and whose witness shows so little."""

    lower: float | np.ndarray
    upper: float | np.ndarray
    proves: float = 2.0
    shows: float = 2.0

    def verify(self) -> np.ndarray:
        return np.atleast_1d((self.lower <= self.proves) & (self.upper >= self.shows))


@pytest.mark.parametrize(
    ("loaded", "expected"),
    [
        (Loaded(2.0, 2.0), "verified, within the truth"),
        (Loaded(0.5, math.inf), "verified, within the truth"),
        (Loaded(ABOVE, 3.0), "not verified"),
        (Loaded(ABOVE, 3.0, proves=3.0), "above the truth"),
        (Loaded(1.0, BELOW, shows=1.0), "above the truth"),
        (Loaded(1.0, 3.0, proves=ABOVE), "above the truth"),  # it does not claim what it would prove
        (InputError("damaged"), "refused"),
        (KeyError("theta"), "traceback: KeyError: 'theta'"),
    ],
)
def test_what_comes_of_a_damaged_file(tmp_path, loaded, expected: str) -> None:
    def load(path):
        if isinstance(loaded, Exception):
            raise loaded
        return loaded

    assert outcome(tmp_path / "bracket", b"damaged", exact_radius(PROBLEM), load) == expected


def test_damage_changes_files_and_arrays(tmp_path) -> None:
    rng = np.random.default_rng(0)
    content = rng.bytes(500)
    assert all(damage(rng, content) != content for damage in BYTE_DAMAGES for _ in range(20))
    path = tmp_path / "some.npz"
    np.savez(path, theta=rng.standard_normal(20), side=np.arange(9, dtype=np.int8), text=np.array("sign"))
    packed = path.read_bytes()
    loadable = 0
    for _ in range(200):
        try:
            with np.load(io.BytesIO(damaged(rng, packed))) as archive:
                loadable += all(archive[name].dtype is not None for name in archive.files)
        except Exception:
            continue
    assert loadable > 80  # the damage reaches whoever reads the arrays
    for dtype in (np.float64, np.int64, np.int8, np.bool_, np.uint32):
        array = np.ones((3, 2), dtype=dtype)
        assert all(damage(rng, array).dtype == dtype for damage in ARRAY_DAMAGES for _ in range(30))
