"""Whole files of every kind that the package reads, small ones, and the reader of each."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image

import featavg as fa
from featavg.data import open_data
from featavg.record import Claim, Evidence, Record, Table, read_record, write_record

Whole = tuple[dict[Path, bytes], Callable[[Path], object]]  # files that are mutated, and what reads one of them
RNG = np.random.default_rng(0)
X, Y, FINE = RNG.normal(size=(12, 4)), np.array(["cat", "dog"] * 6), np.array(["tom", "pug", "siam", "lab"] * 3)


def _contents(*paths: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in paths}


def npz_data(folder: Path) -> Whole:
    """Points and images with labels."""
    np.savez(folder / "points.npz", x=X, y=Y, sublabels=FINE)
    np.savez_compressed(folder / "images.npz", x=RNG.integers(256, size=(12, 3, 5), dtype=np.uint8), y=[1, 2] * 6)
    return _contents(folder / "points.npz", folder / "images.npz"), fa.read_points


def csv_data(folder: Path) -> Whole:
    """A table with a quoted name in it."""
    rows = [",".join([*(f"{value:.3f}" for value in row), f'"{label}"']) for row, label in zip(X, Y, strict=True)]
    (folder / "points.csv").write_text("\n".join(["a,b,c,d,label", *rows]) + "\n")
    return _contents(folder / "points.csv"), fa.read_points


def sublabels(folder: Path) -> Whole:
    """Sub-labels in a file of their own."""
    np.savez(folder / "points.npz", x=X, y=Y)
    (folder / "fine.csv").write_text("\n".join(["breed", *FINE]) + "\n")
    return _contents(folder / "fine.csv"), lambda path: open_data(str(folder / "points.npz"), sublabels=str(path))


def images(folder: Path) -> Whole:
    """An image of each format beside whole ones."""
    pixels = RNG.integers(256, size=(6, 7, 3), dtype=np.uint8)
    paths = [
        folder / ending / group / f"x.{ending}"
        for ending in ("png", "jpg", "gif", "bmp", "tif", "webp", "ppm")
        for group in ("cat", "dog")
    ]
    for path in paths:
        path.parent.mkdir(parents=True)
        Image.fromarray(pixels).save(path)
    return _contents(*paths), lambda path: fa.read_points(path.parents[1])


def _network() -> fa.Network:
    data = fa.sample_clusters(clusters=4, dim=30, samples=12, seed=0, coordinates="ambient")
    return fa.MulticlassNetwork.random(data, 1, seed=1)


def network(folder: Path) -> Whole:
    """A network, and one with names beside it."""
    fa.save_network(_network(), folder / "net.npz")
    fa.save_classifier(fa.SubclassClassifier(2, steps=5, random_state=0).fit(X, Y), folder / "model.npz")
    return _contents(folder / "net.npz", folder / "model.npz"), _either


def network_safetensors(folder: Path) -> Whole:
    """The same as safetensors."""
    fa.save_network(_network(), folder / "net.safetensors")
    return _contents(folder / "net.safetensors"), fa.load_network


def _either(path: Path) -> object:
    return fa.load_classifier(path) if path.stem == "model" else fa.load_network(path)


def record_json(folder: Path) -> Whole:
    """The text of a record."""
    return _contents(_record(folder)), read_record


def record_arrays(folder: Path) -> Whole:
    """The arrays of a record, behind a hash that fits them."""
    import hashlib

    path = _record(folder)
    arrays, text = path.with_suffix(".npz"), path.read_text()
    before = hashlib.sha256(arrays.read_bytes()).hexdigest()

    def read(damaged: Path) -> object:
        path.write_text(text.replace(before, hashlib.sha256(damaged.read_bytes()).hexdigest()))
        return read_record(path)

    return _contents(arrays), read


def _record(folder: Path) -> Path:
    claim = Claim.over_seeds([1.0, 1.1], "c", source="s", expected=1, tolerance=1, tolerance_reason="r")
    table = Table.of({"values": np.arange(6.0).reshape(2, 3), "names": np.array(["a", "b"])})
    return write_record(Record("toy", "Toy", {"dim": 3}, (0, 1), (claim,), Evidence(table)), folder)


def bracket(folder: Path) -> Whole:
    """Radii with their proofs."""
    network = fa.BinaryNetwork(np.eye(2, 3), np.zeros(2), np.array([[1.0, -1.0]]), np.zeros(1))
    points = np.array([[1.0, 0.2, 0.0], [0.1, 1.0, 0.3]])
    fa.robust_radius(network, points, np.array([1, -1])).save(folder / "radii.npz")
    return _contents(folder / "radii.npz"), fa.load_bracket


def weights(folder: Path) -> Whole:
    """State dicts of torch."""
    import torch

    from featavg.deep import SmallCNN, read_state, save_weights

    module = SmallCNN(2, shape=(1, 8, 8), hidden=2, seed=0)
    torch.save(module.state_dict(), folder / "net.pt")
    save_weights(module, folder / "net.safetensors")
    return _contents(folder / "net.pt", folder / "net.safetensors"), read_state


def network_onnx(folder: Path) -> Whole:
    """The same as ONNX."""
    fa.save_network(_network(), folder / "net.onnx")
    return _contents(folder / "net.onnx"), fa.load_network


def network_skops(folder: Path) -> Whole:
    """A network of scikit-learn, as skops keeps it."""
    import skops.io
    from sklearn.linear_model import LogisticRegression

    skops.io.dump(LogisticRegression().fit(X, Y), folder / "line.skops")
    _without_addresses(folder / "line.skops")
    return _contents(folder / "line.skops"), fa.load_network


def _without_addresses(path: Path) -> None:
    """skops names things by their places in memory; with small numbers instead a file is the same every time."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    schema = members["schema.json"].decode()
    for number, address in enumerate(dict.fromkeys(re.findall(r"\d{12,}", schema))):
        schema = schema.replace(address, str(number))
        members = {name.replace(address, str(number)): content for name, content in members.items()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in (members | {"schema.json": schema.encode()}).items():
            archive.writestr(zipfile.ZipInfo(name), content)


READERS: dict[str, Callable[[Path], Whole]] = {
    "npz data": npz_data,
    "CSV data": csv_data,
    "CSV sub-labels": sublabels,
    "images": images,
    "networks": network,
    "networks as safetensors": network_safetensors,
    "networks as ONNX": network_onnx,
    "networks as skops": network_skops,
    "records": record_json,
    "arrays of records": record_arrays,
    "brackets": bracket,
    "weights": weights,
}
