"""Work that writes files, for the campaign to kill: each puts whole files of its kind into a folder."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import featavg as fa
from campaign.whole_files import X, Y, bracket, network, record_json
from featavg.cli import main
from featavg.record import Drawing, read_folder, read_record, write_record
from featavg.report import write_report

Work = tuple[Callable[[], object], Callable[[Path], object]]  # what writes into a folder, and what reads a file of it


def classifiers(folder: Path) -> Work:
    """A classifier, again and again."""
    model = fa.SubclassClassifier(2, steps=5, random_state=0).fit(X, Y)
    return lambda: fa.save_classifier(model, folder / "model.npz"), fa.load_classifier


def networks(folder: Path) -> Work:
    """A network in two formats."""
    network(folder)
    net = fa.load_network(folder / "net.npz")
    empty(folder)

    def write() -> None:
        for name in ("net.npz", "net.safetensors"):
            fa.save_network(net, folder / name)

    return write, fa.load_network


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
    return lambda: write_report(found, folder / "page.html"), _whole_page


def report_command(folder: Path) -> Work:
    """`featavg report` as a page and as a table."""
    source = _beside(folder)
    record_json(source)

    def write() -> None:
        for name in ("page.html", "table.md"):
            _command("report", str(source), "-o", str(folder / name))

    return write, lambda path: _whole_page(path) if path.suffix == ".html" else path.read_text().index("|")


def figures_command(folder: Path) -> Work:
    """`featavg figures` as two files of each picture."""
    source = _beside(folder)
    _drawn(source)
    wanted = ("--format", "pdf", "--format", "svg")
    return lambda: _command("figures", str(source), "-o", str(folder), *wanted), _whole_picture


def refine_command(folder: Path) -> Work:
    """`featavg refine`: a model, a page and numbers."""
    source = _beside(folder) / "points.npz"
    rng = np.random.default_rng(0)
    fine = np.arange(60) % 4
    np.savez(source, x=6.0 * np.eye(4)[fine] + rng.normal(size=(60, 4)), y=fine % 2)
    places = ("-o", str(folder / "model.npz"), "-p", str(folder / "page.html"), "--json", str(folder / "found.json"))
    options = ("--subclasses", "2", "--no-baselines", *places)

    def read(path: Path) -> object:
        if path.suffix == ".npz":
            return fa.load_classifier(path)
        return _whole_page(path) if path.suffix == ".html" else path.read_text().rindex("}")

    return lambda: _command("refine", str(source), *options), read


def _command(*arguments: str) -> None:
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):
        try:
            main(arguments)
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


def _whole_page(path: Path) -> object:
    return path.read_text().rindex("</html>")


def _whole_picture(path: Path) -> object:
    return path.read_bytes().rindex(b"%%EOF" if path.suffix == ".pdf" else b"</svg>")


WORKS: dict[str, Callable[[Path], Work]] = {
    "classifiers": classifiers, "networks": networks, "brackets": brackets, "records": records, "pages": pages,
    "report": report_command, "figures": figures_command, "refine": refine_command,
}  # fmt: skip
