"""Every run of the tests is the same run, in whatever order; the campaign is where new ground is searched."""

from collections.abc import Iterator

import pytest
from hypothesis import settings

from featavg.data import SETS
from featavg.data.readers import READERS
from featavg.model.adapters import ADAPTERS
from featavg.registry import Registry
from featavg.robustness.norms import NORMS

settings.register_profile("fixed", derandomize=True, deadline=None)
settings.load_profile("fixed")

REGISTRIES: tuple[Registry, ...] = (SETS, READERS, ADAPTERS, NORMS)


@pytest.fixture(autouse=True)
def nothing_stays_registered() -> Iterator[None]:
    """What a test adds for itself it takes away again: tests are spread over processes in any order."""
    before = [dict(registry) for registry in REGISTRIES]
    yield
    assert [dict(registry) for registry in REGISTRIES] == before
