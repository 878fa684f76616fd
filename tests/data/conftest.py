"""Image sets that exist only in a test."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType

import pytest

from featavg.data import SETS, ImageSet


@pytest.fixture
def add_set(monkeypatch: pytest.MonkeyPatch) -> Callable[[ImageSet], None]:
    """Add a set as a user's own file would: a module that holds it, under its name."""

    def add(made: ImageSet) -> None:
        module = ModuleType(f"set_of_a_test_{made.name}")
        module.SET = made  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, module.__name__, module)
        monkeypatch.setitem(SETS, made.name, module.__name__)

    return add
