"""One thread for each product: the arrays here are small, and threads that wait for each other cost more than they do.

Some thread pools belong to the thread that calls (OpenMP, MKL, torch), others to the whole process (OpenBLAS as NumPy
and SciPy bring it). The former are given back when their thread leaves, the latter when the last thread does: whoever
leaves first must not widen them for the others, and whoever came later has only seen the narrow ones.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from threadpoolctl import LibController, get_cached_controller

Pools = dict[str, tuple[LibController, int]]  # by the file of the library: the pool, and its threads before


class _Own(threading.local):
    """What one thread has narrowed."""

    def __init__(self) -> None:
        self.depth = 0
        self.modules = 0  # how many were imported when pools were last looked for: a new one may bring a new pool
        self.pools: Pools = {}
        self.torch: int | None = None


class _Shared:
    """What was narrowed for the whole process."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.inside: set[int] = set()  # threads, by their identity
        self.pools: Pools = {}
        self.torch: int | None = None


_own, _shared = _Own(), _Shared()


@contextmanager
def one_thread() -> Iterator[None]:
    """Let BLAS, OpenMP and, if it is imported, torch work with one thread, then give the caller's setting back.

    Also a decorator: `@one_thread()`. Nested use costs a microsecond; threads may enter and leave in any order.

    >>> with one_thread():
    ...     [pool.num_threads for pool in get_cached_controller().lib_controllers if pool.user_api == "blas"][0]
    1
    """
    _own.depth += 1
    try:
        if _own.modules != len(sys.modules):
            _narrow()
        yield
    finally:
        _own.depth -= 1
        if not _own.depth:
            _leave()


def _narrow() -> None:
    """Give one thread to every pool that has not been given it yet."""
    with _shared.lock:
        _shared.inside.add(threading.get_ident())
        _own.modules = len(sys.modules)
        # torch first: it would take the 1 of the OpenMP pool that it sits on for the caller's.
        torch = _torch()
        if torch is not None and _own.torch is None:
            found = torch.get_num_threads()
            # A thread that meets torch for the first time takes over what was set last, be it the 1 of another in here.
            _own.torch = found if found > 1 or _shared.torch is None else _shared.torch
            _shared.torch = _shared.torch or _own.torch
            torch.set_num_threads(1)
        for pool in get_cached_controller().lib_controllers:
            pools = _shared.pools if _is_shared(pool) else _own.pools
            if pool.filepath not in pools and pool.num_threads is not None:
                pools[pool.filepath] = pool, pool.num_threads
                _set(pool, 1)


def _leave() -> None:
    """Give back what is this thread's own, and what is everybody's if it was the last one in here."""
    with _shared.lock:
        _shared.inside.discard(threading.get_ident())
        _own.modules = 0
        if _own.torch is not None and _torch().get_num_threads() == 1:
            _torch().set_num_threads(_own.torch)
        _own.torch = None
        _widen(_own.pools)
        if not _shared.inside:
            _widen(_shared.pools)
            _shared.torch = None


def _widen(pools: Pools) -> None:
    for pool, before in pools.values():
        # What someone else has set in the meantime is left to them.
        if pool.num_threads == 1:
            _set(pool, before)
    pools.clear()


def _set(pool: LibController, threads: int) -> None:
    pool.set_num_threads(threads)
    if pool.internal_api == "openblas":
        # Only the thread that set it first may set it again, unless that one lets go; the last to leave may be another.
        pool.clear_controlling_thread()


def _is_shared(pool: LibController) -> bool:
    """Whether all threads of the process see the same number of threads of this pool."""
    if pool.internal_api == "openblas":
        return bool(pool.threading_layer != "openmp")
    return pool.internal_api in ("blis", "flexiblas")


def _torch() -> Any:
    """The torch module once it is imported, never before."""
    torch = sys.modules.get("torch")
    return torch if hasattr(torch, "set_num_threads") else None
