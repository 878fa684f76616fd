"""Inside the verbs every product has one thread, and nobody outside notices."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import sklearn.cluster  # brings the OpenMP pool of scikit-learn
import threadpoolctl
import torch

import featavg as fa
from featavg.experiments import Chapter, Expect, reproduce
from featavg.refine import classifier, sublabels
from featavg.robustness import answering
from featavg.robustness.attacks.base import Attack, Found
from featavg.robustness.attacks.field import Field
from featavg.threads import one_thread

WIDE = 3  # threads that the caller has set, more than the one that the environment of the tests allows
assert sklearn.cluster


def widths(api: str | None = None) -> set[int]:
    """How many threads the pools of this process and this thread have; torch counts as one of OpenMP's."""
    found = {pool["num_threads"] for pool in threadpoolctl.threadpool_info() if api in (None, pool["user_api"])}
    return found if api == "blas" else found | {torch.get_num_threads()}


def widen(threads: int) -> None:
    for pool in threadpoolctl.ThreadpoolController().lib_controllers:
        pool.set_num_threads(threads)
        if pool.internal_api == "openblas":
            pool.clear_controlling_thread()  # or no other thread could change it
    torch.set_num_threads(threads)


@pytest.fixture(autouse=True)
def wide() -> Iterator[None]:
    before = torch.get_num_threads()
    widen(WIDE)
    yield
    widen(before)


def test_the_setting_is_given_back() -> None:
    assert widths() == {WIDE}
    with one_thread():
        assert widths() == {1}
    assert widths() == {WIDE}


def test_the_setting_is_given_back_by_the_outermost_alone() -> None:
    with one_thread():
        with one_thread():
            assert widths() == {1}
        assert widths() == {1}
    assert widths() == {WIDE}


def test_the_setting_is_given_back_after_an_exception() -> None:
    with pytest.raises(ZeroDivisionError), one_thread(), one_thread():
        raise ZeroDivisionError
    assert widths() == {WIDE}


def test_the_setting_of_an_enclosing_limit_is_given_back_to_it() -> None:
    with threadpoolctl.threadpool_limits(2):
        with one_thread():
            assert widths("blas") == {1}
        assert widths("blas") == {2}
    assert widths() == {WIDE}


def test_what_someone_sets_inside_stays() -> None:
    with one_thread():
        widen(2)
    assert widths() == {2}


def test_four_threads_that_leave_in_the_order_they_came() -> None:
    """The first to leave must not widen the pools of the others, and the last must know what the first has found."""
    inside, out, seen = [threading.Event() for _ in range(4)], [threading.Event() for _ in range(4)], []

    def visit(number: int) -> set[int]:
        with one_thread():
            inside[number].set()
            assert out[number].wait(20)
            seen.append(widths())
        return {torch.get_num_threads()}

    with ThreadPoolExecutor(4) as pool:
        visits = []
        for number in range(4):
            visits.append(pool.submit(visit, number))
            assert inside[number].wait(20)
        for number in range(4):
            assert widths("blas") == {1}
            out[number].set()
            assert visits[number].result(20) == {WIDE}
    assert seen == [{1}] * 4
    assert widths() == {WIDE}


def test_four_threads_that_come_and_go_as_they_like() -> None:
    def visit(number: int) -> set[int]:
        rng, seen = np.random.default_rng(number), set()
        for _ in range(50):
            with one_thread():
                time.sleep(rng.uniform(0, 1e-3))
                seen |= {pool.num_threads for pool in threadpoolctl.get_cached_controller().lib_controllers}
                seen.add(torch.get_num_threads())
            time.sleep(rng.uniform(0, 1e-3))
        return seen

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(visit, range(4))) == [{1}] * 4
    assert widths() == {WIDE}
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(torch.get_num_threads).result() == WIDE


def test_libraries_are_looked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with one_thread():
        pass

    def refuse(_: object) -> None:
        raise AssertionError("scanning the libraries of the process takes milliseconds")

    monkeypatch.setattr(threadpoolctl.ThreadpoolController, "__init__", refuse)
    with one_thread(), one_thread():
        assert {pool.num_threads for pool in threadpoolctl.get_cached_controller().lib_controllers} == {1}


LATE = """
from threadpoolctl import threadpool_info
import featavg.threads as threads
early = threadpool_info()
with threads.one_thread():
    import sys; assert "torch" not in sys.modules
    import torch, sklearn.cluster
    torch.set_num_threads(3)
    with threads.one_thread():
        assert {pool["num_threads"] for pool in threadpool_info()} == {1} == {torch.get_num_threads()}
    assert torch.get_num_threads() == 1
assert torch.get_num_threads() == 3
assert all(pool in threadpool_info() for pool in early)
"""


def test_a_library_that_is_imported_inside_is_narrowed_by_the_next_to_enter() -> None:
    wide = {**os.environ, "OMP_NUM_THREADS": "3", "OPENBLAS_NUM_THREADS": "3", "MKL_NUM_THREADS": "3"}
    done = subprocess.run([sys.executable, "-c", LATE], capture_output=True, text=True, env=wide)
    assert done.returncode == 0, done.stderr


# --- the verbs --------------------------------------------------------------------------------------------------------

Look = Callable[..., None]
DATA = fa.sample_clusters(clusters=4, dim=30, samples=60, seed=0, coordinates="ambient")
NETWORK = fa.averaging_network(DATA)


@dataclass(frozen=True, kw_only=True)
class Looking(Attack):
    """Finds nothing, but looks around."""

    look: Look
    name = "looking"

    def search(self, field: Field) -> Found:
        self.look()
        return Found(np.full(field.at_rest.shape, np.nan))


@dataclass(frozen=True)
class Config:
    seeds: int = 1
    first_seed: int = 0


def looking_chapter(look: Look) -> Chapter:
    def measure(config: Config, seed: int) -> dict[str, float]:
        look()
        return {"one": 1.0}

    claims = [Expect("one", "One.", "s", 1, 0, "r")]
    module = ModuleType("looking")
    module.__dict__.update(Config=Config, COLUMNS={"one": "one"}, CLAIMS=claims, measure=measure)
    sys.modules["looking"] = module
    return Chapter("looking", "looking", "Looking.", ("quick", 1), ())


def replaced(patch: pytest.MonkeyPatch, owner: Any, name: str, look: Look) -> None:
    """Let `look` be called whenever the function `name` of `owner` is."""
    there = getattr(owner, name)
    patch.setattr(owner, name, lambda *given, **named: (look(), there(*given, **named))[1])


def discover(look: Look, patch: pytest.MonkeyPatch, folder: Any) -> None:
    replaced(patch, sublabels, "embed", look)
    fa.discover_sublabels(DATA.x, DATA.y, 2)


def fit(look: Look, patch: pytest.MonkeyPatch, folder: Any) -> None:
    replaced(patch, classifier, "embed", look)
    fa.SubclassClassifier(2, steps=5, random_state=0).fit(DATA.x, DATA.y)


def step_of_all(look: Look, patch: pytest.MonkeyPatch, folder: Any) -> None:
    attack = fa.UniversalDirection()
    replaced(patch, Field, "fooled", look)
    attack.share(NETWORK, DATA.x, DATA.y, [1.0])


def share_of_a_worker(look: Look, patch: pytest.MonkeyPatch, folder: Any) -> None:
    question = fa.robust_radius(NETWORK, DATA.x[:2], DATA.y[:2]).question
    replaced(patch, answering, "answer", look)
    answering._share(question, fa.Budget(), math.inf, None)


def diagnosis(look: Look, patch: pytest.MonkeyPatch, folder: Any) -> None:
    fa.diagnose(NETWORK, DATA.x, DATA.y, DATA.cluster, progress=lambda share, what: look() if share else None)


VERBS: dict[str, Callable[[Look, pytest.MonkeyPatch, Any], Any]] = {
    "train": lambda look, *_: fa.train(NETWORK, DATA, fa.GradientDescent(steps=2), progress=look),
    "robust_radius": lambda look, *_: fa.robust_radius(NETWORK, DATA.x[:2], DATA.y[:2], progress=look),
    "a worker of robust_radius": share_of_a_worker,
    "an attack": lambda look, *_: Looking(look=look)(NETWORK, DATA.x, DATA.y),
    "UniversalDirection.share": step_of_all,
    "discover_sublabels": discover,
    "SubclassClassifier.fit": fit,
    "refine_points": lambda look, *_: fa.refine_points(DATA.x, DATA.y, n_subclasses=2, progress=look),
    "diagnose": diagnosis,
    "reproduce": lambda look, patch, folder: list(reproduce([looking_chapter(look)], folder, lambda _: print)),
}


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_works_with_one_thread(verb: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    seen: list[set[int]] = []
    monkeypatch.setitem(sys.modules, "looking", sys.modules[__name__])  # so that it is gone afterwards
    VERBS[verb](lambda *_: seen.append(widths()), monkeypatch, tmp_path)
    assert seen
    assert all(found == {1} for found in seen)
    assert widths() == {WIDE}


def test_a_verb_that_is_interrupted_gives_the_setting_back() -> None:
    def interrupt(*_: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fa.train(NETWORK, DATA, progress=interrupt)
    assert widths() == {WIDE}


def test_between_two_experiments_the_caller_has_its_own_setting(tmp_path: Any) -> None:
    outcomes = reproduce([looking_chapter(lambda: None)], tmp_path, lambda _: lambda share, what: None)
    for _ in outcomes:
        assert widths() == {WIDE}
