"""Members found by name and imported when they are named, so that a new one is a new file."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from types import ModuleType


@dataclass(frozen=True)
class Registry:
    """Names → modules of one family; `what` says in errors what they are.

    >>> Registry("json readers", {"json": "json"}).module("json").loads("[1]")
    [1]
    """

    what: str
    modules: dict[str, str] = field(default_factory=dict)

    def add(self, name: str, module: str) -> None:
        """Make `module` (its dotted path) the member called `name`; a later one replaces an earlier one."""
        self.modules[name] = module

    def names(self) -> tuple[str, ...]:
        """The names of all members."""
        return tuple(self.modules)

    def __contains__(self, name: str) -> bool:
        return name in self.modules

    def module(self, name: str) -> ModuleType:
        """The member called `name`, imported now."""
        return import_module(self.modules[name])
