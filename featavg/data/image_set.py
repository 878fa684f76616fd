"""What an image set is: classes, sources, and the hashes that decide whether what came is its content."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from featavg.arrays import Ints

Bytes = NDArray[np.uint8]
Part = Literal["train", "test"]
Decode = Callable[[Part, Sequence[bytes]], tuple[Bytes, Ints]]  # a part and its files -> pixels and classes
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
    """A labelled set of images of one size, and all ways to get it; one without files comes with a package."""

    name: str
    shape: tuple[int, ...]  # (height, width) or (height, width, channel)
    class_names: tuple[str, ...]
    decode: Decode
    brightest: float = 255.0  # the byte of a white pixel
    comes_with: str = ""  # the package that holds it, if nothing is fetched
    train: tuple[Content, ...] = ()  # files of a part, in the order that `decode` takes them
    test: tuple[Content, ...] = ()
    mirrors: tuple[str, ...] = ()  # official addresses, each the start of the address of every archive
    archives: tuple[str, ...] = ()  # what to download from a mirror
    package: Package | None = None
    labels: Mapping[str, tuple[str, int]] = field(default_factory=dict)  # sprite batch -> file of labels, first one

    @property
    def contents(self) -> tuple[Content, ...]:
        """All files of the set."""
        return self.train + self.test

    @property
    def size(self) -> int:
        """Bytes of all files together."""
        return sum(content.size for content in self.contents)
