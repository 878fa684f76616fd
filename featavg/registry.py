"""Members found by name and imported when they are named, so that a new one is a new file."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import ModuleType


class Registry(dict[str, str]):
    """Names → dotted modules of one family; a later one of a name replaces an earlier one.

    >>> Registry({"json": "json"}).module("json").loads("[1]")
    [1]
    """

    @classmethod
    def of_folder(cls, package: str, init: str) -> Registry:
        """Every module beside `init`, the `__file__` of `package`, under its file's name; `_` is written as `-`.

        >>> from featavg.data import sets
        >>> list(Registry.of_folder("featavg.data.sets", sets.__file__))
        ['cifar10', 'digits', 'fashion-mnist', 'mnist']
        """
        stems = sorted(file.stem for file in Path(init).parent.glob("*.py") if not file.stem.startswith("_"))
        return cls({stem.replace("_", "-"): f"{package}.{stem}" for stem in stems})

    def add(self, name: str, module: str) -> None:
        """Make `module` (its dotted path) the member called `name`."""
        self[name] = module

    def module(self, name: str) -> ModuleType:
        """The member called `name`, imported now."""
        return import_module(self[name])
