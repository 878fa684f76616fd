import os
import pickle

import pytest
import torch
from safetensors.torch import save_file

from featavg.deep import ResNet18, load_weights, read_card, read_state, save_weights
from featavg.errors import InputError


class Runs:
    def __reduce__(self):
        return os.system, ("true",)


@pytest.fixture
def module():
    return ResNet18(3, width=2, seed=1)


def same(one, other):
    return all(torch.equal(value, other.state_dict()[name]) for name, value in one.state_dict().items())


@pytest.mark.parametrize("name", ["w.safetensors", "w.pth", "w.pt"])
@pytest.mark.parametrize("wrapped", [False, True])
def test_weights_come_back_as_they_were(module, tmp_path, name, wrapped):
    path = tmp_path / name
    if path.suffix == ".safetensors":
        save_weights(module, path)
    else:
        state = {f"module.{key}" if wrapped else key: value for key, value in module.state_dict().items()}
        torch.save({"state_dict": state, "epoch": 3} if wrapped else state, path)
    other = ResNet18(3, width=2, seed=2)
    assert not same(module, other)
    assert same(module, load_weights(other, path))


def test_the_file_is_the_same_for_the_same_weights_and_tells_its_hash_and_card(module, tmp_path):
    card = {"name": "tiny", "results": {"accuracy": 0.5}}
    hashes = {save_weights(module.to(memory_format=form), tmp_path / "w.safetensors", card)
              for form in (torch.contiguous_format, torch.channels_last)}  # fmt: skip
    assert len(hashes) == 1
    assert read_card(tmp_path / "w.safetensors") == card
    load_weights(module, tmp_path / "w.safetensors", sha256=hashes.pop())
    with pytest.raises(InputError, match="must have SHA-256 00"):
        load_weights(module, tmp_path / "w.safetensors", sha256="00")


def test_a_state_dict_that_does_not_fit_is_named_key_by_key(module, tmp_path):
    state = module.state_dict()
    state["extra.weight"] = torch.zeros(2)
    del state["head.bias"]
    state["head.weight"] = torch.zeros(5, 16)
    save_file(state, tmp_path / "w.safetensors")
    expected = (
        r"missing head\.bias; unexpected extra\.weight; "
        r"of another shape head\.weight \(5, 16\) instead of \(3, 16\)"
    )
    with pytest.raises(InputError, match=expected):
        load_weights(module, tmp_path / "w.safetensors")
    with pytest.raises(InputError, match=r"and \d+ more"):
        load_weights(torch.nn.Linear(2, 2), tmp_path / "w.safetensors")


@pytest.mark.parametrize("save", [lambda what, path: torch.save(what, path), lambda what, path: path.write_bytes(pickle.dumps(what))], ids=["torch", "pickle"])  # fmt: skip  # noqa: E501
def test_a_pickle_with_code_is_refused_with_the_reason(module, tmp_path, save):
    save({"weight": Runs()}, tmp_path / "w.pt")
    with pytest.raises(
        InputError, match=r"may run code and is refused \(.*(system|operand).*\); save module.state_dict"
    ):
        load_weights(module, tmp_path / "w.pt")


def test_a_whole_module_in_a_file_is_refused(module, tmp_path):
    torch.save(module, tmp_path / "w.pt")
    with pytest.raises(InputError, match="ResNet18"):
        read_state(tmp_path / "w.pt")


def test_files_that_are_no_weights_are_refused(module, tmp_path):
    with pytest.raises(InputError, match="no weights at"):
        read_state(tmp_path / "none.pt")
    (tmp_path / "w.onnx").write_bytes(b"x")
    with pytest.raises(InputError, match="must end in"):
        read_state(tmp_path / "w.onnx")
    for name in ("w.safetensors", "w.pt"):
        (tmp_path / name).write_bytes(b"PK\x03\x04 half a file")
        with pytest.raises(InputError, match="damaged"):
            read_state(tmp_path / name)
    torch.save([1, 2], tmp_path / "list.pt")
    with pytest.raises(InputError, match="must hold a state dict"):
        read_state(tmp_path / "list.pt")
    with pytest.raises(InputError, match=r"written as \.safetensors"):
        save_weights(module, tmp_path / "w.pt")
    with pytest.raises(InputError, match="cannot make the folder"):
        save_weights(module, tmp_path / "list.pt" / "w.safetensors")
