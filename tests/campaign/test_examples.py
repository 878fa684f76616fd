"""The examples in the campaign's docstrings are executed."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import campaign.soundness

MODULES = [module.name for module in pkgutil.iter_modules(campaign.soundness.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    module = importlib.import_module(f"campaign.soundness.{name}")
    assert doctest.testmod(module).failed == 0


def test_there_are_examples() -> None:
    finder = doctest.DocTestFinder()
    modules = [importlib.import_module(f"campaign.soundness.{name}") for name in MODULES]
    assert sum(bool(test.examples) for module in modules for test in finder.find(module)) >= 8
