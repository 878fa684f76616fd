"""Brackets that left the process: verified elsewhere, refused if they are about something else or damaged."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_allclose

from featavg import InputError, load_bracket, robust_radius, save_network, verify_bracket_file
from featavg.cli import main
from featavg.model import BinaryNetwork, MulticlassNetwork


def random_network(rng, outputs=1):
    arrays = [rng.standard_normal(size) for size in ((8, 6), 8, (outputs, 8), outputs)]
    return BinaryNetwork(*arrays) if outputs == 1 else MulticlassNetwork(*arrays, class_labels=np.arange(outputs) % 2)


@pytest.fixture
def saved(tmp_path):
    rng = np.random.default_rng(0)
    network, x = random_network(rng), rng.standard_normal((4, 6))
    y = np.where(network.score(x) >= 0, 1, -1)
    found = robust_radius(network, x, y)
    found.save(tmp_path / "bracket.npz")
    save_network(network, tmp_path / "network.npz")
    np.savez(tmp_path / "data.npz", x=x, y=y)
    return tmp_path, found, network, (x, y)


def test_a_bracket_leaves_the_process_and_is_verified_elsewhere(saved):
    folder, found, network, data = saved
    back = load_bracket(folder / "bracket.npz")
    assert back.verify().all()
    assert back.verify(audit=True).all()
    assert_allclose(back[1:3].lower, found.lower[1:3])
    assert verify_bracket_file(folder / "bracket.npz", network, data)[1].all()
    assert len(repr(found)) < 120


@pytest.mark.parametrize("readout", ["argmax", "maximum", "summed-logits"])
def test_labels_of_every_read_out_are_compared(readout, tmp_path):
    rng = np.random.default_rng(5)
    network, x = random_network(rng, 4), rng.standard_normal((4, 6))
    y = network.reading(readout).predict(x)
    robust_radius(network, x, y, readout=readout).save(tmp_path / "b.npz")
    assert verify_bracket_file(tmp_path / "b.npz", network, (x, y))[1].all()
    with pytest.raises(InputError, match="other labels"):
        verify_bracket_file(tmp_path / "b.npz", network, (x, 1 - np.minimum(y, 1)))


def test_another_network_other_points_and_damaged_files_are_refused(saved):
    folder, _, network, (x, y) = saved
    file = folder / "bracket.npz"
    with pytest.raises(InputError, match="another network"):
        verify_bracket_file(file, random_network(np.random.default_rng(4)))
    with pytest.raises(InputError, match="other points"):
        verify_bracket_file(file, network, (x[::-1], y))
    with pytest.raises(InputError, match="other labels"):
        verify_bracket_file(file, network, (x, -y))
    with pytest.raises(InputError, match="no bracket file"):
        verify_bracket_file(folder / "network.npz")
    (folder / "half.npz").write_bytes(file.read_bytes()[:-400])
    with pytest.raises(InputError, match="damaged"):
        verify_bracket_file(folder / "half.npz")
    with pytest.raises(InputError, match="no bracket file at"):
        load_bracket(folder / "nothing.npz")


def test_the_command_says_what_holds_and_its_exit_code_what_does_not(saved, capsys):
    folder, found, _, _ = saved
    with pytest.raises(SystemExit) as done:
        main(["verify", *(str(folder / name) for name in ("bracket.npz", "network.npz", "data.npz"))])
    assert done.value.code == 0
    assert "4 of 4 brackets hold" in capsys.readouterr().out
    found.lower[1] *= 1.01
    found.save(folder / "raised.npz")
    with pytest.raises(SystemExit) as done:
        main(["verify", str(folder / "raised.npz")])
    assert done.value.code == 1
    assert "3 of 4 brackets hold" in capsys.readouterr().out


def test_a_place_that_cannot_be_written_is_named_and_writers_do_not_hinder_each_other(saved):
    tmp_path, found, *_ = saved
    with pytest.raises(InputError, match="cannot write"):
        found.save(tmp_path / "no" / "again.npz")
    with ThreadPoolExecutor(4) as writers:
        assert all(each is None for each in writers.map(lambda _: found.save(tmp_path / "again.npz"), range(40)))
    assert [path.name for path in tmp_path.glob("*again*")] == ["again.npz"]
    assert load_bracket(tmp_path / "again.npz").verify().all()
