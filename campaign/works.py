"""Work that writes files, for the campaign to kill: each puts whole files of its kind into a folder."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from unittest import mock

import numpy as np

import featavg as fa
from campaign.whole_files import X, Y, bracket, network, record_json
from featavg.arrays import Array, Ints
from featavg.cli import main
from featavg.data import SETS, Content, ImageSet, fetch
from featavg.data.idx import decode
from featavg.record import Drawing, read_folder, read_record, write_record
from featavg.report import write_report
from featavg.sweep import run_sweep

Work = tuple[Callable[[], object], Callable[[Path], object]]  # what writes into a folder, and what reads a file of it


def classifiers(folder: Path) -> Work:
    """A classifier, again and again."""
    model = fa.SubclassClassifier(2, steps=5, random_state=0).fit(X, Y)
    return lambda: fa.save_classifier(model, folder / "model.npz"), fa.load_classifier


def networks(folder: Path) -> Work:
    """A network in all formats."""
    network(folder)
    net = fa.load_network(folder / "net.npz")
    empty(folder)

    def write() -> None:
        for name in ("net.npz", "net.safetensors", "net.onnx"):
            fa.save_network(net, folder / name)

    return write, fa.load_network


def weights(folder: Path) -> Work:
    """Weights of a torch module."""
    from featavg.deep import SmallCNN, read_state, save_weights

    module = SmallCNN(2, shape=(1, 8, 8), hidden=2, seed=0)
    return lambda: save_weights(module, folder / "net.safetensors"), read_state


def fetched(folder: Path) -> Work:
    """A data set in the cache, which is the folder above: it is named as the folder is."""
    source = _beside(folder)
    images = {name: bytes([0, 0, 8, 1, 0, 0, 0, 200, *[number] * 200]) for number, name in enumerate(("train", "test"))}
    for name, data in images.items():
        (source / name).write_bytes(data)
    contents = [Content(name, len(data), sha256(data).hexdigest()) for name, data in images.items()]
    made = ImageSet(folder.name, (1,), ("a", "b"), decode=decode, train=tuple(contents[:1]), test=tuple(contents[1:]))
    module = ModuleType(f"campaign_set_{folder.name}")
    module.SET = made  # type: ignore[attr-defined]

    def write() -> None:
        with (
            mock.patch.dict(os.environ, FEATAVG_CACHE=str(folder.parent), FEATAVG_DATA=str(source)),
            mock.patch.dict(sys.modules, {module.__name__: module}),
            # Known while it is fetched only: who lists image sets later in this process must not see it.
            mock.patch.dict(SETS, {folder.name: module.__name__}),
        ):
            fetch(folder.name)

    return write, lambda path: {data: name for name, data in images.items()}[path.read_bytes()]


def brackets(folder: Path) -> Work:
    """Radii with their proofs."""
    bracket(folder)
    found = fa.load_bracket(folder / "radii.npz")
    empty(folder)
    return lambda: found.save(folder / "radii.npz"), fa.load_bracket


def records(folder: Path) -> Work:
    """A record: two files that belong together."""
    record_json(folder)
    (record,), _ = read_folder(folder)

    def read(path: Path) -> object:
        return read_record(path.with_suffix(".json"))

    return lambda: write_record(record, folder), read


def pages(folder: Path) -> Work:
    """A page about a record."""
    with TemporaryDirectory() as other:
        record_json(Path(other))
        found, _ = read_folder(Path(other))
    return lambda: write_report(found, folder / "page.html"), _whole_text


def report_command(folder: Path) -> Work:
    """`featavg report` as a page and as a table."""
    source = _beside(folder)
    record_json(source)

    def write() -> None:
        for name in ("page.html", "table.md"):
            _command("report", str(source), "-o", str(folder / name))

    return write, _whole_text


def figures_command(folder: Path) -> Work:
    """`featavg figures` as two files of each picture."""
    source = _beside(folder)
    _drawn(source)
    wanted = ("--format", "pdf", "--format", "svg")
    return lambda: _command("figures", str(source), "-o", str(folder), *wanted), _whole_picture


def refine_command(folder: Path) -> Work:
    """`featavg refine`: a model, a page and numbers."""
    source = _beside(folder) / "points.npz"
    points, labels = _points()
    np.savez(source, x=points, y=labels)
    places = ("-o", str(folder / "model.npz"), "-p", str(folder / "page.html"), "--json", str(folder / "found.json"))
    options = ("--subclasses", "2", "--no-baselines", *places)

    def read(path: Path) -> object:
        return fa.load_classifier(path) if path.suffix == ".npz" else _whole_text(path)

    return lambda: _command("refine", str(source), *options), read


def diagnose_command(folder: Path) -> Work:
    """`featavg diagnose`: a page and numbers."""
    source = _beside(folder)
    points, labels = _points()
    model = fa.SubclassClassifier(2, steps=5, random_state=0).fit(points, labels)
    fa.save_classifier(model, source / "model.npz")
    np.savez(source / "points.npz", x=points, y=labels)
    given = (str(source / "model.npz"), str(source / "points.npz"))
    places = ("-o", str(folder / "page.html"), "--json", str(folder / "found.json"))
    return lambda: _command("diagnose", *given, *places), _whole_text


def lab_command(folder: Path) -> Work:
    """`featavg lab` as a page."""
    return lambda: _command("lab", "-o", str(folder / "lab.html")), _whole_text


def sweep_command(folder: Path) -> Work:
    """`featavg sweep` as a table and as a picture."""
    store = _beside(folder) / "store"
    run_sweep({"function": "featavg.sweep.examples:line", "axes": {"slope": [1, 2]}, "seeds": 2}, store, workers=0)

    def write() -> None:
        _command("sweep", "export", str(store), str(folder / "table.csv"))
        _command("sweep", "draw", str(store), "--value", "height", "--x", "slope", "-o", str(folder / "picture.svg"))

    return write, lambda path: _whole_picture(path) if path.suffix == ".svg" else path.read_text().splitlines()[4]


def reproduce_command(folder: Path) -> Work:
    """`featavg reproduce` of a claim that takes no time: its record and the report."""

    def read(path: Path) -> object:
        return _whole_text(path) if path.suffix == ".html" else read_record(path.with_suffix(".json"))

    arguments = ("reproduce", "growing", "--fresh", "-o", str(folder))
    return lambda: _command(*arguments, experiments="tests.cli.toy_claims"), read


def _points() -> tuple[Array, Ints]:
    """Four clusters, two of each class."""
    fine = np.arange(60) % 4
    return 6.0 * np.eye(4)[fine] + np.random.default_rng(0).normal(size=(60, 4)), fine % 2


def _command(*arguments: str, experiments: str = "featavg.experiments") -> None:
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):
        try:
            main(arguments, experiments)
        except SystemExit as error:
            if error.code:  # of an end in order nothing is said
                raise


def empty(folder: Path) -> None:
    """Leave nothing in a folder."""
    shutil.rmtree(folder)
    folder.mkdir()


def _beside(folder: Path) -> Path:
    other = folder.parent / "in"
    other.mkdir(exist_ok=True)
    return other


def _drawn(folder: Path) -> None:
    record_json(folder)
    (record,), _ = read_folder(folder)
    drawing = Drawing("curves", {"x": "values", "y": "values"}, caption="c", options={"labels": ["a", "b"]})
    write_record(replace(record, evidence=replace(record.evidence, drawings=(drawing,))), folder)


def _whole_text(path: Path) -> object:
    """A page, JSON or Markdown: raises if its end is not there."""
    if path.suffix == ".json":
        return json.loads(path.read_text())
    return path.read_text().rindex("</html>" if path.suffix == ".html" else "|")


def _whole_picture(path: Path) -> object:
    return path.read_bytes().rindex(b"%%EOF" if path.suffix == ".pdf" else b"</svg>")


WORKS: dict[str, Callable[[Path], Work]] = {
    "classifiers": classifiers, "networks": networks, "weights": weights, "brackets": brackets, "records": records,
    "pages": pages, "cache": fetched, "report": report_command, "figures": figures_command, "lab": lab_command,
    "sweep": sweep_command, "reproduce": reproduce_command, "diagnose": diagnose_command, "refine": refine_command,
}  # fmt: skip
