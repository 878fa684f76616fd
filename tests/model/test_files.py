"""Networks on disk come back as they were; damaged and foreign files are refused, and nothing in them is run."""

from __future__ import annotations

import json
import pickle
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from featavg import BinaryNetwork, InputError, MulticlassNetwork, load_network, sample_clusters, save_network
from featavg.model import Activation, Argmax, Layer, Network, same_network

DATA = sample_clusters(clusters=4, samples=10, seed=0)
NETWORKS: list[Any] = [
    BinaryNetwork.random(DATA, 2, seed=1),
    MulticlassNetwork.random(DATA, 2, seed=1),
    MulticlassNetwork(np.eye(3), np.zeros(3), np.eye(3), np.ones(3)),
    BinaryNetwork(np.eye(2), [0.0, 0.0], [[1.0, -1.0]], [0.5], labels=np.array(["cat", "dog"])),
    MulticlassNetwork.random(DATA, 1, seed=1).reading("maximum"),
    Network((Layer(np.eye(2), np.zeros(2)),) * 3, Argmax(np.array([3, 7])), Activation(power=2)),
    Network((Layer(np.arange(6.0).reshape(3, 2).T, np.arange(4.0)[::2]), Layer(np.ones((1, 2)), np.zeros(1)))),
]
ENDINGS = [".npz", ".safetensors"]


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("network", NETWORKS)
def test_a_network_comes_back_as_it_was(network: Any, ending: str, tmp_path: Path) -> None:
    save_network(network, tmp_path / f"net{ending}")
    back = load_network(tmp_path / f"net{ending}")
    assert same_network(back, network)
    assert [file.name for file in tmp_path.iterdir()] == [f"net{ending}"]  # nothing half written beside it


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_file_cut_anywhere_is_refused(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"net{ending}"
    save_network(NETWORKS[2], path)
    whole = path.read_bytes()
    for length in range(0, len(whole), max(1, len(whole) // 150)):
        path.write_bytes(whole[:length])
        with pytest.raises(InputError, match="is damaged or no network file"):
            load_network(path)


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_file_with_a_wrong_byte_is_refused_or_reads_as_a_network(ending: str, tmp_path: Path) -> None:
    """Only npz has checksums; in safetensors a wrong byte in a number is a wrong number."""
    path = tmp_path / f"net{ending}"
    save_network(NETWORKS[1], path)
    whole, refused = path.read_bytes(), 0
    rng = np.random.default_rng(0)
    for place in rng.integers(len(whole), size=400):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ int(rng.integers(1, 256))]) + whole[place + 1 :])
        try:
            load_network(path)
        except InputError:
            refused += 1
    assert refused > 0


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_header_with_a_wrong_byte_is_refused_or_reads_as_a_network(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"net{ending}"
    save_network(NETWORKS[2], path)
    whole = path.read_bytes()
    for place in range(0, len(whole), 3):
        for flip in (1, 0x80, 0xFF):
            path.write_bytes(whole[:place] + bytes([whole[place] ^ flip]) + whole[place + 1 :])
            with suppress(InputError):  # and no other error
                load_network(path)


class Bomb:
    def __reduce__(self) -> tuple[Any, ...]:
        return (pytest.fail, ("a pickle was run",))


def test_pickles_are_refused_and_not_run(tmp_path: Path) -> None:
    np.savez(tmp_path / "net.npz", weights=np.array([Bomb()], dtype=object))
    with pytest.raises(InputError, match=r"is damaged or no network file .*got pickled objects, which could run code"):
        load_network(tmp_path / "net.npz")
    for ending in ENDINGS:
        (tmp_path / f"raw{ending}").write_bytes(pickle.dumps(Bomb()))
        with pytest.raises(InputError, match="is damaged or no network file"):
            load_network(tmp_path / f"raw{ending}")


def test_whole_files_of_other_things_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "other.npz", weights=np.eye(2))
    with pytest.raises(InputError, match="holds no network of this kind"):
        load_network(tmp_path / "other.npz")
    with open(tmp_path / "array.npz", "wb") as file:
        np.save(file, np.eye(2))
    with pytest.raises(InputError, match="is damaged or no network file"):
        load_network(tmp_path / "array.npz")
    arrays = {"weights": np.eye(2), "biases": np.zeros(2), "second": np.ones((1, 2)), "output_bias": np.zeros(1)}
    for kind, extra in (
        (7, {}),
        (-1, {}),
        (0, {"third": np.eye(2)}),
        (0, {"biases": np.full(2, np.nan)}),
        (1, {"class_labels": np.ones(9)}),
    ):
        np.savez(tmp_path / "odd.npz", **{**arrays, **extra}, kind=np.array(kind), coordinates=np.array(0))  # type: ignore[arg-type]
        with pytest.raises(InputError, match="holds no network of this kind"):
            load_network(tmp_path / "odd.npz")
    (tmp_path / "net.json").write_text(json.dumps({"weights": [[1.0]]}))
    with pytest.raises(InputError, match="is damaged or no network file"):
        load_network(tmp_path / "net.json")


def test_paths_that_lead_nowhere_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no model at .*missing.npz; check the path"):
        load_network(tmp_path / "missing.npz")
    with pytest.raises(InputError, match="no model at"):
        load_network(tmp_path)
    with pytest.raises(InputError, match=r"mlp.joblib is a pickle, which can run any code when it is read"):
        load_network(tmp_path / "mlp.joblib")
    with pytest.raises(InputError, match=r"must end in .npz, .safetensors or .onnx, got net.pt"):
        save_network(NETWORKS[0], tmp_path / "net.pt")
    with pytest.raises(InputError, match=r"cannot write .*nowhere.net.npz"):
        save_network(NETWORKS[0], tmp_path / "nowhere" / "net.npz")


def test_files_of_the_first_version_are_read(tmp_path: Path) -> None:
    """Arrays by name, a number for the kind: what `save_network` wrote before layers had numbers."""
    own = {"weights": np.eye(3), "biases": np.zeros(3), "output_bias": np.zeros(1), "coordinates": np.array(1)}
    np.savez(tmp_path / "one.npz", kind=np.array(0), second=np.ones((1, 3)), **own)  # type: ignore[arg-type]
    one = BinaryNetwork(np.eye(3), np.zeros(3), np.ones((1, 3)), [0.0], coordinates="compact")
    assert same_network(load_network(tmp_path / "one.npz"), one)
    own |= {"output_bias": np.zeros(2), "class_labels": np.array([1, -1])}
    np.savez(tmp_path / "two.npz", kind=np.array(1), second=np.ones((2, 3)), **own)  # type: ignore[arg-type]
    two = MulticlassNetwork(np.eye(3), np.zeros(3), np.ones((2, 3)), np.zeros(2), [1, -1], coordinates="compact")
    assert same_network(load_network(tmp_path / "two.npz"), two)
