"""Every experiment, at a tiny size and without a network: what it returns is a whole record that can be drawn."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch

from featavg.data import Content, ImageSet
from featavg.experiments import Chapter, Registry
from featavg.experiments.driver import rows_of, table_of
from featavg.figures import draw
from featavg.record import Record, plain_json, read_record, write_record
from featavg.refine import SubclassClassifier

NAMES = Registry().names
IMAGES = {"train": 260, "test": 60}  # of each set, in place of the tens of thousands
# The chapters that convolve; `make test` runs the others once, on one kind of processor.
CONVOLVING = {"cifar_features", "cifar_heads", "cifar_robustness", "cifar_widths", "fashion_robustness",
              "late_cnn", "mnist_robustness", "refine_images", "transfer", "usefulness_cifar"}  # fmt: skip


@dataclass(frozen=True)
class Tiny:
    """The smallest configuration that still goes through everything, two seeds of it.

    `missing` matches the columns in which a number may be missing (NaN) or unbounded, with the reason beside it.
    """

    config: dict[str, Any]
    missing: dict[str, str] = field(default_factory=dict)


PAPER = {"clusters": 4, "dim": 120, "samples": 40, "neurons_per_class": 2, "steps": 30}
HEADS = {"train": 120, "test": 60, "steps": 200, "radius_points": 10}
ATTACKED = {"moments": (1, 2), "reach": 6.0, "ball_radii": (0.5, 1.0), "grid": 9, "points": 8, "time_points": 4,
            "control_points": 4, "references": 30, "steps": 8, "ball_steps": 4}  # fmt: skip
CNN = {**ATTACKED, "images": 200, "hidden": 32, "moments": (1, 6), "learning_rate": 0.002, "neurons": 20,
       "marks": (5, 20), "exact_points": 4}  # fmt: skip
UNFOOLED = {
    r"upper (pgd|transfer|feature_direction|boundary_walk)|(coarse|fine)_pixel_walk|control": "nothing was found"
}
NOT_ASKED = {r"(mean_)?(\w+_)?maximum_(lower|upper)": "NaN for a method that is not read out by its maximum"}
FRONT = {r"(\w+_)?fronts?": "NaN at an accuracy that no trial reached"}

TINY = {
    "adversarial": Tiny({"clusters": 4, "dim": 200, "samples": 30, "neurons_per_class": 2, "steps": 10,
                         "attacked_steps": 5, "test_points": 4}),
    "averaging": Tiny(PAPER),
    "balance": Tiny({**PAPER, "dim": 300, "counts": (60, 120), "dims": (300, 10**6)}),
    "cifar_features": Tiny(HEADS),
    "cifar_heads": Tiny({**HEADS, "moments": (20, 200), "points": 6, "attack_steps": 4, "free_points": 2,
                         "free_steps": 2, "queries": 2}),
    "cifar_robustness": Tiny({**ATTACKED, "width": 4, "images": 200, "moments": (1, 4), "steps": 16}, UNFOOLED),
    "cifar_widths": Tiny({"widths": (2, 4), "images": 200, "epochs": 2, "shorter": (1,), "points": 6, "steps": 16}),
    "decoupling": Tiny({**PAPER, "flow_moments": 7}),
    "diagnosis": Tiny({"trials": 2, "dim": 40, "samples": 160, "gaussian_samples": 60, "gaussian_dims": (2,)}),
    "dimension": Tiny({**PAPER, "dims": (120, 10**9)}),
    "dimples": Tiny({**PAPER, "test_points": 8, "train_images": 100, "epochs": 10, "neurons": 6, "latent": 3,
                     "grid": (-1.0, 0.0, 1.0)}),
    "dynamics": Tiny(PAPER),
    "expressivity": Tiny({"dim": 60, "fresh": 50}),
    "fashion_robustness": Tiny(CNN, UNFOOLED),
    "geometry": Tiny({"samples": 60, "dim": 200, "test_points": 4, "coarse_points": 10, "fine_width": 1}),
    "granularity": Tiny({"samples": 60, "dim": 200, "test_points": 4}),
    "ideal": Tiny({"clusters": 4, "dim": 16}),
    "kkt": Tiny({**PAPER, "neurons_per_class": 2, "losses": (-3.0, -881.0), "test_points": 4, "universal_points": 20,
                 "hinted_log_loss": -20.0, "hinted_steps": 500, "sphere_dims": (30, 60), "sphere_log_loss": -20.0}),
    "late_cnn": Tiny({"images": 14, "hidden": 256, "models": (-0.1, -0.3), "attacked": 9, "attack_steps": 16}),
    "late_table": Tiny({"table_images": 100, "table_width": 20, "models": (-2.0, -4.0), "equal_loss": -2.0,
                        "table_every": 10, "attacked": 20}),
    "learners": Tiny({"dim": 60, "samples": 40, "loss": 0.5, "test_points": 4}),
    "linf": Tiny({"clusters": 4, "dim": 16, "samples": 80, "test_points": 3}),
    "max_margin": Tiny({"clusters": 4, "dim": 120, "samples": 20, "neurons_per_class": 2, "losses": (-1.0, -20.0),
                        "fit_from": 10.0, "table_images": 100, "table_width": 20, "models": (-2.0, -4.0),
                        "equal_loss": -2.0, "attacked": 20, "varied_images": 60, "widths": (20, 30),
                        "stops": (0.0, -1.0)}),
    "mnist_robustness": Tiny(CNN, UNFOOLED),
    "other_biases": Tiny({**PAPER, "wave_points": 16, "wave_neurons": 8, "wave_last": 30, "sharp_points": 8,
                          "sharp_neurons": 6, "sharp_last": 40, "grok_points": 20, "grok_dim": 6, "grok_neurons": 8,
                          "grok_last": 50, "grok_test": 20}),
    "prelu": Tiny({"dim": 24, "samples": 60, "neurons": 8, "scale": 0.1, "steps": 60, "batch": 20, "starts": 8,
                   "ascent": 5, "test_points": 4, "fresh": 20}),
    "readouts": Tiny({**PAPER, "test_points": 5}),
    "refine": Tiny(
        {"samples": 220, "judged": 30, "points": 4, "maximum_points": 2, "marks": (2, 4), "counts": (2, 10, 100),
         "widths": (50,)}, FRONT | NOT_ASKED,
    ),
    "refine_images": Tiny({"points": 3, "maximum_points": 2, "marks": (2, 4)}, FRONT | NOT_ASKED),
    "refine_why": Tiny({"dim": 30, "samples": 60, "marks": (5, 50), "test_points": 5}),
    "regime": Tiny({"samples": 60, "dim": 300, "test_points": 2, "point_seconds": 0.01}),
    "robustness": Tiny({**PAPER, "test_points": 20, "pgd_points": 10}),
    "samples": Tiny({"test_points": 4, "steps": 10}),
    "scaling": Tiny({"clusters": (4, 6), "dims": (3072, 10**6), "points_per_cluster": 10, "test_points": 5}),
    "simplicity": Tiny({"dim": 6, "samples": 200, "neurons": 10, "batch": 32, "moments": (5, 40), "early": 5,
                        "test_points": 100, "attacked": 6}),
    "superposition": Tiny({"samples": 100, "steps": 60, "test_points": 5, "point_seconds": 0.02}),
    "svm": Tiny({"points": 20, "dim": 8, "log_times": (10.0, 40.0), "fit_from": 15.0, "plain_steps": 200,
                 "penalties": (1.0, 1e-3), "cluster_points": 20}),
    "talks_start": Tiny({"clusters": 4, "samples": 40, "neurons_per_class": 2, "moments": (10, 30, 60),
                         "test_points": 4}),
    "theorem_setting": Tiny({"moments": 5, "halving_samples": 32}),
    "transfer": Tiny({**HEADS, "steps": 1000, "attacked": 4, "attack_steps": 8, "walk_steps": 2}, UNFOOLED),
    "universal": Tiny({**PAPER, "splits": (2, 1)}),
    "usefulness": Tiny({"points": 500, "radius_points": 10}),
    "usefulness_cifar": Tiny(HEADS),
}  # fmt: skip


def synthetic(image_set: ImageSet, part: str) -> list[bytes]:
    """Noisy copies of ten random pictures in the official layout of a set, one in ten of each class."""
    labels = (np.arange(IMAGES[part]) % 10).astype(np.uint8)
    pictures = np.random.default_rng(0).uniform(60, 195, (10, *image_set.shape))
    noise = np.random.default_rng(len(labels)).normal(0, 20, (len(labels), *image_set.shape))
    pixels = np.clip(pictures[labels] + noise, 0, 255).astype(np.uint8)
    if len(image_set.shape) == 3:
        channels_first = pixels.transpose(0, 3, 1, 2).reshape(len(labels), -1)
        return [np.column_stack([labels, channels_first]).tobytes()]
    return [_idx(pixels), _idx(labels)]


def _idx(values: np.ndarray) -> bytes:
    return bytes([0, 0, 8, values.ndim]) + np.array(values.shape, dtype=">u4").tobytes() + values.tobytes()


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Synthetic images in place of what the cache or a download would give, and which sets were asked for."""
    names: set[str] = set()

    def contents(image_set: ImageSet, wanted: tuple[Content, ...], *_: Any) -> list[bytes]:
        if not wanted:  # it comes with a package, so neither the cache nor a download is asked
            return []
        names.add(image_set.name)
        return synthetic(image_set, "train" if wanted == image_set.train else "test")

    monkeypatch.setattr("featavg.data.images.contents_of", contents)
    return names


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """What a configuration cannot make small: an empty cache, another backbone, a few points, a hasty estimator."""
    from featavg.deep import SmallCNN
    from featavg.experiments.paper import theorem_setting
    from featavg.experiments.refinement import benchmark, refine_images

    monkeypatch.setenv("FEATAVG_CACHE", str(tmp_path / "cache"))
    backbone = SmallCNN(10, shape=(3, 32, 32), hidden=24, seed=0).eval()
    monkeypatch.setattr("featavg.deep.imagenet_backbone", lambda: backbone)
    monkeypatch.setattr(theorem_setting.Config, "samples", 64)
    monkeypatch.setattr(benchmark, "SubclassClassifier", partial(SubclassClassifier, 5, max_steps=20))
    for key, case in refine_images.SETS.items():
        few = {"samples": 100, "judged": 60, "counts": (2, 10, 20)}
        monkeypatch.setitem(refine_images.SETS, key, replace(case, **few))


def tiny(name: str) -> Tiny:
    if name not in TINY:
        pytest.fail(f"the experiment {name!r} has no tiny configuration; add one to TINY in {__file__}", pytrace=False)
    return TINY[name]


@pytest.fixture
def two_threads() -> Iterator[None]:
    """Threads of torch that the caller has set, and finds again."""
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    after = torch.get_num_threads()
    torch.set_num_threads(before)
    assert after == 2


@pytest.fixture
def convolved(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many channels came into each convolution so far."""
    channels: list[int] = []
    convolve = torch.nn.functional.conv2d

    def counted(x: torch.Tensor, *rest: Any) -> torch.Tensor:
        channels.append(x.shape[1])
        return convolve(x, *rest)

    monkeypatch.setattr(torch.nn.functional, "conv2d", counted)
    return channels


@pytest.mark.usefixtures("small", "two_threads")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in CONVOLVING else pytest.mark.no_convolution) for name in NAMES]
)
def test_a_tiny_run_is_a_whole_record(name: str, asked: set[str], convolved: list[int], tmp_path: Any) -> None:
    size, chapter, told = tiny(name), Registry()[name], [0.0]
    config = chapter.module.Config(**{"seeds": 2, "first_seed": 1001, **size.config})
    made = chapter.run(config, lambda share, _: told.append(share))
    assert told == sorted(told), "progress goes backwards"
    assert told[-1] == pytest.approx(1)
    assert asked == set(chapter.needs)
    assert bool(convolved) == (name in CONVOLVING)
    record = read_record(write_record(made, tmp_path))
    _is_as_made(record, made)
    _is_of(record, chapter, config)
    _rows_can_be_had_back(record, chapter, config)
    _claims_are_whole(record)
    _numbers_are_there(record, size.missing)
    assert record.evidence.drawings
    for drawing in record.evidence.drawings:
        assert draw(drawing, record.evidence.table).get_label() == drawing.caption


def test_no_tiny_configuration_is_left_over() -> None:
    assert set(TINY) <= set(NAMES)


def _is_as_made(record: Record, made: Record) -> None:
    plain = ("name", "title", "config", "seeds", "claims")
    assert [getattr(record, part) for part in plain] == [getattr(made, part) for part in plain]
    read, written = record.evidence, made.evidence
    assert (read.drawings, read.notes, read.provenance) == (written.drawings, written.notes, written.provenance)
    assert set(read.table.columns) == set(written.table.columns)
    for name, column in written.table.columns.items():
        found = read.table.columns[name]
        assert (found.axes, found.text, found.unit) == (column.axes, column.text, column.unit)
        np.testing.assert_array_equal(found.values, column.values, err_msg=name)
    assert set(read.table.coords) == set(written.table.coords)
    for axis, coords in written.table.coords.items():
        np.testing.assert_array_equal(read.table.coords[axis], coords, err_msg=axis)


def _is_of(record: Record, chapter: Chapter, config: Any) -> None:
    assert (record.name, record.title) == (chapter.name, chapter.title)
    assert record.config == plain_json(asdict(config), "config")
    assert record.seeds == (1001, 1002)


def _rows_can_be_had_back(record: Record, chapter: Chapter, config: Any) -> None:
    rows, table = rows_of(chapter.module, config, record.evidence.table), record.evidence.table
    cases = dict.fromkeys(case for case, _ in rows)
    again = table_of(chapter.module, config, [[rows[case, seed] for seed in record.seeds] for case in cases])
    assert set(again.columns) <= set(chapter.module.COLUMNS)
    for name, column in again.columns.items():
        assert (column.axes, column.values.dtype) == (table.columns[name].axes, table.columns[name].values.dtype)
        np.testing.assert_array_equal(column.values, table.columns[name].values, err_msg=name)


def _claims_are_whole(record: Record) -> None:
    """A claim without a number is refused where it is made; here: it says how, and its interval is not the line."""
    assert record.claims
    for claim in record.claims:
        assert all(map(math.isfinite, (claim.expected, claim.measured, claim.tolerance, *claim.interval))), claim.text
        assert claim.how.strip(), claim.text


def _numbers_are_there(record: Record, missing: dict[str, str]) -> None:
    table = record.evidence.table
    assert table.coords["seed"].tolist() == [1001, 1002]
    for name, column in table.columns.items():
        assert column.values.size, f"{name} is empty"
        assert column.text.strip(), f"{name} does not say what it is"
        assert set(column.axes) <= set(table.coords), f"{name} has an axis without coordinates"
        # Attacks share a column, but not all of them may fail to find something.
        attacks = table.coords["attack"] if "attack" in column.axes else ()
        for part, at in [(f"{name} {attack}", {"attack": attack}) for attack in attacks] or [(name, {})]:
            values = table.sel(name, **at)
            if values.dtype.kind == "f" and not any(re.fullmatch(pattern, part) for pattern in missing):
                assert np.isfinite(values).all(), f"{part} holds numbers that are not finite"
