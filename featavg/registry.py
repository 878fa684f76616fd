"""Members found by name and imported when they are named, so that a new one is a new file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import ModuleType


@dataclass(frozen=True)
class Registry:
    """Names → modules of one family; `what` says in errors what they are.

    >>> Registry("json readers", {"json": "json"}).module("json").loads("[1]")
    [1]
    """

    what: str
    modules: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of_folder(cls, what: str, package: str, init: str) -> Registry:
        """Every module beside `init`, the `__file__` of `package`, under its file's name; `_` is written as `-`.

        >>> from featavg.data import sets
        >>> Registry.of_folder("data sets", "featavg.data.sets", sets.__file__).names()
        ('cifar10', 'digits', 'fashion-mnist', 'mnist')
        """
        stems = sorted(file.stem for file in Path(init).parent.glob("*.py") if not file.stem.startswith("_"))
        return cls(what, {stem.replace("_", "-"): f"{package}.{stem}" for stem in stems})

    def add(self, name: str, module: str) -> None:
        """Make `module` (its dotted path) the member called `name`; a later one replaces an earlier one."""
        self.modules[name] = module

    def names(self) -> tuple[str, ...]:
        """The names of all members."""
        return tuple(self.modules)

    def __contains__(self, name: str) -> bool:
        return name in self.modules

    def __iter__(self) -> Iterator[ModuleType]:
        return map(self.module, self.modules)

    def module(self, name: str) -> ModuleType:
        """The member called `name`, imported now."""
        return import_module(self.modules[name])
