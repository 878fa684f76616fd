"""Which radius is tried next: also when the time has run out while the last one was tried."""

import time

import pytest

from featavg.robustness.search.budget import Budget, Clock
from featavg.robustness.search.ladder import Rung, next_rung


@pytest.mark.parametrize("late", [0.0, 5.0])
def test_the_next_radius_is_a_number_when_the_time_has_run_out(late):
    clock = Clock(Budget(seconds=10.0), ends=float("inf"), began=time.process_time() - 10.0 - late)
    rung = next_rung([(1.0, 2.0), (1.5, 4.0)], Rung(1.5, 100, 1.0), whole=True, incumbent=9.0, lost=0.0, clock=clock)
    assert 1.5 < rung.reach < 9.0
    assert rung.seconds <= 0
